"""All tools of one step or server behind one list: routed by name, checked, traced, logged and recorded.

Whatever door a call comes through, it passes `ToolRouter.call`. That is why a call cannot be missing from the record.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.tools.naming import publish, tool_id_of
from awf.application.tools.pipeline import ArgumentChecks, CallPipeline, Observers, checker, checker_of_values
from awf.domain.problem import suggest
from awf.domain.tool import Behind, UnknownTool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.application.gate.explaining import Explanation
    from awf.application.gate.passage import Gated
    from awf.application.tools.pipeline import StepGate
    from awf.domain.label import Label
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
        check, gated, arguments = self._prepared(entry, arguments)

        async def carry_out(context: CallContext) -> ToolResult:
            if self._gate is not None and entry.reads_files:
                from awf.application.gate.file_reading import (
                    is_put_aside,
                    read_as_file,
                )  # late: most have no gate

                if is_put_aside(arguments):
                    return await read_as_file(self._gate, arguments)
            return await entry.provider.call_tool(entry.own_name, arguments, context)

        return await self._pipeline.call(
            entry.definition,
            arguments,
            carry_out,
            check=check,
            meta=meta or {},
            progress=progress,
            gated=gated,
        )

    async def explained(
        self, name: str, arguments: Mapping[str, Any], label: Label | None
    ) -> Explanation | None:
        """What the gate would say to a call of one whose context has this label, or its own. None: there is no such tool, or no gate."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        check, gated, arguments = self._prepared(entry, arguments)
        return None if gated is None else await gated.gate.explained(gated, arguments, label, check)

    def _prepared(
        self, entry: _Entry, arguments: Mapping[str, Any]
    ) -> tuple[Callable[[Any], list[str]], Gated | None, Mapping[str, Any]]:
        """How arguments are checked, what the gate has to know, and the arguments by the names of the provider."""
        if entry.check is None:
            # The built-in ones look themselves: the name of a file need not be text.
            make = checker if entry.definition.source == "builtin" else checker_of_values
            entry.check = make(self._checks, entry.definition)
        if self._gate is not None and entry.gated is None:
            entry.gated = _gated(self._gate, entry)
        return entry.check, entry.gated, _normalised(entry, arguments)

    def take_count(self) -> int:
        """How many calls there were since this was last asked."""
        count, self.calls = self.calls, 0
        return count

    async def close(self) -> None:
        await close_all(self._providers)

    async def _unknown(self, name: str, arguments: Mapping[str, Any]) -> UnknownTool:
        close = suggest(name, self._entries)
        shown = self._pipeline.observers.masker.mask(name)
        message = f"There is no tool '{shown}'." + (f" Did you mean '{close}'?" if close else "")
        call_id = self._pipeline.unknown(name, arguments, message)
        if self._gate is not None:
            await self._gate.gate.unknown(name, arguments, self._gate.origin, call_id)
        return UnknownTool(message)


def _gated(gate: StepGate, entry: _Entry) -> Gated:
    from awf.application.gate.passage import Gated  # late: most have no gate

    tool, look = entry.definition, getattr(entry.provider, "behind", None)
    behind: Behind = look(entry.own_name) if look is not None else Behind()
    known = gate.gate.tool(
        behind.tool_id or tool_id_of(tool.source, entry.own_name),
        tool.name,
        tool.source,
        annotations=tool.annotations,
        meta=tool.more.get("_meta"),
        folders=behind.folders,
        sent=behind.sent,
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
