"""The two directions of a child's pipes, driven by the event loop and never blocking it."""

from __future__ import annotations

import asyncio
import os
import select
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["InputPipe", "OutputPipe"]

CHUNK = 65536
# The largest a pipe can be made is 1 MiB. More than that at once means somebody is still writing.
DRAIN_READS = 17


class OutputPipe:
    """What the child prints, handed over chunk by chunk."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        deliver: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._deliver = deliver
        self._on_end = on_end
        self._reading = False
        self.closed = False
        self.resume()

    def resume(self) -> None:
        if not self.closed and not self._reading:
            self._reading = True
            self._loop.add_reader(self._fd, self._take)

    def pause(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def drain(self) -> None:
        """Take what is there now, but do not run after a writer that goes on and on."""
        for _ in range(DRAIN_READS):
            if self.closed or not self._take():
                return

    def close(self) -> None:
        if not self.closed:
            self.pause()
            self.closed = True
            os.close(self._fd)

    def _take(self) -> bool:
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.close()
            self._on_end()
            return False
        self._deliver(chunk)
        return True


class InputPipe:
    """What the child reads. Bytes that it does not want to read any more are dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._loop = loop
        self._fd = fd
        self._waiting: deque[memoryview] = deque()
        self._flushed = asyncio.Event()
        self._ending = False
        self._writing = False
        self.closed = False
        self.taken = 0
        self._offered = 0

    def write(self, data: bytes) -> int:
        """Where its end is, in what was ever written; `taken` tells how far the child's pipe has come."""
        self._offered += len(data)
        if self.closed or self._ending or not data:
            return self._offered
        self._waiting.append(memoryview(data))
        self._flushed.clear()
        if not self._writing:
            self._push()
        return self._offered

    def write_now(self, data: bytes) -> bool:
        """All of it or nothing: so much goes into a pipe in one piece."""
        if self._waiting or self.closed or self._ending or len(data) > select.PIPE_BUF:
            return False
        try:
            count = os.write(self._fd, data)
        except OSError:
            return False
        self.taken += count
        self._offered += count
        return True

    def finish(self) -> None:
        """Close it as soon as everything is written."""
        self._ending = True
        if not self._waiting:
            self.close()

    async def flushed(self) -> None:
        if self._waiting:
            await self._flushed.wait()

    def close(self) -> None:
        if self.closed:
            return
        self._stop_writing()
        self.closed = True
        self._waiting.clear()
        os.close(self._fd)
        self._flushed.set()

    def _push(self) -> None:
        # One write per turn of the loop: a child that reads quickly must not hold up everything else.
        try:
            count = os.write(self._fd, self._waiting[0])
        except BlockingIOError:
            count = 0
        except OSError:
            self.close()
            return
        self.taken += count
        self._drop(count)
        if self._waiting:
            self._start_writing()
            return
        self._stop_writing()
        self._flushed.set()
        if self._ending:
            self.close()

    def _drop(self, count: int) -> None:
        rest = self._waiting[0][count:]
        if rest:
            self._waiting[0] = rest
        else:
            self._waiting.popleft()

    def _start_writing(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._fd, self._push)

    def _stop_writing(self) -> None:
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._fd)
