"""A connection over two file descriptors, without asyncio's streams in between.

Reading leaves the descriptor as it is, for it may be shared with other processes; writing needs it non-blocking, which
is undone at the end. Regular files and devices that cannot be polled never block, so they are used directly.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import stat
from typing import TYPE_CHECKING, Any

from mcpserver.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcpserver.opening import Opening
    from mcpserver.server import Server

__all__ = ["Inlet", "Outlet", "run_descriptors", "serve_descriptors"]

_CHUNK = 65536
_FULL = 256 * 1024  # with more than this unread we stop reading, too
_ENOUGH = 64 * 1024


def _can_be_polled(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _is_deserted(descriptor: int) -> bool:
    """Whether nobody is left at the other end. A socket whose peer only says no more is not."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


class Outlet:
    """Writes at once what the other side takes, and the rest when it can."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._polled = _can_be_polled(descriptor)
        self._was_blocking = os.get_blocking(descriptor)
        self._emptied: asyncio.Future[None] | None = None
        self.on_full: Callable[[], object] = lambda: None
        self.on_enough: Callable[[], object] = lambda: None
        self.on_broken: Callable[[], object] = lambda: None
        if self._polled:
            os.set_blocking(descriptor, False)

    @property
    def unsent(self) -> int:
        return len(self._unsent)

    def congested(self) -> bool:
        return len(self._unsent) > _ENOUGH

    def write(self, data: bytes) -> None:
        if self._unsent:
            self._unsent += data
        else:
            sent = self._send(data)
            if sent == len(data):
                return
            self._unsent += data[sent:]
            self._loop.add_writer(self._descriptor, self._flush)
        if len(self._unsent) > _FULL:
            self.on_full()

    def _send(self, data: bytes | bytearray) -> int:
        sent = 0
        with memoryview(data) as view:  # released also when the write fails: the buffer is cleared then
            while sent < len(data):
                try:
                    sent += os.write(self._descriptor, view[sent:])
                except BlockingIOError:
                    break
        return sent

    def _flush(self) -> None:
        try:
            del self._unsent[: self._send(self._unsent)]
        except OSError:
            self._stop()
            self.on_broken()
            return
        if not self._unsent:
            self._stop()
        if len(self._unsent) < _ENOUGH:
            self.on_enough()

    def _stop(self) -> None:
        self._loop.remove_writer(self._descriptor)
        self._unsent.clear()
        if self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def while_heard(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for it, but not longer than somebody is there to read.

        For the time after the input has ended: until then its end shows that a client has gone.
        """
        task, gone = self._loop.create_task(work), self._loop.create_future()

        def look() -> None:
            self._loop.remove_reader(self._descriptor)
            if _is_deserted(self._descriptor):
                gone.set_result(None)

        if self._polled:
            self._loop.add_reader(self._descriptor, look)
        try:
            await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self._polled:
                self._loop.remove_reader(self._descriptor)
            task.cancel()
        if gone.done():
            self._stop()
            self.on_broken()
        else:
            task.result()

    async def close(self, patience: float) -> None:
        """Give what is unsent a last chance, and the descriptor its old manners."""
        if self._unsent and patience > 0:
            self._emptied = self._loop.create_future()
            await asyncio.wait([self._emptied], timeout=patience)
        if self._unsent:
            self._stop()
        if self._polled and self._was_blocking:
            os.set_blocking(self._descriptor, True)


class Inlet:
    """Feeds bytes to whoever takes them, as they arrive, unless told to pause."""

    def __init__(self, descriptor: int, feed: Callable[[bytes], object]) -> None:
        self._descriptor = descriptor
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._polled = _can_be_polled(descriptor)
        self._reading = False
        self.ended: asyncio.Future[None] = self._loop.create_future()

    def start(self) -> None:
        if self._reading or self.ended.done():
            return
        self._reading = True
        if self._polled:
            self._loop.add_reader(self._descriptor, self._take)
        else:
            self._loop.call_soon(self._take_file)

    def pause(self) -> None:
        if self._reading and self._polled:
            self._loop.remove_reader(self._descriptor)
        self._reading = False

    def stop(self) -> None:
        self.pause()
        if not self.ended.done():
            self.ended.set_result(None)

    def _take(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return  # someone else was quicker
        except OSError:
            data = b""
        if data:
            self._feed(data)
        else:
            self.stop()

    def _take_file(self) -> None:
        if self._reading:
            self._take()
        if self._reading:
            self._loop.call_soon(self._take_file)


async def serve_descriptors(
    server: Server, source: int, target: int, *, drain: float, opening: Opening | None = None
) -> None:
    """Serve one client; `opening` is what was heard before."""
    outlet = Outlet(target)
    connection = Connection(server, outlet, *((opening.session, opening.frames) if opening else ()))
    inlet = Inlet(source, connection.feed)
    outlet.on_full, outlet.on_enough, outlet.on_broken = inlet.pause, inlet.start, connection.lose
    connection.on_lost = inlet.stop
    server.attach(connection)
    try:
        inlet.start()
        if opening is not None:
            connection.apply(opening.effects)
            connection.take(opening.messages)
        await inlet.ended
        if not connection.lost:
            await outlet.while_heard(connection.settle(drain))
    finally:
        inlet.stop()
        try:
            await connection.abort()
            await server.detach(connection)
        finally:
            await outlet.close(0 if connection.lost else drain)


def run_descriptors(
    server: Server,
    source: int,
    target: int,
    *,
    drain: float,
    opening: Opening,
    finish: Callable[[], Awaitable[object]] | None = None,
) -> int:
    """The same for a process that does nothing else: an interrupt or a request to end cancels the calls at once.

    `finish` is awaited before the loop ends, however it ends.
    """
    received: list[int] = []

    async def main() -> None:
        serving: Any = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def end(number: int) -> None:
            received.append(number)
            loop.remove_signal_handler(number)  # whoever asks twice gets it the hard way
            serving.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)
        try:
            await serve_descriptors(server, source, target, drain=drain, opening=opening)
        finally:
            if finish is not None:
                await finish()

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        if not received:
            raise
    return 128 + received[0] if received else 0
