"""Which resources of which servers somebody wants to hear of, told to each server once."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from awf.application.running.tasks import end_task, spawn
from awf.domain.errors import AwfError
from awf.domain.mcp import RpcError

if TYPE_CHECKING:
    from awf.application.gateway.client import Exchange
    from awf.application.gateway.gated_requests import GatedRequests
    from awf.application.gateway.lane import Lane
    from awf.application.gateway.server import Server

__all__ = ["Watching"]

PAUSES = (0.2, 1.0, 5.0, 30.0)
_log = logging.getLogger("awf.gateway")


class Watching:
    """In the older era a server is told by a request, in the newer one it is listened to."""

    def __init__(self, requests: GatedRequests) -> None:
        self._requests = requests
        self._hearing: dict[tuple[Lane, str], asyncio.Task[None]] = {}

    async def watch(self, server: Server, exchange: Exchange, uri: str) -> dict[str, Any]:
        """If it may be. Raises `RpcError` and `AwfError`."""

        async def watch(params: dict[str, Any]) -> dict[str, Any]:
            return await self._watched(server, exchange, params["uri"])

        return await self._requests.let(server, exchange, "resources/subscribe", {"uri": uri}, watch)

    async def _watched(self, server: Server, exchange: Exchange, uri: str) -> dict[str, Any]:
        lane = await server.lane_for_news(exchange.client)
        era = lane.upstream.era or await lane.upstream.connect()
        result: dict[str, Any] = {}
        if uri not in lane.subscribed:
            if era.modern:
                hearing = self._hear(server, lane, uri)
                self._hearing[lane, uri] = spawn(hearing, f"listening to {uri} of MCP server {server.name}")
            else:
                params = {"uri": uri}
                result = await server.request(exchange, "resources/subscribe", params, lane=lane)
        lane.subscribed[uri] = lane.subscribed.get(uri, 0) + 1
        return result

    async def unwatch(self, server: Server, exchange: Exchange, uri: str) -> dict[str, Any]:
        lane = await server.lane_for_news(exchange.client)
        left = lane.subscribed.get(uri, 0) - 1
        if left > 0:
            lane.subscribed[uri] = left
            return {}
        lane.subscribed.pop(uri, None)
        hearing = self._hearing.pop((lane, uri), None)
        if hearing is not None:
            await end_task(hearing)
            return {}
        return await self._give_up(server, exchange, uri, lane)

    async def passed_on(self, server: Server, exchange: Exchange, uri: str) -> dict[str, Any]:
        """Somebody gives up what they do not have. That must not take it away from others."""
        lane = await server.lane_for_news(exchange.client)
        era = lane.upstream.era or await lane.upstream.connect()
        if uri in lane.subscribed or era.modern:
            return {}
        return await self._give_up(server, exchange, uri, lane)

    async def _give_up(self, server: Server, exchange: Exchange, uri: str, lane: Lane) -> dict[str, Any]:
        """If the server may be told. Nobody here hears of it any more, even if not."""

        async def give_up(params: dict[str, Any]) -> dict[str, Any]:
            return await server.request(exchange, "resources/unsubscribe", params, lane=lane)

        return await self._requests.let(server, exchange, "resources/unsubscribe", {"uri": uri}, give_up)

    async def close(self) -> None:
        for task in list(self._hearing.values()):
            await end_task(task)
        self._hearing.clear()

    async def _hear(self, server: Server, lane: Lane, uri: str) -> None:
        """For as long as anybody wants to, and the server is there."""
        failures = 0
        loop = asyncio.get_running_loop()
        while not server.closed:
            began = loop.time()
            try:
                await lane.upstream.connect()
                await lane.upstream.hear({"resourceSubscriptions": [uri]})
            except (AwfError, RpcError) as reason:
                _log.debug("%s cannot be listened to: %s", uri, reason)
            failures = 0 if loop.time() - began > PAUSES[-1] else failures + 1
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
