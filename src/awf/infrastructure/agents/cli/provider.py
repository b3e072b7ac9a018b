"""An agent that is a program of its own: started for each call, given its task on standard input, heard line by line."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure
from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.infrastructure.agents.cli.dialect import WritesAtHome
from awf.infrastructure.agents.cli.hearing import Hearing
from awf.infrastructure.agents.cli.lines import event_of
from awf.infrastructure.agents.cli.locks import first_run
from awf.infrastructure.agents.cli.options import check_options, read_options
from awf.infrastructure.agents.cli.shapes import Task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    import msgspec

    from awf.domain.agent import AgentReply, AgentRequest, DisplayEvent
    from awf.domain.ports.command_runner import CommandOutcome, CommandRunner, RunningCommand
    from awf.infrastructure.agents.cli.dialect import Dialect
    from awf.infrastructure.agents.cli.hearing import Isolation
    from awf.infrastructure.agents.cli.options import OptionProblem
    from awf.infrastructure.agents.cli.programs import Programs
    from awf.infrastructure.agents.cli.shapes import Invocation

__all__ = ["CliAgent"]

_LONGEST_LINE = 32 << 20  # a longer one comes in pieces, which are no JSON and so are passed over
_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}


class CliAgent:
    """`AgentProvider` over one dialect."""

    def __init__(self, dialect: Dialect, runner: Callable[[], CommandRunner], programs: Programs) -> None:
        self._dialect = dialect
        self._runner = runner
        self._programs = programs

    @property
    def name(self) -> str:
        return self._dialect.name

    @property
    def isolation(self) -> Isolation:
        """Of a version that has been proven; which one is there is known when it runs."""
        return "guaranteed"

    @property
    def options_form(self) -> type[msgspec.Struct]:
        return self._dialect.options

    def check_options(self, options: Mapping[str, Any]) -> Sequence[OptionProblem]:
        return check_options(self._dialect.options, options, self.name)

    async def run(self, request: AgentRequest, show: Callable[[DisplayEvent], None]) -> AgentReply:
        runner = self._runner()
        folder = runner.scratch()
        try:
            task = await self._task(request, folder)
            prepared = await self._dialect.prepare(task, self._asker(task), self._programs.cache)
            invocation = self._dialect.invocation(task, prepared)
            _write(invocation.files)
            hearing = Hearing(self._dialect, task, show, loosened=_loosened(task, invocation))
            hearing.report_isolation()
            before = _report(invocation)
            outcome = await self._play(runner, task, invocation, hearing)
            hearing.read_report(before, _report(invocation))
            return hearing.reply(outcome, used=request.tools.used if request.tools else None)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _task(self, request: AgentRequest, folder: str) -> Task:
        options = read_options(self._dialect.options, request.options)
        env = {**request.env, **options.env}
        program = self._programs.find(
            options.program or self._dialect.program, env, self._dialect, cwd=request.cwd
        )
        tools = request.tools
        os.makedirs(request.state, mode=0o700, exist_ok=True)
        return Task(
            prompt=request.prompt,
            system_prompt=request.system_prompt,
            options=options,
            program=program,
            folder=folder,
            state=request.state,
            cwd=request.cwd,
            env=env,
            session=request.session.id if request.session else "",
            new_session=str(uuid.uuid4()),
            endpoint=await tools.endpoint() if tools is not None else None,
            intercepts=tools is not None and tools.intercepts,
            output_schema=request.output_schema,
            version=await self._programs.version(program, self._runner(), self._elsewhere(env, folder)),
        )

    def _elsewhere(self, env: Mapping[str, str], folder: str) -> Mapping[str, str]:
        """Where the program can be asked for its version and leaves nothing at the user's home."""
        if isinstance(self._dialect, WritesAtHome):
            return {**env, self._dialect.home_variable: folder}
        return env

    def _asker(self, task: Task) -> Callable[[Sequence[str]], Awaitable[bytes]]:
        async def ask(arguments: Sequence[str]) -> bytes:
            return await self._programs.ask(self._runner(), task.program, arguments, task.env)

        return ask

    async def _play(
        self, runner: CommandRunner, task: Task, invocation: Invocation, hearing: Hearing
    ) -> CommandOutcome:
        command = Command(argv=tuple(invocation.argv), cwd=task.cwd, env=_environment(task, invocation))
        async with (
            first_run(invocation.first_run_lock) as others_may_start,
            _started(runner, command, self._dialect) as program,
            _fed(program, _encoded(invocation.stdin)),
        ):
            async for line in program.lines(hearing.on_stderr, _LONGEST_LINE):
                others_may_start()
                hearing.hear(line)
            return await program.wait()


# -- starting it ---------------------------------------------------------------------------------------------------------


def _environment(task: Task, invocation: Invocation) -> dict[str, str]:
    """What a step asks for by name has the last word."""
    inherited = {name: value for name, value in task.env.items() if name not in invocation.without}
    temporary = os.path.join(task.folder, "tmp")
    os.mkdir(temporary, mode=0o700)
    return {**inherited, "TMPDIR": temporary, **invocation.env, **task.options.env}


def _loosened(task: Task, invocation: Invocation) -> bool:
    """Whether the step may have undone what keeps the program to our tools."""
    options = task.options
    ours = invocation.env.keys() | invocation.without
    return bool(options.extra_args or options.env.keys() & ours)


@contextlib.asynccontextmanager
async def _started(
    runner: CommandRunner, command: Command, dialect: Dialect
) -> AsyncIterator[RunningCommand]:
    try:
        program = runner.start(command, with_stdin=True)
    except AwfError as error:
        reason = error.__cause__
        crowded = isinstance(reason, OSError) and reason.errno in _NO_ROOM
        raise AgentFailure(
            f"{dialect.name}: {error.message}", retryable=crowded, hint=error.hint or dialect.install_hint
        ) from error
    async with program:
        yield program


@contextlib.asynccontextmanager
async def _fed(program: RunningCommand, data: bytes) -> AsyncIterator[None]:
    """Its input is written while its output is read: one that prints much and reads late must not wait for ever."""
    import asyncio

    async def feed() -> None:
        await program.write(data)
        program.close_stdin()

    feeding = asyncio.get_running_loop().create_task(feed())
    try:
        yield
    finally:
        feeding.cancel()
        await asyncio.wait([feeding])
    if not feeding.cancelled():
        feeding.result()


def _report(invocation: Invocation) -> dict[str, Any] | None:
    """None where there is no report, or nothing that can be read as one."""
    if not invocation.report_file:
        return None
    try:
        with open(invocation.report_file, "rb") as stream:
            return event_of(stream.read())
    except OSError:
        return None


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # bytes of a file that are no text stay as they are
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _write(files: Mapping[str, str]) -> None:
    for path, text in files.items():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(_encoded(text))
