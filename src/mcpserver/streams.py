"""A connection over asyncio streams, or over anything that reads and writes like them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from mcpserver.connection import Connection

if TYPE_CHECKING:
    from mcpserver.server import Server

__all__ = ["serve_streams"]

_CHUNK = 65536
_CONGESTED = 65536


class _StreamSink:
    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._transport = getattr(writer, "transport", None)

    def write(self, data: bytes) -> None:
        if self._transport is not None and self._transport.is_closing():
            raise BrokenPipeError
        self._writer.write(data)

    def congested(self) -> bool:
        return self._transport is not None and self._transport.get_write_buffer_size() > _CONGESTED


async def serve_streams(server: Server, reader: Any, writer: Any, *, drain: float) -> None:
    connection = Connection(server, _StreamSink(writer))
    reading = asyncio.get_running_loop().create_task(_read(connection, reader, writer, drain))
    connection.on_lost = reading.cancel
    server.attach(connection)
    try:
        await reading
    except asyncio.CancelledError:
        if not connection.lost:  # it is we who were cancelled
            raise
    finally:
        try:
            await connection.abort()
            await server.detach(connection)
        finally:
            await _close(writer, 0 if connection.lost else drain)


async def _read(connection: Connection, reader: Any, writer: Any, drain: float) -> None:
    """Waiting for the writer after each read is the back-pressure: who does not read is not read from."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            connection.feed(data)
            await writer.drain()
        await connection.settle(drain)
        return
    connection.lost = True


async def _close(writer: Any, patience: float) -> None:
    """Let what is written still be read, but not for ever."""
    try:
        writer.close()
        if hasattr(writer, "wait_closed"):
            await asyncio.wait_for(writer.wait_closed(), patience)
    except (OSError, TimeoutError):
        if hasattr(writer, "transport"):
            writer.transport.abort()
