"""What clients ask servers for beside tool calls: resources and prompts. Where there is a gate, it passes that, too.

To the gate they are tools of their server, `server:resources/read` and `server:prompts/get`, which read. An override of
that name says how secret they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.origin import NeedsInput
from awf.application.gate.passage import Gated
from awf.application.gateway.asking import ClientAsking, answer_of, question_of
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.tool import CallContext, ToolFailure, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gate.gate import Gate
    from awf.application.gate.passage import GatedTool
    from awf.application.gateway.client import Exchange
    from awf.application.gateway.forwarding import Forwarding
    from awf.application.gateway.origins import Origins
    from awf.application.gateway.server import Server

__all__ = ["GatedRequests"]

_READS = ToolOverride(policy_action="connector.read")
_SUBJECTS = ("uri", "name", "arguments")
_REFUSED = -32603


class GatedRequests:
    """Used like `Forwarding`."""

    def __init__(
        self,
        forwarding: Forwarding,
        origins: Origins,
        gate: Callable[[], Gate | None],
        new_id: Callable[[], str],
    ) -> None:
        self._forwarding = forwarding
        self._origins = origins
        self._gate = gate
        self._new_id = new_id
        self._known: tuple[Gate | None, dict[tuple[str, str], GatedTool]] = (None, {})

    async def send(
        self, server: Server, exchange: Exchange, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Raises `RpcError` and `AwfError`, as the server's answer does, and for what may not be."""
        gate = self._gate()
        if gate is None:
            return await self._forwarding.send(server, exchange, method, params)
        origin = self._origins.of(exchange.client, exchange.headers)
        asking = ClientAsking(exchange) if gate.asks_clients else None
        gated = Gated(gate, self._tool(gate, server, method), origin, asking)
        if exchange.client.modern and "requestState" in params:
            params, gated = await answer_of(params, exchange, gated)

        async def carry_out(call: CallContext) -> ToolResult:
            del call
            raw = await self._forwarding.send(server, exchange, method, params)
            meta = raw.get("_meta")
            return ToolResult(meta=meta if isinstance(meta, dict) else {}, raw=raw)

        subject = {key: params[key] for key in _SUBJECTS if key in params}
        try:
            result = await gate.through(gated, subject, CallContext(call_id=self._new_id()), carry_out)
        except NeedsInput as question:
            return question_of(question.approval)
        except ToolFailure as refused:
            raise RpcError(_REFUSED, refused.message, {"code": refused.code}) from refused
        assert result.raw is not None
        return result.raw

    def _tool(self, gate: Gate, server: Server, method: str) -> GatedTool:
        if self._known[0] is not gate:
            self._known = gate, {}
        known = self._known[1]
        found = known.get((server.name, method))
        if found is None:
            tool_id = f"{server.name}:{method}"
            found = known[server.name, method] = gate.tool(
                tool_id, method, f"mcp:{server.name}", usual=_READS
            )
        return found
