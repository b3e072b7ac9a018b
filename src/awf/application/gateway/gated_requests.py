"""What clients ask servers for beside tool calls: resources, prompts, completion, and whatever else only a server knows.

Where there is a gate, it passes that, too. To the gate they are tools of their server, such as `server:resources/read`. Those that
we know read; an override of that name says how secret they are. They reach others if any tool of their server does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.origin import NeedsInput
from awf.application.gate.passage import Gated
from awf.application.gateway.asking import ClientAsking, answer_of, question_of
from awf.application.gateway.origins import Apart
from awf.domain.gateway_file import REQUESTS
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError
from awf.domain.override import ToolOverride
from awf.domain.tool import CallContext, ToolFailure, ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.gate.gate import Gate
    from awf.application.gate.passage import GatedTool
    from awf.application.gateway.client import Client, Exchange
    from awf.application.gateway.forwarding import Forwarding
    from awf.application.gateway.offers import Offers
    from awf.application.gateway.origins import Origins
    from awf.application.gateway.server import Server

__all__ = ["GatedRequests", "subject_of"]

_LONGEST = 128  # signs of a method that we do not know
_REFUSED = -32603


class GatedRequests:
    """Used like `Forwarding`."""

    def __init__(
        self,
        forwarding: Forwarding,
        origins: Origins,
        gate: Callable[[], Gate | None],
        new_id: Callable[[], str],
        offers: Callable[[], Offers],
    ) -> None:
        self._forwarding = forwarding
        self._origins = origins
        self._gate = gate
        self._new_id = new_id
        self._offers = offers
        self._known: tuple[Gate | None, dict[tuple[str, str, bool], GatedTool]] = (None, {})

    @property
    def guarded(self) -> bool:
        """Whether there is a gate."""
        return self._gate() is not None

    async def send(
        self, server: Server, exchange: Exchange, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Raises `RpcError` and `AwfError`, as the server's answer does, and for what may not be."""

        async def forward(params: dict[str, Any]) -> dict[str, Any]:
            return await self._forwarding.send(server, exchange, method, params)

        return await self.let(server, exchange, method, params, forward)

    async def let(
        self,
        server: Server,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        do: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """`do` is what is done if it may be."""
        gate = self._gate()
        if gate is None:
            return await do(params)
        try:
            return await self._let(gate, server, exchange, method, params, do)
        except ToolFailure as refused:
            raise RpcError(_REFUSED, refused.message, {"code": refused.code}) from refused

    async def question(self, server: Server, client: Client, method: str, params: Any) -> dict[str, Any]:
        """A server asks a client something by itself. Raises `RpcError`.

        To the gate that is a tool of the server, too: whatever is answered reaches it. A question in the course of a call needs no
        other passage than that of the call.
        """
        gate = self._gate()
        if gate is None or not client.can_answer(method):
            return await client.ask(method, params, None)

        async def ask(about: dict[str, Any]) -> dict[str, Any]:
            del about  # the same
            return await client.ask(method, params, None)

        about = params if isinstance(params, dict) else {}
        try:
            return await self._let(gate, server, Apart(client), method, about, ask)
        except ToolFailure:  # why is none of the server's business
            raise RpcError(_REFUSED, f"The client may not answer {method} now.") from None

    async def _let(
        self,
        gate: Gate,
        server: Server,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        do: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """Raises `ToolFailure` for what may not be."""
        origin = self._origins.of(exchange.client, exchange.headers)
        asking = ClientAsking(exchange, origin) if gate.asks_clients else None

        def latest() -> GatedTool | None:
            now = self._gate()
            return None if now is None else self.tool(now, server, method)

        gated = Gated(gate, self.tool(gate, server, method), origin, asking, latest=latest)
        if exchange.client.modern and "requestState" in params:
            params, gated = await answer_of(params, exchange, gated, subject_of)

        async def carry_out(call: CallContext) -> ToolResult:
            del call
            raw = await do(params)
            meta = raw.get("_meta")
            return ToolResult(meta=meta if isinstance(meta, dict) else {}, raw=raw)

        subject = subject_of(params)
        try:
            result = await gate.through(gated, subject, CallContext(call_id=self._new_id()), carry_out)
        except NeedsInput as question:
            return question_of(question.approval, params)
        assert result.raw is not None
        return result.raw

    def tool(self, gate: Gate, server: Server, method: str) -> GatedTool:
        """What the gate knows of a method of a server. Raises `RpcError` for a name that is none."""
        if self._known[0] is not gate:
            self._known = gate, {}
        known, key = self._known[1], (server.name, method, self._offers().reach_others(server.name))
        found = known.get(key)
        if found is None:
            found = self._made(gate, *key)
            if method in REQUESTS:  # any other is the client's choice, and there is no end of them
                known[key] = found
        return found

    def _made(self, gate: Gate, server: str, method: str, reaches_others: bool) -> GatedTool:
        if len(method) > _LONGEST:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method[:_LONGEST]}")
        usual = ToolOverride(
            policy_action="connector.read" if method in REQUESTS else None, open_world=reaches_others or None
        )
        return gate.tool(f"{server}:{method}", method, f"mcp:{server}", usual=usual)


def subject_of(params: dict[str, Any]) -> dict[str, Any]:
    """What the gate judges of them."""
    return {key: value for key, value in params.items() if key != "_meta"}
