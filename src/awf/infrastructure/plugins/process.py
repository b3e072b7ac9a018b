"""One plugin process: started, watched, ended."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.infrastructure.plugins.handshake import RefusedHandshake, plugin_environment, read_handshake
from awf.infrastructure.plugins.output import LOG, PluginOutput
from awf.infrastructure.plugins.wording import how_it_ended, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.command_runner import CommandOutcome, CommandRunner, Stream

__all__ = ["PluginProcess"]

CODE = "EXECUTION.PLUGIN.START_FAILED"


class PluginProcess:
    def __init__(
        self,
        runner: CommandRunner,
        name: str,
        argv: tuple[str, ...],
        *,
        cwd: str,
        project: str,
        env: Mapping[str, str],
    ) -> None:
        """Starts it. Raises `AwfError` when that is impossible."""
        self.name = name
        loop = asyncio.get_running_loop()
        self._target: asyncio.Future[str] = loop.create_future()
        self._output = PluginOutput(name, self._line)
        self._wanted = True
        self._folder = runner.scratch()
        try:
            marked = {**env, **plugin_environment(self._folder, project)}
            self._child = runner.start(Command(argv=argv, cwd=cwd, env=marked), self._output)
        except AwfError as error:
            self._remove_folder()
            raise AwfError(
                CODE, f"The plugin '{name}' cannot be started: {error.message}", hint=error.hint
            ) from error
        except BaseException:
            self._remove_folder()
            raise
        self._exit = loop.create_task(self._watch())

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exited(self) -> bool:
        return self._exit.done()

    async def target(self, timeout: float) -> str:
        """Where it listens. Raises `AwfError` when it does not say so in time."""
        either: set[asyncio.Future[Any]] = {self._target, self._exit}
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._target.done():
            try:
                return self._target.result()
            except RefusedHandshake as reason:
                raise self.failure(f"cannot be used: {reason}") from None
        if self.exited:
            raise self.failure(f"{how_it_ended(self._exit.result())} before it said where it listens")
        raise self.failure(f"did not say within {timeout:g} s where it listens")

    def failure(self, what: str) -> AwfError:
        """It could not be started, with all there is to find out why."""
        return AwfError(
            CODE,
            f"The plugin '{self.name}' {what}.{self._said('stdout')}{self._said('stderr')}",
            hint="A plugin prints the line 1|1|unix|SOCKET|grpc| and listens there; "
            f"`awf plugin check {self.name}` tries it.",
        )

    async def outcome(self, patience: float) -> CommandOutcome | None:
        """How it ended; None when it still runs after so many seconds."""
        await asyncio.wait({self._exit}, timeout=patience)
        return self._exit.result() if self._exit.done() else None

    def last_words(self) -> str:
        return self._said("stderr") or self._said("stdout")

    def let_go(self) -> None:
        """From now on its end is no surprise."""
        self._wanted = False

    async def end(self) -> None:
        """End it and remove all that it had."""
        self.let_go()
        try:
            await self._child.terminate()
            await asyncio.wait({self._exit})
        finally:
            self._target.cancel()
            self._remove_folder()

    def _said(self, stream: Stream) -> str:
        text = self._output.tail(stream)
        where = "It printed" if stream == "stdout" else "On standard error it said"
        return f' {where} "{quoted(text)}".' if text else ""

    def _line(self, line: bytes) -> bool:
        """Whether this was the handshake, and the rest is nothing but output."""
        if self._target.done():
            return False
        try:
            target = read_handshake(line)
        except RefusedHandshake as reason:
            self._target.set_exception(reason)
            self._target.exception()  # somebody may have stopped waiting
            return True
        if target is not None:
            self._target.set_result(target)
        return target is not None

    async def _watch(self) -> CommandOutcome:
        outcome = await self._child.wait()
        self._output.finish()
        if self._wanted and self._target.done():  # before that, whoever starts it is told
            LOG.warning("The plugin %s %s.%s", self.name, how_it_ended(outcome), self.last_words())
        return outcome

    def _remove_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
