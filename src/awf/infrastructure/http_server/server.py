"""Who may come in, and how everything ends."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

from awf.domain.ports.http_server import ServerLimits
from awf.infrastructure.http_server.connection import HttpConnection
from awf.infrastructure.http_server.first_byte import FirstByte
from awf.infrastructure.http_server.listening import BACKLOG, UnixPlace, listen_on_host
from awf.infrastructure.http_server.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.ports.http_server import HttpHandler, QuickHandler
    from awf.domain.ports.turn import Turn

__all__ = ["LeanHttpServer"]

REFUSED_AT_A_TIME = 64  # clients over the limit that are told so; others are only cut off
CANCEL_SECONDS = 5.0
FLUSH_SECONDS = 1.0
_log = logging.getLogger("awf.http")


class LeanHttpServer:
    """An `HttpServer`."""

    def __init__(
        self,
        handler: HttpHandler,
        limits: ServerLimits | None = None,
        quick: QuickHandler | None = None,
        turn: Turn | None = None,
    ) -> None:
        self.handler = handler
        self.quick = quick
        self.turn = turn
        self.limits = limits or ServerLimits()
        self.closing = False
        self.busy = 0
        self.running: set[asyncio.Task[None]] = set()
        self._connections: set[HttpConnection] = set()
        self._refused: set[HttpConnection] = set()
        self._per_client: Counter[str] = Counter()
        self._listening: list[asyncio.AbstractServer] = []
        self._places: list[UnixPlace] = []
        self._sweeping: asyncio.TimerHandle | None = None
        self._empty: asyncio.Future[None] | None = None
        times = (
            self.limits.header_seconds,
            self.limits.body_seconds,
            self.limits.idle_seconds,
            self.limits.write_stall_seconds,
        )
        self._tick = min(1.0, max(0.02, min(times) / 4))

    async def listen_tcp(self, host: str, port: int) -> int:
        port, servers = await listen_on_host(host, port, lambda: HttpConnection(self))
        self._listening += servers
        return port

    async def listen_unix(self, path: str, lines: Callable[[], object] | None = None) -> None:
        place = UnixPlace(path)
        sock = place.bind()
        try:
            loop = asyncio.get_running_loop()
            server = await loop.create_unix_server(
                lambda: HttpConnection(self) if lines is None else FirstByte(HttpConnection(self), lines),
                sock=sock,
                backlog=BACKLOG,
            )
        except BaseException:
            sock.close()
            place.remove()
            raise
        self._listening.append(server)
        self._places.append(place)

    async def close(self, grace: float) -> None:
        self.closing = True
        for place in self._places:
            place.remove()
        for server in self._listening:
            server.close()
        for connection in list(self._connections):
            connection.wind_down()
            unfinished = connection.unfinished()
            if unfinished is not None:
                self.running.add(unfinished)
        await self._finish_requests(grace)
        await self._end_connections()
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None

    async def _finish_requests(self, grace: float) -> None:
        if self.running:
            await asyncio.wait(list(self.running), timeout=grace)
        left = list(self.running)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CANCEL_SECONDS)
        if self.running:
            _log.error("%d requests do not end although they were cancelled", len(self.running))

    async def _end_connections(self) -> None:
        """What was answered last may still be on its way out."""
        self._empty = asyncio.get_running_loop().create_future()
        for seconds in (FLUSH_SECONDS, CANCEL_SECONDS):
            if self._connections or self._refused:
                await asyncio.wait([self._empty], timeout=seconds)
            for connection in (*self._connections, *self._refused):
                connection.abort()

    # The connections' side

    def admit(self, connection: HttpConnection) -> Refusal | None:
        limits, client = self.limits, connection.client
        if self.closing:
            connection.abort()
        alone = limits.per_client is None or client == "unix" or self._per_client[client] < limits.per_client
        self._watch()
        if alone and len(self._connections) < limits.connections:
            self._connections.add(connection)
            self._per_client[client] += 1
            return None
        self._refused.add(connection)
        if len(self._refused) > REFUSED_AT_A_TIME:
            connection.abort()
        return Refusal(503, "there are too many connections")

    def forget(self, connection: HttpConnection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            self._per_client[connection.client] -= 1
            if not self._per_client[connection.client]:
                del self._per_client[connection.client]
        self._refused.discard(connection)
        if self._empty is not None and not self._connections and not self._refused and not self._empty.done():
            self._empty.set_result(None)

    def _watch(self) -> None:
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(self._tick, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = None
        now = asyncio.get_running_loop().time()
        for connection in (*self._connections, *self._refused):
            connection.look(now)
        if self._connections or self._refused:
            self._watch()
