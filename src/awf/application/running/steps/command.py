"""Run a shell command or a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.running.environment import process_environment, shell_of
from awf.application.running.output_keeper import OutputKeeper, streams
from awf.domain.errors import AwfError
from awf.domain.events import StepOutput, Warned
from awf.domain.ports.command_runner import Command, CommandOutcome
from awf.domain.run import ErrorInfo, StepResult
from awf.domain.workflow import Capture, CommandState

if TYPE_CHECKING:
    from awf.application.running.context import StepContext
    from awf.domain.ports.command_runner import Stream

__all__ = ["run_command", "working_directory"]

_DEFAULT_CAPTURE = Capture()


async def run_command(step: StepContext, state: CommandState) -> StepResult:
    services = step.services
    script = ""
    try:
        if state.command is not None:
            argv: tuple[str, ...] = (shell_of(services, state.shell), "-c", step.render(state.command))
        else:
            script, argv = _script(step, state)
        command = Command(
            argv=argv,
            cwd=working_directory(step, state.dir),
            env=process_environment(step, state.env),
            timeout=state.timeout,
        )
        return await _run(step, state, command)
    except AwfError as error:
        if not script:
            raise
        raise AwfError(
            error.code, error.message.replace(script, state.script_file or ""), hint=error.hint
        ) from error
    finally:
        if script:
            services.files.remove(script)


def _script(step: StepContext, state: CommandState) -> tuple[str, tuple[str, ...]]:
    """A script with a #! line is executed itself, another one is given to the shell."""
    assert state.script_file is not None
    content = step.render(step.read_file(state.script_file))
    if not content.startswith("#!"):
        return "", (shell_of(step.services, state.shell), "-c", content)
    script = step.services.files.scratch_script(content)
    return script, (script,)


def working_directory(step: StepContext, written: str | None) -> str:
    import os.path

    base = step.services.cwd
    folder = (
        os.path.normpath(os.path.join(base, os.path.expanduser(step.render(written)))) if written else base
    )
    if not step.services.files.is_folder(folder):
        raise AwfError(
            "EXECUTION.COMMAND.NOT_FOUND",
            f"The working directory {folder} does not exist.",
            hint="Correct `dir`, or create it in an earlier step.",
        )
    return folder


async def _run(step: StepContext, state: CommandState, command: Command) -> StepResult:
    capture = state.capture or _DEFAULT_CAPTURE

    def keeper(stream: Stream) -> OutputKeeper:
        def show(text: str) -> None:
            step.emit(StepOutput(path=step.path, step=step.name, stream=stream, text=text))

        return OutputKeeper(
            capture.max_size,
            capture.encoding,
            lambda: step.durable.output_path(step.key, stream),
            step.services.masker.stream(),
            step.services.masker.text(),
            show,
        )

    keepers = streams(keeper)
    with step.services.tracer.span(
        "shell.execute", {"shell.command": step.services.masker.mask(command.argv[-1][:200])}
    ) as span:
        try:
            outcome = await step.services.runner.run(command, lambda stream, data: keepers[stream].feed(data))
        finally:
            output, errors = keepers["stdout"].close(), keepers["stderr"].close()
        span.set("process.exit.code", outcome.exit_code)
    _warn(step, outcome, truncated=output.truncated or errors.truncated, file=output.file or errors.file)
    error = _error(step, outcome, errors.text, state)
    return StepResult(
        status="failed" if error else "success",
        output=output.text,
        stderr=errors.text,
        exit_code=outcome.exit_code,
        error=error,
        truncated=output.truncated or errors.truncated,
        output_file=output.file,
    )


def _warn(step: StepContext, outcome: CommandOutcome, *, truncated: bool, file: str) -> None:
    if outcome.leftovers:
        what = "1 process was" if outcome.leftovers == 1 else f"{outcome.leftovers} processes were"
        step.emit(Warned(path=step.path, message=f"{what} left running by '{step.name}' and ended."))
    if truncated:
        step.emit(
            Warned(
                path=step.path,
                message=f"The output of '{step.name}' is larger than capture.max_size; all of it is in {file}.",
            )
        )


def _error(step: StepContext, outcome: CommandOutcome, stderr: str, state: CommandState) -> ErrorInfo | None:
    if outcome.timed_out:
        return ErrorInfo(
            "EXECUTION.STEP.TIMEOUT",
            f"It took longer than its timeout of {state.timeout:g} s.",
            "Raise `timeout`, or handle it with on_failure.",
        )
    if outcome.signal:
        return ErrorInfo("EXECUTION.COMMAND.SIGNALLED", f"It was ended by signal {outcome.signal}.")
    if outcome.exit_code:
        said = stderr.strip().splitlines()
        detail = f": {said[-1][:200]}" if said else ""
        return ErrorInfo(
            "EXECUTION.COMMAND.FAILED",
            f"It ended with exit code {outcome.exit_code}{detail}",
            f"awf show {step.durable.run_id} --step {step.path}",
        )
    return None
