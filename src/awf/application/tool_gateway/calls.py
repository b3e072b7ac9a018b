"""One call of a registered tool, from its name to its result."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.passage import Gated
from awf.application.gate.registry import Resolved
from awf.application.tool_gateway.results import result_form
from awf.application.tools.pipeline import CallPipeline, checker_of_values, error_code, failed
from awf.domain.gate_file import Limits
from awf.domain.manifest import GatewayEvent
from awf.domain.override import ToolOverride
from awf.domain.tool import ToolDefinition, ToolFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import GatedTool
    from awf.application.gate.registry import Registered, ToolRegistry
    from awf.application.tool_gateway.server_link import ServerLink
    from awf.application.tools.pipeline import ArgumentChecks, Observers
    from awf.domain.manifest import MCPTool, MCPToolResult, ToolInvocation
    from awf.domain.tool import CallContext, ToolResult

__all__ = ["Calls"]


class _Known:
    """A tool that was called before."""

    def __init__(
        self, definition: ToolDefinition, gated: GatedTool, check: Callable[[Any], list[str]]
    ) -> None:
        self.definition = definition
        self.gated = gated
        self.check = check
        self.alone = asyncio.Lock()  # for tools that want one call at a time


class Calls:
    def __init__(
        self,
        gate: Gate,
        checks: ArgumentChecks,
        observers: Observers,
        overrides: Mapping[str, ToolOverride],
        registry: ToolRegistry,
    ) -> None:
        self._gate = gate
        self._checks = checks
        self._overrides = overrides
        self._registry = registry
        self._pipeline = CallPipeline(observers)
        self._known: dict[str, _Known] = {}
        self._under_way: set[str] = set()

    def forget(self) -> None:
        """The tools may be others now."""
        self._known.clear()

    async def call(
        self, asked: ToolInvocation, request_id: str, origin: Origin, links: Mapping[str, ServerLink]
    ) -> MCPToolResult:
        began = time.monotonic()
        found = self._resolved(asked.tool_id)
        link = links.get(found.server.server_id) if found.server is not None else None
        if found.tool is None or found.server is None:
            result = await self._unknown(found, asked, request_id, origin)
        else:
            self._tell("tool_called", found, request_id)
            try:
                result = await self._once(found.server, found.tool, asked, request_id, origin, link)
            except asyncio.CancelledError:
                self._tell_end(found, request_id, time.monotonic() - began, "CANCELLED")
                raise
        took = time.monotonic() - began
        self._tell_end(found, request_id, took, error_code(result))
        return result_form(
            result,
            tool=found.tool.name if found.tool is not None else found.tool_id,
            request_id=request_id,
            took=took,
            sandboxed=link is not None and link.sandboxed,
        )

    def _resolved(self, name: str) -> Resolved:
        """A name that no tool has may be a secret: what is told of it is about what is left."""
        found = self._registry.resolve(name)
        if found.tool is None and (shown := self._pipeline.observers.masker.mask(name)) != name:
            return Resolved(shown, reason=self._registry.unknown(shown))
        return found

    async def _once(
        self,
        server: Registered,
        tool: MCPTool,
        asked: ToolInvocation,
        request_id: str,
        origin: Origin,
        link: ServerLink | None,
    ) -> ToolResult:
        known = self._tool(server, tool)
        gated = Gated(self._gate, known.gated, origin)
        if request_id in self._under_way:  # the record could not tell the two apart
            text = f"A call with the request id “{request_id}” is under way."
            await self._gate.rejected(gated, asked.arguments, request_id, "CONFLICT", text)
            return failed("CONFLICT", text)

        async def carry_out(context: CallContext) -> ToolResult:
            if link is None:
                text = f"No server is configured for “{server.server_id}”: only its manifest was registered."
                raise ToolFailure("EXECUTION_FAILED", text)
            return await _in_time(known, link, asked, context)

        self._under_way.add(request_id)
        try:
            return await self._pipeline.call(
                known.definition,
                asked.arguments,
                carry_out,
                check=known.check,
                meta={},
                gated=gated,
                call_id=request_id,
            )
        finally:
            self._under_way.discard(request_id)

    async def _unknown(
        self, found: Resolved, asked: ToolInvocation, request_id: str, origin: Origin
    ) -> ToolResult:
        self._pipeline.unknown(asked.tool_id, asked.arguments, found.reason, request_id)
        await self._gate.unknown(asked.tool_id, asked.arguments, origin, request_id)
        details = {"candidates": list(found.candidates)} if found.candidates else None
        return failed("RESOURCE_NOT_FOUND", found.reason, details)

    # -- what is known of a tool -------------------------------------------------------------------------------------

    def _tool(self, server: Registered, tool: MCPTool) -> _Known:
        tool_id = f"{server.server_id}:{tool.name}"
        known = self._known.get(tool_id)
        if known is None:
            definition = _definition(server, tool)
            gated = self._gate.tool(
                tool_id,
                tool.name,
                definition.source,
                annotations=definition.annotations,
                meta=tool.meta,
                usual=_override(server, tool, self._overrides.get(tool_id)),
            )
            check = checker_of_values(self._checks, definition)
            known = self._known[tool_id] = _Known(definition, gated, check)
        return known

    # -- events ------------------------------------------------------------------------------------------------------

    def _tell(self, kind: Any, found: Resolved, request_id: str, **more: Any) -> None:
        server_id = found.server.server_id if found.server is not None else ""
        self._registry.tell(
            GatewayEvent(type=kind, server_id=server_id, tool_id=found.tool_id, request_id=request_id, **more)
        )

    def _tell_end(self, found: Resolved, request_id: str, took: float, error: str) -> None:
        kind = "tool_error" if error else "tool_completed"
        self._tell(kind, found, request_id, duration_ms=int(took * 1000), error_code=error)


def _definition(server: Registered, tool: MCPTool) -> ToolDefinition:
    said: dict[str, Any] = msgspec.to_builtins(tool.annotations) if tool.annotations is not None else {}
    if said.get("category") == "external":
        said["openWorldHint"] = True  # what it is given leaves the house
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        source=f"mcp:{server.server_id}",
        title=tool.title or "",
        output_schema=tool.output_schema,
        annotations=said,
        more={"_meta": tool.meta} if tool.meta else {},
    )


def _override(server: Registered, tool: MCPTool, configured: ToolOverride | None) -> ToolOverride:
    """Whoever registers a manifest vouches for it, so its action counts as configured; configuration counts more."""
    said = configured or ToolOverride()
    own = server.config.limits if server.config is not None else None
    limits = Limits() if own is None else Limits(**msgspec.structs.asdict(own))
    told = said.limits or Limits()
    given = {name: value for name in told.__struct_fields__ if (value := getattr(told, name)) is not None}
    action = said.policy_action or tool.action or tool.meta.get("policyAction")
    return msgspec.structs.replace(
        said, policy_action=action, limits=msgspec.structs.replace(limits, **given)
    )


async def _in_time(
    known: _Known, link: ServerLink, asked: ToolInvocation, context: CallContext
) -> ToolResult:
    seconds = None if asked.timeout_ms is None else asked.timeout_ms / 1000
    limit = asyncio.timeout(seconds)
    context = msgspec.structs.replace(context, timeout=seconds)
    try:
        async with limit:
            if known.definition.annotations.get("concurrency") != "exclusive":
                return await link.call(known.definition.name, asked.arguments, context)
            async with known.alone:
                return await link.call(known.definition.name, asked.arguments, context)
    except TimeoutError:
        if not limit.expired():
            raise
        text = f"{known.definition.name} took longer than {asked.timeout_ms} ms, and was stopped."
        raise ToolFailure("TIMEOUT", text) from None
