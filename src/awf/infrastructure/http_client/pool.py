"""Connections to one origin, kept for the next request while they are fresh."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from awf.domain.ports.http_client import HttpUnreachable
from awf.infrastructure.http_client.connection import HttpConnection, words
from awf.infrastructure.http_client.known_heads import KnownHeads

if TYPE_CHECKING:
    import ssl

    from awf.domain.ports.turn import Turn
    from awf.infrastructure.http_client.address import Address

__all__ = ["ConnectionPool"]

IDLE_SECONDS = 4.0  # common servers close an idle connection after five
IDLE_CONNECTIONS = 64
RESTED_SECONDS = 0.01  # a connection that was used just now is not looked at first
CONNECT_SECONDS = 10.0
CLOSING_SECONDS = 1.0


class ConnectionPool:
    def __init__(self, origin: Address, turn: Turn | None = None) -> None:
        self.origin = origin
        self._turn = turn
        self._idle: list[HttpConnection] = []
        self._all: set[HttpConnection] = set()
        self._known = KnownHeads()
        self._sweeping: asyncio.TimerHandle | None = None
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    async def take(self, *, fresh: bool = False) -> HttpConnection:
        """A connection for one exchange. Raises `HttpUnreachable`."""
        connection = None if fresh else self.take_now()
        return connection or await self._connect()

    def take_now(self) -> HttpConnection | None:
        """One that is kept and still good."""
        while self._idle:
            connection = self._idle.pop()
            rested = time.monotonic() - connection.idle_since
            if rested < RESTED_SECONDS or not connection.is_stale():
                return connection
            connection.abort()
        return None

    async def close(self) -> None:
        """End all of them, also those in use."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        connections = list(self._all)
        for connection in connections:
            connection.abort()
        if connections:
            await asyncio.wait([connection.closed for connection in connections], timeout=CLOSING_SECONDS)

    async def _connect(self) -> HttpConnection:
        if self._closed:
            raise HttpUnreachable("the client was closed")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: HttpConnection(self._freed, self._lost, self._begun, self._known),
                    self.origin.host,
                    self.origin.port,
                    ssl=self._trust() if self.origin.secure else None,
                )
        except TimeoutError as reason:
            raise HttpUnreachable("it does not answer") from reason
        except OSError as reason:
            raise HttpUnreachable(words(reason)) from reason
        self._all.add(connection)
        return connection

    def _trust(self) -> ssl.SSLContext:
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _freed(self, connection: HttpConnection) -> None:
        if self._closed or len(self._idle) >= IDLE_CONNECTIONS:
            connection.abort()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)
        if self._sweeping is None:
            loop = asyncio.get_running_loop()
            self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep)

    def _begun(self, connection: HttpConnection) -> None:
        """While there are several, those of one turn of the loop go out together, lest the server is woken up for each."""
        if self._turn is None or len(self._all) - len(self._idle) == 1:
            connection.go_out()
        else:
            self._turn.at_end(connection.go_out)

    def _lost(self, connection: HttpConnection) -> None:
        self._all.discard(connection)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)

    def _sweep(self) -> None:
        """End those that nobody has used for a while."""
        loop = asyncio.get_running_loop()
        too_old = time.monotonic() - IDLE_SECONDS
        for connection in [item for item in self._idle if item.idle_since <= too_old]:
            self._idle.remove(connection)
            connection.abort()
        again = self._idle[0].idle_since - too_old if self._idle else None
        self._sweeping = None if again is None else loop.call_later(again, self._sweep)
