"""An ACP agent as a child process: lines in, lines out, every one of them checked and written down."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from awf.testing.acp_schema import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from awf.testing.acp_wire import WireChecker

__all__ = ["AgentProcess", "Ended"]

_LONGEST_LINE = 64 * 1024 * 1024  # the checker complains long before
_SHOWN_LINES = 60
_SHOWN_CHARACTERS = 400


@dataclass(frozen=True)
class Ended:
    status: int
    stderr: str


class AgentProcess:
    """Calls `heard` with each message, and with none when there will be no more."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stdout: tuple[asyncio.StreamReader, asyncio.ReadTransport],
        checker: WireChecker,
        heard: Callable[[dict[str, Any] | None], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.pid = process.pid
        self.fault: Exception | None = None
        self.stderr = bytearray()
        self._process = process
        self._reader, self._transport = stdout
        self._checker = checker
        self._heard = heard
        self._began = time.monotonic()
        self._transcript: list[tuple[float, str, bytes]] = []
        self._reading = [loop.create_task(self._read()), loop.create_task(self._read_errors())]

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        checker: WireChecker,
        heard: Callable[[dict[str, Any] | None], None],
    ) -> AgentProcess:
        ours, theirs = os.pipe()
        reader = asyncio.StreamReader(limit=_LONGEST_LINE)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", 0)
        )
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, cwd=cwd, env=dict(env), stdin=pipe, stdout=theirs, stderr=pipe, start_new_session=True
            )
        except BaseException:
            transport.close()
            raise
        finally:
            os.close(theirs)
        return cls(process, (reader, transport), checker, heard)

    # -- talking -------------------------------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """These bytes as they are. An agent that has gone is noticed by its silence, as in an editor."""
        for line in data.splitlines(keepends=True):
            self._checker.client_sent(line)
            self._note(">", line)
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                self._note("<", line)
                if self.fault is None:  # after a fault nothing is believed, but read, lest the agent be stuck
                    self._judge(line)
        except ValueError as error:
            self.fault = self.fault or error
        except ConnectionError:  # we have hung up ourselves
            pass
        finally:
            self._heard(None)

    def _judge(self, line: bytes) -> None:
        try:
            message = self._checker.agent_sent(line)
        except WireError as error:
            self.fault = error
            self._heard(None)
        else:
            self._heard(message)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(65536):
            self.stderr += chunk

    def pause(self) -> None:
        """Stop reading, as a busy editor does: the agent's pipe fills."""
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    # -- ending --------------------------------------------------------------------------------------------------

    def hang_up(self) -> None:
        """Close standard input: the polite way to go."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def vanish(self) -> None:
        """Close all the pipes at once, as the end of an editor's process does."""
        self.hang_up()
        self._transport.close()

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    @property
    def status(self) -> int | None:
        return self._process.returncode

    async def ended(self, patience: float) -> Ended:
        """Wait for the end. One that does not come is made, for the whole group, and is a fault."""
        try:
            async with asyncio.timeout(patience):
                status = await self._process.wait()
        except TimeoutError:
            await self.kill()
            raise AssertionError(self.told(f"the agent did not end within {patience} s")) from None
        await self._put_away(patience)
        return Ended(status, self.stderr.decode("utf-8", "replace"))

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._process.wait()
        await self._put_away(0)

    async def _put_away(self, patience: float) -> None:
        """What was written before the end is still heard; a grandchild that holds the pipes open is not waited for."""
        _, late = await asyncio.wait(self._reading, timeout=min(patience, 5.0))
        for task in late:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)
        self.hang_up()
        self._transport.close()

    # -- telling -------------------------------------------------------------------------------------------------

    def _note(self, mark: str, line: bytes) -> None:
        self._transcript.append((time.monotonic() - self._began, mark, line))

    def lines(self, mark: str = "<") -> list[bytes]:
        """The lines of the agent, or (`>`) those of the editor."""
        return [line for _, who, line in self._transcript if who == mark]

    def told(self, what: str) -> str:
        """What is wrong, with the last of what was said and what stands on the agent's standard error."""
        shown = [
            f"{when:8.3f} {mark} {line[:_SHOWN_CHARACTERS].decode('utf-8', 'replace').rstrip()}"
            for when, mark, line in self._transcript[-_SHOWN_LINES:]
        ]
        errors = self.stderr[-4000:].decode("utf-8", "replace")
        ending = "still runs" if self.status is None else f"ended with {self.status}"
        return "\n".join(
            [what, f"the agent {ending}; its last frames:", *shown, "its standard error:", errors]
        )
