"""One running program, from its start until nothing of it is left."""

from __future__ import annotations

import asyncio
import functools
import signal
from typing import TYPE_CHECKING, Self

from awf.domain.ports.command_runner import CommandOutcome
from awf.infrastructure.processes.ending import Ending
from awf.infrastructure.processes.exit_watch import watch_exit
from awf.infrastructure.processes.output import OutputQueue, split_lines
from awf.infrastructure.processes.pipes import InputPipe, OutputPipe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from awf.domain.ports.command_runner import Stream
    from awf.infrastructure.processes.kin import Kin
    from awf.infrastructure.processes.launch import Launched

__all__ = ["ChildProcess"]

LINE_LIMIT = 1 << 24


class ChildProcess:
    """Everything happens in callbacks of the event loop, so it comes to its end whether or not anybody waits.

    With `on_output` each chunk is handed over as it comes. Without, read `chunks()` or `lines()`; as long as nobody
    does, the child has to wait once a little has piled up. As a context manager it is gone at the end of the block.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        launched: Launched,
        kin: Kin,
        *,
        grace: float,
        portable: bool,
        on_output: Callable[[Stream, bytes], None] | None,
        on_over: Callable[[ChildProcess], None],
    ) -> None:
        self.pid = launched.process.pid
        self._loop = loop
        self._on_over = on_over
        self._queue = OutputQueue(self._pause, self._resume)
        self._sink = on_output or self._queue.put
        self._failure: Exception | None = None
        self._code = -signal.SIGKILL  # for one that even this does not end
        self._timed_out = False
        self._deadline: asyncio.TimerHandle | None = None
        self._silent = asyncio.Event()
        self._over = asyncio.Event()
        self._ending = Ending(loop, kin, grace, self._release)
        self._outputs = (
            OutputPipe(loop, launched.stdout, functools.partial(self._deliver, "stdout"), self._fell_silent),
            OutputPipe(loop, launched.stderr, functools.partial(self._deliver, "stderr"), self._hurry),
        )
        self._input = None if launched.stdin is None else InputPipe(loop, launched.stdin)
        self._exit = watch_exit(loop, launched.process, self._exited, portable=portable)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.terminate()

    # Talking to it

    async def write(self, data: bytes) -> bool:
        """Returns when the child's pipe has taken it all; False when the child no longer reads."""
        if not self._input:
            return False
        end = self._input.write(data)
        await self._input.flushed()
        return self._input.taken >= end

    def write_now(self, data: bytes) -> bool:
        """False when nothing of it was taken."""
        return self._input is not None and self._input.write_now(data)

    def feed(self, data: bytes) -> None:
        """This and nothing more on its standard input."""
        if self._input:
            self._input.write(data)
            self._input.finish()

    def close_stdin(self) -> None:
        if self._input:
            self._input.finish()

    def chunks(self) -> AsyncIterator[tuple[Stream, bytes]]:
        return self._queue.chunks()

    def lines(self, on_stderr: Callable[[bytes], None], limit: int = LINE_LIMIT) -> AsyncIterator[bytes]:
        """The lines of its standard output, without their ends; a longer one than the limit comes in pieces."""
        return split_lines(self._stdout_chunks(on_stderr), limit)

    async def _stdout_chunks(self, on_stderr: Callable[[bytes], None]) -> AsyncIterator[bytes]:
        async for stream, chunk in self._queue.chunks():
            if stream == "stdout":
                yield chunk
            else:
                on_stderr(chunk)

    async def silent(self) -> None:
        """Until its standard output has ended: no later than itself, and before if it closes it and lives on."""
        await self._silent.wait()

    # Its end

    def limit(self, seconds: float) -> None:
        """End it when it runs longer."""
        self._deadline = self._loop.call_later(seconds, self._time_out)

    def end(self) -> None:
        """SIGTERM to everything it started, SIGKILL after the grace. Does not wait."""
        self._ending.ask()

    def kill(self) -> None:
        self._ending.force()

    async def wait(self) -> CommandOutcome:
        """Until nothing of it is left. Raises what `on_output` raised, if it did."""
        await self._over.wait()
        if self._failure:
            raise self._failure
        return self._outcome()

    async def terminate(self) -> None:
        """End it and wait for that. A cancellation makes it fast, and goes on when everything is gone."""
        self.end()
        cancelled: asyncio.CancelledError | None = None
        while not self._over.is_set():
            try:
                await self._over.wait()
            except asyncio.CancelledError as reason:
                cancelled = reason
                self.kill()
        if cancelled:
            raise cancelled

    def _outcome(self) -> CommandOutcome:
        number = max(0, -self._code)
        return CommandOutcome(
            exit_code=128 + number if number else self._code,
            signal=number,
            timed_out=self._timed_out,
            leftovers=self._ending.leftovers,
        )

    def _time_out(self) -> None:
        self._timed_out = True
        self.end()

    def _deliver(self, stream: Stream, chunk: bytes) -> None:
        if self._failure:
            return
        try:
            self._sink(stream, chunk)
        except Exception as reason:  # noqa: BLE001  whoever waits gets it; the loop could only log it
            self._failure = reason
            self.end()

    def _pause(self) -> None:
        for output in self._outputs:
            output.pause()

    def _resume(self) -> None:
        for output in self._outputs:
            output.resume()

    def _fell_silent(self) -> None:
        self._silent.set()
        self._hurry()

    def _hurry(self) -> None:
        if all(output.closed for output in self._outputs):
            self._exit.hurry()

    def _exited(self, code: int) -> None:
        self._code = code
        if self._deadline:
            self._deadline.cancel()  # what it left behind is not the command running too long
        for output in self._outputs:
            output.drain()
        self._ending.main_exited()

    def _release(self) -> None:
        """Nothing is left of it; let go of what we hold."""
        self._exit.close()
        if self._deadline:
            self._deadline.cancel()
        for output in self._outputs:
            output.drain()
            output.close()
        if self._input:
            self._input.close()
        self._queue.end()
        self._on_over(self)
        self._silent.set()
        self._over.set()
