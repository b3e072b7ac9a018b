"""A connection over two file descriptors, without asyncio's streams in between.

Reading leaves the descriptor as it is, for it may be shared with other processes; writing needs it non-blocking, which
is undone at the end. Regular files and devices that cannot be polled never block, so they are used directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from typing import TYPE_CHECKING

from acpserver.connection import MAX_UNSENT, Connection
from acpserver.ending import close_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from acpserver.opening import Opening
    from acpserver.server import Server

__all__ = ["run_descriptors", "serve_descriptors"]

_CHUNK = 65536
_FLUSH = 1.0  # seconds for what is written last to be read


def _can_be_polled(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


class _Outlet:
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

    def unsent(self) -> int:
        return len(self._unsent)

    def write(self, data: bytes) -> None:
        if self._unsent:
            self._unsent += data
        else:
            sent = self._send(data)
            if sent == len(data):
                return
            self._unsent += data[sent:]
            self._loop.add_writer(self._descriptor, self._flush)
        if len(self._unsent) > MAX_UNSENT:
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
        if len(self._unsent) < MAX_UNSENT // 2:
            self.on_enough()

    def _stop(self) -> None:
        self._loop.remove_writer(self._descriptor)
        self._unsent.clear()
        if self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def close(self, patience: float) -> None:
        """Give what is unsent a last chance, and the descriptor its old manners."""
        try:
            if self._unsent and patience > 0:
                self._emptied = self._loop.create_future()
                await asyncio.wait([self._emptied], timeout=patience)
        finally:
            if self._unsent:
                self._stop()
            if self._polled and self._was_blocking:
                with contextlib.suppress(OSError):  # someone has closed it meanwhile
                    os.set_blocking(self._descriptor, True)


class _Inlet:
    """Feeds a connection as bytes arrive, unless told to pause."""

    def __init__(self, descriptor: int, connection: Connection) -> None:
        self._descriptor = descriptor
        self._connection = connection
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
            self._connection.feed(data)
        else:
            self._connection.end_of_input()
            self.stop()

    def _take_file(self) -> None:
        if self._reading:
            self._take()
        if self._reading:
            self._loop.call_soon(self._take_file)


async def serve_descriptors(
    server: Server,
    source: int,
    target: int,
    *,
    patience: float,
    opening: Opening | None = None,
    on_ready: Callable[[Callable[[], None]], object] | None = None,
) -> None:
    """Serve one editor. `opening` is what was heard before; `on_ready` is given what ends the service in good order."""
    outlet = _Outlet(target)
    connection = Connection(server, outlet, *((opening.conversation, opening.lines) if opening else ()))
    inlet = _Inlet(source, connection)
    outlet.on_full, outlet.on_enough, outlet.on_broken = inlet.pause, inlet.start, connection.lose
    connection.on_lost = inlet.stop
    try:
        if on_ready is not None:
            on_ready(inlet.stop)
        inlet.start()
        if opening is not None:
            connection.apply(opening.effects)
            connection.take(opening.rest)
        await inlet.ended
    finally:
        inlet.stop()
        try:
            await connection.finish(patience)
        finally:
            await outlet.close(0 if connection.lost else _FLUSH)


def run_descriptors(
    server: Server,
    source: int,
    target: int,
    *,
    patience: float,
    opening: Opening,
    on_ready: Callable[[Callable[[], None]], object],
) -> None:
    """The same for a process that does nothing else."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(
            serve_descriptors(server, source, target, patience=patience, opening=opening, on_ready=on_ready)
        )
    finally:
        close_loop(loop)
