"""Requests to one address: sent, redirected within the origin, sent again where that is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf import __version__
from awf.infrastructure.upstreams.failures import ServerFault, nonsense, unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.upstreams.http.address import Address
    from awf.infrastructure.upstreams.http.connection import HttpConnection
    from awf.infrastructure.upstreams.http.pool import ConnectionPool
    from awf.infrastructure.upstreams.http.response import Response

__all__ = ["Door"]

REDIRECTS = 3
_REDIRECTED = frozenset({301, 302, 307, 308})
_PERMANENT = frozenset({301, 308})


class Door:
    """`send` gives the connection too: whoever reads the answer calls `finish` on it, or `abort` when it must end."""

    def __init__(self, name: str, pool: ConnectionPool, headers: Mapping[str, str]) -> None:
        self._name = name
        self._pool = pool
        self._address = pool.origin
        lines = {"Host": pool.origin.authority, "User-Agent": f"awf/{__version__}", **headers}
        self._always = "".join(f"{key}: {value}\r\n" for key, value in lines.items())

    async def send(
        self, method: str, headers: str, body: bytes = b"", *, repeatable: bool = False
    ) -> tuple[HttpConnection, Response]:
        """`headers`: further lines. `repeatable`: doing it twice does no harm."""
        target = self._address
        for _ in range(REDIRECTS + 1):
            connection, response = await self._send_to(target, method, headers, body, repeatable=repeatable)
            if response.status not in _REDIRECTED or "location" not in response.headers:
                return connection, response
            connection.finish()
            target = self._redirected(target, response)
        raise nonsense(f'MCP server "{self._name}" redirects in circles.', hint="Correct its `url`.")

    def _redirected(self, source: Address, response: Response) -> Address:
        location = response.headers["location"]
        target = source.led_to(location)
        if target is None or not target.same_origin(self._pool.origin):
            # Elsewhere our headers, and with them our credentials, have no business.
            message = f'MCP server "{self._name}" redirects to another place: {location}.'
            raise nonsense(message, hint="If that is right, set its `url` to it.", status=response.status)
        if response.status in _PERMANENT:
            self._address = target
        return target

    async def _send_to(
        self, target: Address, method: str, headers: str, body: bytes, *, repeatable: bool
    ) -> tuple[HttpConnection, Response]:
        length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
        head = f"{method} {target.target} HTTP/1.1\r\n{self._always}{headers}{length}\r\n"
        data = head.encode() + body
        connection = await self._connection(fresh=False)
        try:
            return connection, await self._answer(connection, data)
        except OSError as reason:
            if not (repeatable and connection.reused):
                raise self._broken(reason) from reason
        # The server closed an idle connection just when it was used again.
        connection = await self._connection(fresh=True)
        try:
            return connection, await self._answer(connection, data)
        except OSError as reason:
            raise self._broken(reason) from reason

    async def _answer(self, connection: HttpConnection, data: bytes) -> Response:
        response = connection.send(data)
        try:
            await response.opened()
        except BaseException as reason:
            connection.abort()
            if isinstance(reason, ValueError):
                raise nonsense(f'MCP server "{self._name}" at {self._address.url}: {reason}.') from reason
            raise
        return response

    async def _connection(self, *, fresh: bool) -> HttpConnection:
        try:
            return await self._pool.take(fresh=fresh)
        except (OSError, TimeoutError) as reason:
            why = "it does not answer" if isinstance(reason, TimeoutError) else _words(reason)
            message = f'MCP server "{self._name}" cannot be reached at {self._pool.origin.url}: {why}.'
            raise unavailable(message, hint="Start the server, or correct its `url`.") from reason

    def _broken(self, reason: Exception) -> ServerFault:
        message = f'The connection to MCP server "{self._name}" broke: {_words(reason)}.'
        return unavailable(message, hint="What was asked of it may or may not have been done.")


def _words(reason: BaseException) -> str:
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return str(text).rstrip(".")
