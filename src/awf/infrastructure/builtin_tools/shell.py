"""Bash: a command in a shell, with its output in order, its exit code, and nothing of it left afterwards."""

from __future__ import annotations

import asyncio
import shutil
import signal
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.domain.tool import ToolFailure, ToolResult
from awf.infrastructure.builtin_tools.paths import check_text
from awf.infrastructure.builtin_tools.sandbox_words import sandbox_notes, stopped_by

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.command_runner import CommandOutcome, CommandRunner
    from awf.domain.tool import CallContext
    from awf.infrastructure.builtin_tools.arguments import BashArguments
    from awf.infrastructure.builtin_tools.capture import Capture

__all__ = ["Heartbeat", "run_command", "shell_argv"]

BEAT = 1.0
SILENT_BEATS = 10  # without news, say so only every so many
# A shell that sends both outputs down one pipe and becomes the shell proper: so the order of the two is kept, the
# message of a syntax error is in it, and the line numbers in messages are those of the command.
_JOINED = 'exec "$0" -c "$1" 2>&1'


async def run_command(
    runner: CommandRunner,
    wanted: BashArguments,
    cwd: str,
    environment: Mapping[str, str],
    capture: Capture,
    context: CallContext,
) -> ToolResult:
    check_text(wanted.command, "command")
    command = Command(
        argv=shell_argv(wanted.command, environment),
        cwd=cwd,
        env=dict(environment),
        timeout=wanted.timeout / 1000,
    )
    beat = Heartbeat(context.progress, capture.last_line, wanted.description)
    try:
        outcome = await runner.run(command, lambda _stream, chunk: capture.take(chunk))
    except AwfError as reason:
        raise ToolFailure("EXECUTION_FAILED", f"{reason.message} {reason.hint}".strip()) from reason
    finally:
        beat.stop()
        capture.close()
    return _result(outcome, capture, wanted.timeout)


def shell_argv(command: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    shell = shutil.which("bash", path=environment.get("PATH")) or "/bin/sh"
    return shell, "-c", _JOINED, shell, command


def _result(outcome: CommandOutcome, capture: Capture, timeout: int) -> ToolResult:
    text = capture.text() or "(no output)"
    notes = [_ending(outcome, timeout)]
    stopped = stopped_by(outcome, text)
    if outcome.profile:
        notes += sandbox_notes(outcome, text, stopped)
    if outcome.leftovers:
        many = outcome.leftovers > 1
        notes.append(
            f"{outcome.leftovers} background process{'es' if many else ''} that it left behind "
            f"{'were' if many else 'was'} ended"
        )
    facts: dict[str, Any] = {"exit_code": outcome.exit_code, "timed_out": outcome.timed_out}
    if capture.file:
        facts["output_file"] = capture.file
    # Not as structured content: Claude Code and Codex show a model that *instead of* the text.
    return ToolResult(
        content=[{"type": "text", "text": f"{text}\n[{'; '.join(notes)}]"}],
        is_error=outcome.timed_out or outcome.exit_code != 0,
        meta={"awf": facts, **_error(outcome, stopped)},
    )


def _error(outcome: CommandOutcome, stopped: str) -> dict[str, Any]:
    if outcome.timed_out:
        return {"awf/error": {"code": "TIMEOUT"}}
    return {"awf/error": {"code": "SANDBOX_VIOLATION"}} if stopped and outcome.exit_code else {}


def _ending(outcome: CommandOutcome, timeout: int) -> str:
    if outcome.timed_out and outcome.breach:
        return f"timed out and was ended; exit code {outcome.exit_code}"
    if outcome.timed_out:
        return f"timed out after {timeout / 1000:g} s and was ended; exit code {outcome.exit_code}"
    if outcome.signal:
        return f"exit code {outcome.exit_code}: ended by {_signal_name(outcome.signal)}"
    return f"exit code {outcome.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Heartbeat:
    """Tells from time to time that it still runs, and what it said last."""

    def __init__(
        self,
        report: Callable[[float, float | None, str], None] | None,
        last_line: Callable[[], str],
        description: str,
    ) -> None:
        self._report = report
        self._last_line = last_line
        self._description = description
        self._told = ""
        self._beats = 0
        self._timer = self._next() if report else None

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _next(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(BEAT, self._beat)

    def _beat(self) -> None:
        self._beats += 1
        self._timer = self._next()
        line = self._last_line() or self._description
        if self._report and (line != self._told or self._beats % SILENT_BEATS == 0):
            self._told = line
            self._report(self._beats * BEAT, None, line)
