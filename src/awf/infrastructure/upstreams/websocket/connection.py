"""One open WebSocket: bytes in, frames out."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING

from awf.infrastructure.upstreams.failures import nonsense, unavailable
from awf.infrastructure.upstreams.websocket import handshake

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    from awf.infrastructure.upstreams.websocket.handshake import Place, Upgrade

__all__ = ["Connection", "connect"]

CONNECT_SECONDS = 30.0
HEAD_LIMIT = 64 * 1024
CHUNK = 256 * 1024
BACKLOG = 1024 * 1024


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """What has come; empty at the end. Raises OSError."""
        return await self._reader.read(CHUNK)

    async def write(self, data: bytes) -> None:
        """Waits while the other side does not read. Raises OSError."""
        self._writer.write(data)
        await self._writer.drain()

    def put(self, data: bytes) -> None:
        """Without waiting; left out when the other side has not read for long, so that it cannot fill our memory."""
        if self._writer.transport.get_write_buffer_size() < BACKLOG and not self._writer.is_closing():
            self._writer.write(data)

    async def finish(self) -> None:
        """Once all is written. Raises OSError."""
        self._writer.close()
        await self._writer.wait_closed()

    def abort(self) -> None:
        self._writer.transport.abort()

    async def gone(self) -> None:
        """Abort, and wait until nothing of it is left."""
        self.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def ask(self, place: Place, headers: Mapping[str, str], key: str, name: str) -> Upgrade:
        try:
            await self.write(handshake.request(place, headers, key))
            head = await self._reader.readuntil(b"\r\n\r\n")
        except ValueError as reason:
            raise nonsense(f'MCP server "{name}": {reason}.', hint="Correct its `headers`.") from reason
        except (asyncio.IncompleteReadError, OSError) as reason:
            message = f'MCP server "{name}" ended the connection instead of opening a WebSocket.'
            raise unavailable(message, hint="Check its `url`.") from reason
        except asyncio.LimitOverrunError as reason:
            raise nonsense(f'MCP server "{name}" answered with something endless.') from reason
        upgrade = handshake.upgrade_in(head)
        if upgrade is None:
            raise nonsense(f'MCP server "{name}" does not speak HTTP.', hint="Check its `url`.")
        return upgrade


async def connect(
    name: str,
    url: str,
    headers: Mapping[str, str],
    authorization: Callable[[bool], Awaitable[str]] | None = None,
) -> Connection:
    """Raises `ServerFault`. Credentials that are refused are replaced once."""
    try:
        place = handshake.place_of(url)
    except ValueError as reason:
        raise nonsense(f'MCP server "{name}": {reason}.', hint="Correct its `url`.") from reason
    for again in (False, True):
        shown = dict(headers)
        if authorization is not None:
            shown["Authorization"] = await authorization(again)
        connection = await _dialled(name, url, place)
        try:
            key = handshake.new_key()
            upgrade = await connection.ask(place, shown, key, name)
            objection = handshake.objection(name, upgrade, key)
            if objection is None:
                return connection
        except BaseException:
            connection.abort()
            raise
        connection.abort()
        if upgrade.status != 401 or authorization is None or again:
            raise objection
    raise AssertionError("unreachable: the second round returns or raises")


async def _dialled(name: str, url: str, place: Place) -> Connection:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            trust = _trust() if place.secure else None
            streams = await asyncio.open_connection(place.host, place.port, ssl=trust, limit=HEAD_LIMIT)
        return Connection(*streams)
    except TimeoutError as reason:
        words = "it does not answer"
        cause: Exception = reason
    except OSError as reason:
        words = _words(reason)
        cause = reason
    message = f'MCP server "{name}" cannot be reached at {url}: {words}.'
    raise unavailable(message, hint="Start the server, or correct its `url`.") from cause


def _words(reason: OSError) -> str:
    """Why, without the numbers and addresses that asyncio puts around it."""
    verdict = getattr(reason, "verify_message", "")  # of a certificate
    if verdict:
        return f"its certificate is not accepted, {verdict}"
    number = reason.errno or 0
    known = number > 0 and type(reason).__module__ == "builtins"
    return os.strerror(number) if known else reason.strerror or str(reason)


def _trust() -> ssl.SSLContext:
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
