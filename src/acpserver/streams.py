"""A connection over asyncio streams, or over anything that reads and writes like them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from acpserver.connection import MAX_UNSENT, Connection

if TYPE_CHECKING:
    from acpserver.server import Server

__all__ = ["serve_streams"]

_CHUNK = 65536
_FLUSH = 1.0  # seconds for what is written last to be read


class _StreamSink:
    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._transport = getattr(writer, "transport", None)

    def write(self, data: bytes) -> None:
        if self._transport is not None and self._transport.is_closing():
            raise BrokenPipeError
        self._writer.write(data)

    def unsent(self) -> int:
        return 0 if self._transport is None else int(self._transport.get_write_buffer_size())


async def serve_streams(server: Server, reader: Any, writer: Any, *, patience: float) -> None:
    sink = _StreamSink(writer)
    connection = Connection(server, sink)
    reading = asyncio.get_running_loop().create_task(_read(connection, sink, reader, writer))
    connection.on_lost = reading.cancel
    try:
        await reading
    except asyncio.CancelledError:
        if not connection.lost:  # it is we who were cancelled
            raise
    finally:
        connection.on_lost = None
        try:
            await connection.finish(patience)
        finally:
            await _close(writer, 0 if connection.lost else _FLUSH)


async def _read(connection: Connection, sink: _StreamSink, reader: Any, writer: Any) -> None:
    """An editor that is slow to read is still heard, for it may want to cancel; only not without limit."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            connection.feed(data)
            if sink.unsent() > MAX_UNSENT:
                await writer.drain()
        connection.end_of_input()
        return
    connection.lose()


async def _close(writer: Any, patience: float) -> None:
    """Let what is written still be read, but not for ever."""
    try:
        writer.close()
        if hasattr(writer, "wait_closed"):
            await asyncio.wait_for(writer.wait_closed(), patience)
    except (OSError, TimeoutError):
        if hasattr(writer, "transport"):
            writer.transport.abort()
