"""A runner whose programs are all confined by one profile. Who starts programs need not know that there are walls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from awf.domain.ports.command_runner import Command, CommandOutcome, CommandRunner, RunningCommand, Stream
    from awf.domain.ports.sandbox import Confined, Grounds, Sandbox
    from awf.domain.sandbox import SandboxRules

__all__ = ["ConfinedRunner"]


class ConfinedRunner:
    """Over another runner, which stays its owner's to close."""

    def __init__(
        self, runner: CommandRunner, sandbox: Sandbox, rules: SandboxRules, grounds: Grounds
    ) -> None:
        self._runner = runner
        self._sandbox = sandbox
        self._rules = rules
        self._grounds = grounds
        self._shared: tuple[str, ...] = ()

    def start(
        self,
        command: Command,
        on_output: Callable[[Stream, bytes], None] | None = None,
        *,
        with_stdin: bool = False,
    ) -> RunningCommand:
        confined = self._prepared(command)
        try:
            started = self._runner.start(confined.command, on_output, with_stdin=with_stdin)
        except BaseException:
            confined.close()
            raise
        confined.started()
        return ConfinedProcess(started, confined, self._rules.name)

    def scratch(self) -> str:
        """A folder that the next program shares with us."""
        folder = self._runner.scratch()
        self._shared += (folder,)
        return folder

    async def run(self, command: Command, on_output: Callable[[Stream, bytes], None]) -> CommandOutcome:
        patience = [limit for limit in (command.timeout, self._rules.time) if limit is not None]
        confined = self._prepared(command)
        try:
            bounded = msgspec.structs.replace(confined.command, timeout=min(patience, default=None))
            outcome = told(await self._runner.run(bounded, on_output), confined, self._rules.name)
            if outcome.timed_out and self._rules.time is not None and self._rules.time == bounded.timeout:
                return msgspec.structs.replace(outcome, breach=f"its time limit ({self._rules.time:g} s)")
            return outcome
        finally:
            confined.close()

    async def close(self) -> None:
        """Nothing: the runner below may serve others."""

    def _prepared(self, command: Command) -> Confined:
        shared, self._shared = self._shared, ()
        grounds = msgspec.structs.replace(self._grounds, shared=shared) if shared else self._grounds
        try:
            return self._sandbox.prepare(command, self._rules, grounds)
        except OSError as reason:
            text = f"The sandbox “{self._rules.name}” cannot be built: {reason.strerror or reason}."
            hint = "Look whether files, memory or control groups have run out; `awf doctor` tries it anew."
            raise AwfError("SYSTEM.SANDBOX.UNAVAILABLE", text, hint=hint) from reason


class ConfinedProcess:
    """A program one talks to, inside its walls."""

    def __init__(self, process: RunningCommand, confined: Confined, profile: str) -> None:
        self.pid = process.pid
        self._process = process
        self._confined = confined
        self._profile = profile
        self._outcome: CommandOutcome | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.terminate()

    async def write(self, data: bytes) -> bool:
        return await self._process.write(data)

    def write_now(self, data: bytes) -> bool:
        return self._process.write_now(data)

    def close_stdin(self) -> None:
        self._process.close_stdin()

    def lines(self, on_stderr: Callable[[bytes], None], limit: int = 1 << 24) -> AsyncIterator[bytes]:
        return self._process.lines(on_stderr, limit)

    async def silent(self) -> None:
        await self._process.silent()

    async def wait(self) -> CommandOutcome:
        outcome = await self._process.wait()
        if self._outcome is None:
            self._outcome = told(outcome, self._confined, self._profile)
            self._confined.close()
        return self._outcome

    async def terminate(self) -> None:
        try:
            await self._process.terminate()
        finally:
            if self._outcome is None:
                self._confined.close()


def told(outcome: CommandOutcome, confined: Confined, profile: str) -> CommandOutcome:
    """With what the sandbox had to do with it."""
    breach = confined.breach(outcome)
    return msgspec.structs.replace(outcome, profile=profile, breach=breach)
