"""The project's gateway as a source of tools for a workflow step: the same tools that agents elsewhere get from it.

What is recorded around a call is recorded by whoever offers the tools to the step, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import Client, Exchange
from awf.application.gateway.offers import sent_by
from awf.domain.errors import AwfError
from awf.domain.mcp import LEGACY_VERSIONS, RpcError
from awf.domain.problem import suggest
from awf.domain.tool import Behind, ToolDefinition, ToolFailure, UnknownTool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.application.gateway.gateway import Gateway
    from awf.domain.problem import Problem
    from awf.domain.tool import CallContext, ToolResult

__all__ = ["GatewayTools"]

_KNOWN = frozenset({"name", "description", "inputSchema", "title", "outputSchema", "annotations"})


class GatewayTools:
    """A `ToolProvider`. `located` makes an error of what is wrong with the configuration in the light of its servers."""

    def __init__(
        self, gateway: Gateway, profile: str, located: Callable[[Sequence[Problem]], AwfError]
    ) -> None:
        self._gateway = gateway
        self._profile = profile
        self._located = located
        self._client = Client(
            version=LEGACY_VERSIONS[-1],
            modern=False,
            capabilities={},
            info=dict(gateway.info),
            id="step",
            profile=profile,
        )

    async def list_tools(self) -> Sequence[ToolDefinition]:
        fleet = self._gateway.fleet
        if self._profile and self._profile not in fleet.file.profiles:
            close = suggest(self._profile, fleet.file.profiles)
            hint = f"did you mean '{close}'?" if close else "Add it under `profiles` in .awf/gateway.yaml."
            message = f"The gateway has no profile '{self._profile}'."
            raise AwfError("USER.GATEWAY.INVALID_FILE", message, hint=hint)
        fleet.start()
        await fleet.settle()
        if fleet.problems:
            raise self._located(fleet.problems)
        return [_definition(one.server, one.definition) for one in fleet.offers.within(self._profile).tools]

    def behind(self, name: str) -> Behind:
        offer = self._gateway.fleet.offers.find(name, self._profile)
        if offer is None:
            return Behind(name)
        published = offer.published
        return Behind(published.id, offer.server.config.folders, sent_by(published.plan))

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        offer = self._gateway.fleet.offers.find(name, self._profile)
        if offer is None:
            raise UnknownTool(name)
        refused = offer.published.plan.refused(arguments)
        if refused:
            raise ToolFailure("INVALID_ARGUMENTS", refused)
        meta = dict(context.meta)
        meta.pop("progressToken", None)
        if context.progress is not None:
            meta["progressToken"] = context.call_id
        exchange = Exchange(self._client, context.call_id, _Progress(context), meta=meta, headers={})
        try:
            return await self._gateway.calls.carry_out(offer, exchange, {}, dict(arguments), context)
        except RpcError as error:
            raise ToolFailure("EXECUTION_FAILED", error.message) from error

    async def close(self) -> None:
        await self._gateway.close()


class _Progress:
    """A `Reach` that hears of progress only."""

    def __init__(self, context: CallContext) -> None:
        self._tell = context.progress

    def send(self, message: dict[str, Any]) -> bool:
        params = message.get("params")
        if (
            self._tell is None
            or message.get("method") != "notifications/progress"
            or not isinstance(params, dict)
        ):
            return False
        done, total, said = params.get("progress"), params.get("total"), params.get("message")
        if isinstance(done, int | float):
            of = float(total) if isinstance(total, int | float) else None
            self._tell(float(done), of, said if isinstance(said, str) else "")
        return True

    def pause(self) -> None:
        pass


def _definition(server: str, shown: dict[str, Any]) -> ToolDefinition:
    schema, output, annotations = (shown.get(key) for key in ("inputSchema", "outputSchema", "annotations"))
    return ToolDefinition(
        name=shown["name"],
        description=str(shown.get("description", "")),
        input_schema=schema if isinstance(schema, dict) else {"type": "object"},
        source=f"mcp:{server}",
        title=str(shown.get("title") or ""),
        output_schema=output if isinstance(output, dict) else None,
        annotations=annotations if isinstance(annotations, dict) else {},
        more={key: value for key, value in shown.items() if key not in _KNOWN},
    )
