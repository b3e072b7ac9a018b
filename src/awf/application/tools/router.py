"""All tools of one step or server behind one list: routed by name, checked, traced, logged and recorded.

Whatever door a call comes through, it passes `ToolRouter.call`. That is why a call cannot be missing from the record.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.tools.naming import publish, tool_id_of
from awf.application.tools.pipeline import ArgumentChecks, CallPipeline, Observers, checker
from awf.domain.problem import suggest
from awf.domain.tool import UnknownTool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.application.gate.passage import Gated
    from awf.application.tools.pipeline import StepGate
    from awf.domain.ports.tool_provider import ToolProvider
    from awf.domain.tool import CallContext, ToolDefinition, ToolResult

__all__ = ["ArgumentChecks", "Observers", "ToolRouter"]

_log = logging.getLogger("awf.tools")


class _Entry:
    """One published tool and where its calls go."""

    def __init__(self, definition: ToolDefinition, own_name: str, provider: ToolProvider) -> None:
        self.definition = definition
        self.own_name = own_name
        self.provider = provider
        self.check: Callable[[Any], list[str]] | None = None
        self.gated: Gated | None = None
        self.reads_files = definition.source == "builtin" and own_name == "Read"


class ToolRouter:
    def __init__(
        self,
        entries: Sequence[_Entry],
        providers: Sequence[ToolProvider],
        checks: ArgumentChecks,
        observers: Observers,
    ) -> None:
        self._entries = {entry.definition.name: entry for entry in entries}
        self._definitions = tuple(entry.definition for entry in entries)
        self._providers = providers
        self._checks = checks
        self._gate = observers.gate
        self._pipeline = CallPipeline(observers)
        self.calls = 0

    @classmethod
    async def open(
        cls, providers: Sequence[ToolProvider], checks: ArgumentChecks, observers: Observers
    ) -> ToolRouter:
        """Ask every provider for its tools. Raises USER.MCP_PROXY.NAME_COLLISION; closes the providers when it fails."""
        try:
            lists = await asyncio.gather(*(provider.list_tools() for provider in providers))
            found = [
                (tool, provider) for provider, tools in zip(providers, lists, strict=True) for tool in tools
            ]
            names = publish([tool for tool, _ in found])
        except BaseException:
            await close_all(providers)
            raise
        entries = [
            _Entry(msgspec.structs.replace(tool, name=name), tool.name, provider)
            for name, (tool, provider) in zip(names, found, strict=True)
        ]
        return cls(entries, providers, checks, observers)

    def definitions(self) -> Sequence[ToolDefinition]:
        return self._definitions

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        progress: Callable[[float, float | None, str], None] | None = None,
    ) -> ToolResult:
        entry = self._entries.get(name)
        if entry is None:
            raise await self._unknown(name, arguments)
        self.calls += 1
        arguments = _normalised(entry, arguments)

        async def carry_out(context: CallContext) -> ToolResult:
            if self._gate is not None and entry.reads_files:
                from awf.application.gate.file_reading import (
                    is_put_aside,
                    read_as_file,
                )  # late: most have no gate

                if is_put_aside(arguments):
                    return await read_as_file(self._gate, arguments)
            return await entry.provider.call_tool(entry.own_name, arguments, context)

        if entry.check is None:
            entry.check = checker(self._checks, entry.definition)
        if self._gate is not None and entry.gated is None:
            entry.gated = _gated(self._gate, entry)
        return await self._pipeline.call(
            entry.definition,
            arguments,
            carry_out,
            check=entry.check,
            meta=meta or {},
            progress=progress,
            gated=entry.gated,
        )

    def take_count(self) -> int:
        """How many calls there were since this was last asked."""
        count, self.calls = self.calls, 0
        return count

    async def close(self) -> None:
        await close_all(self._providers)

    async def _unknown(self, name: str, arguments: Mapping[str, Any]) -> UnknownTool:
        close = suggest(name, self._entries)
        message = f"There is no tool '{name}'." + (f" Did you mean '{close}'?" if close else "")
        call_id = self._pipeline.unknown(name, arguments, message)
        if self._gate is not None:
            await self._gate.gate.unknown(name, arguments, self._gate.origin, call_id)
        return UnknownTool(message)


def _gated(gate: StepGate, entry: _Entry) -> Gated:
    from awf.application.gate.passage import Gated  # late: most have no gate

    tool, named = entry.definition, getattr(entry.provider, "tool_id", None)
    tool_id = named(entry.own_name) if named is not None else tool_id_of(tool.source, entry.own_name)
    known = gate.gate.tool(
        tool_id,
        tool.name,
        tool.source,
        annotations=tool.annotations,
        meta=tool.more.get("_meta"),
        schema=tool.input_schema,
        folder=gate.folder,
    )
    return Gated(gate.gate, known, gate.origin, gate.asking)


def _normalised(entry: _Entry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """A provider may know other names for its arguments."""
    normalise = getattr(entry.provider, "normalise", None)
    return normalise(entry.own_name, arguments) if normalise is not None else arguments


async def close_all(providers: Sequence[ToolProvider]) -> None:
    """One that fails to close does not keep the others open."""
    for outcome in await asyncio.gather(*(one.close() for one in providers), return_exceptions=True):
        if isinstance(outcome, Exception):
            _log.error("a tool provider could not be closed", exc_info=outcome)
