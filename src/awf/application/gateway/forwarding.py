"""A client's request on its way to a server, in whichever era each of them lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.eras import crossed_error, crossed_result, upstream_meta
from awf.domain.mcp import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gateway.client import Client, Exchange
    from awf.application.gateway.lane import Lane
    from awf.application.gateway.parking import Parking
    from awf.application.gateway.server import Server
    from awf.domain.mcp import Era

__all__ = ["Forwarding", "asks", "crossed"]

ROUNDS = 20  # a server that asks on and on
_BESIDE = frozenset({"_meta", "inputResponses", "requestState"})


class Forwarding:
    def __init__(self, parking: Parking) -> None:
        self._parking = parking

    async def send(
        self,
        server: Server,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
        *,
        asked: object = None,
    ) -> dict[str, Any]:
        """`params` hold the `_meta` to send. Raises `RpcError` and `AwfError`.

        `asked`: what the client asked for, where that is something else than what is sent.
        """
        client = exchange.client
        if client.modern and "requestState" in params and self._parking.is_ours(params):
            return await self._taken_up(server, exchange, method, params, asked)
        server.check_alive()
        lane = await server.lane_for(client)
        era = lane.upstream.era
        if era is not None and era.modern is client.modern:
            return await server.request(exchange, method, params, headers=headers, lane=lane)
        bound = (server.name, method, asked or _subject(params))
        try:
            return await self._sent(server, exchange, method, params, headers, lane, bound)
        finally:
            lane.give_back(client)

    async def _taken_up(
        self, server: Server, exchange: Exchange, method: str, params: dict[str, Any], asked: object
    ) -> dict[str, Any]:
        """The client has come back to a call that waits."""
        bound = (server.name, method, asked or _subject(params))
        try:
            result = await self._parking.again(exchange, params, bound_to=bound)
        except RpcError as error:
            raise crossed_error(method, error, to_modern=True) from error
        return crossed(method, result, exchange.client, server.last_era)

    async def _sent(
        self,
        server: Server,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None,
        lane: Lane,
        bound: object,
    ) -> dict[str, Any]:
        client = exchange.client
        era = lane.upstream.era or await lane.upstream.connect()
        if era.modern is client.modern:
            return await server.request(exchange, method, params, headers=headers, lane=lane)
        meta = params.get("_meta", exchange.meta)
        sent = {**params, "_meta": upstream_meta(meta, client, era)}
        try:
            if era.modern:
                result = await server.request(exchange, method, sent, headers=headers, lane=lane)
                if asks(result, era):
                    result = await self.answering(server, exchange, method, sent, headers, lane, result)
            else:
                result = await self._parked(server, exchange, method, sent, lane, bound)
        except RpcError as error:
            raise crossed_error(method, error, to_modern=client.modern) from error
        return crossed(method, result, client, era)

    async def answering(
        self,
        server: Server,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None,
        lane: Lane,
        result: dict[str, Any],
    ) -> dict[str, Any]:
        """Servers of the newer era ask in their answer; clients of the older one are asked meanwhile."""
        for _ in range(ROUNDS - 1):
            asked = result.get("inputRequests")
            answers = {}
            for key, question in (asked if isinstance(asked, dict) else {}).items():
                if isinstance(question, dict):
                    about = server.cleaned(question.get("params"))
                    answers[key] = await exchange.ask(str(question.get("method")), about)
            params = {key: value for key, value in params.items() if key != "requestState"}
            params["inputResponses"] = answers
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            result = await server.request(exchange, method, params, headers=headers, lane=lane)
            if result.get("resultType") != "input_required":
                return result
        raise RpcError(INTERNAL_ERROR, f'MCP server "{server.name}" asks for more and more input.')

    async def _parked(
        self,
        server: Server,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        lane: Lane,
        bound: object,
    ) -> dict[str, Any]:
        """Servers of the older era ask in the middle of their work; it waits until the client comes back with the answer."""
        if not exchange.client.interactive:
            return await server.request(exchange, method, params, lane=lane)

        async def work(parked: Exchange) -> dict[str, Any]:
            return await server.request(parked, method, params, lane=lane)

        return await self._parking.begin(exchange, work, bound_to=bound)


def asks(result: Mapping[str, Any], era: Era) -> bool:
    """Whether a server of this era wants to know something before it goes on."""
    return era.modern and result.get("resultType") == "input_required"


def crossed(method: str, result: dict[str, Any], client: Client, era: Era | None) -> dict[str, Any]:
    if result.get("resultType", "complete") != "complete":
        return result
    info = era.server_info if era is not None else {}
    return crossed_result(method, result, to_modern=client.modern, server_info=info)


def _subject(params: Mapping[str, Any]) -> object:
    """What a request is about, whatever its kind."""
    return {key: value for key, value in params.items() if key not in _BESIDE}
