"""All tools of one step or server behind one list: routed by name, checked, traced, logged and recorded.

Whatever door a call comes through, it passes `ToolRouter.call`. That is why a call cannot be missing from the record.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from awf.application.tools.naming import publish
from awf.domain.errors import AwfError
from awf.domain.events import ToolCallFinished, ToolCallStarted
from awf.domain.problem import suggest
from awf.domain.tool import CallContext, ToolDefinition, ToolFailure, ToolResult, UnknownTool, text_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from awf.domain.events import Event
    from awf.domain.ports.tool_provider import ToolProvider
    from awf.domain.ports.tracer import Span, Tracer
    from awf.domain.redaction import Masker

__all__ = ["ArgumentChecks", "Observers", "ToolRouter"]

ERROR_KEY = "awf/error"  # in the _meta of a result: {code: …}
_SHOWN = 2000  # characters of output that travel with an event
_MOST_MISFITS = 5
_log = logging.getLogger("awf.tools")


class ArgumentChecks(Protocol):
    def checker(self, schema: Mapping[str, Any]) -> Callable[[Any], list[str]]:
        """A function that says where and how a value breaks the schema. Raises `ValueError` for a bad schema."""
        ...


class Observers(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told of a call, and who may stop it."""

    tracer: Tracer
    masker: Masker
    record: Callable[[Event], None] | None = None
    step: str = ""
    path: str = ""
    # Says why a call may not happen, or nothing. It may ask a person.
    allow: Callable[[ToolDefinition, Mapping[str, Any], str], Awaitable[str]] | None = None


class _Entry:
    """One published tool and where its calls go."""

    def __init__(self, definition: ToolDefinition, own_name: str, provider: ToolProvider) -> None:
        self.definition = definition
        self.own_name = own_name
        self.provider = provider
        self.check: Callable[[Any], list[str]] | None = None


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
        self._observers = observers
        # Calls come in through doors that know nothing of the step; their spans still belong below its span.
        self._place = observers.tracer.place()
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
            raise self._unknown(name, arguments)
        return await self._observed(entry, arguments, meta or {}, progress)

    def take_count(self) -> int:
        """How many calls there were since this was last asked."""
        count, self.calls = self.calls, 0
        return count

    async def close(self) -> None:
        await close_all(self._providers)

    # -- one call ------------------------------------------------------------------------------------------------------

    async def _observed(
        self,
        entry: _Entry,
        arguments: Mapping[str, Any],
        meta: Mapping[str, Any],
        progress: Callable[[float, float | None, str], None] | None,
    ) -> ToolResult:
        observers, tool = self._observers, entry.definition
        self.calls += 1
        call_id = f"tool-{os.urandom(6).hex()}"
        arguments = _normalised(entry, arguments)
        observing = _Observation(observers, tool, call_id, arguments)
        attributes = {
            "tool.name": tool.name,
            "tool.source": tool.source,
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": call_id,
        }
        with observers.tracer.span(f"tool.call.{tool.name}", attributes, below=self._below(meta)) as span:
            context = CallContext(
                call_id=call_id,
                meta=dict(meta),
                trace={key.lower(): value for key, value in observers.tracer.carrier().items()},
                progress=progress,
            )
            try:
                result = await self._carry_out(entry, arguments, context)
            except asyncio.CancelledError:
                observing.ended(span, cancelled=True)
                raise
            observing.ended(span, result)
        return result

    def _below(self, meta: Mapping[str, Any]) -> object:
        """The span of the step; where there is none, that of the client, if it tells."""
        if self._observers.step or not isinstance(meta.get("traceparent"), str):
            return self._place
        told = {key: str(meta[key]) for key in ("traceparent", "tracestate") if key in meta}
        return self._observers.tracer.place(told)

    def _unknown(self, name: str, arguments: Mapping[str, Any]) -> UnknownTool:
        """Recorded as well: an agent that reaches for what it does not have is worth knowing of."""
        close = suggest(name, self._entries)
        message = f"There is no tool '{name}'." + (f" Did you mean '{close}'?" if close else "")
        tool = ToolDefinition(name=name, source="unknown")
        observing = _Observation(self._observers, tool, f"tool-{os.urandom(6).hex()}", arguments)
        with self._observers.tracer.span(f"tool.call.{name}", {"tool.name": name}, below=self._place) as span:
            observing.ended(span, _failed("RESOURCE_NOT_FOUND", message))
        return UnknownTool(message)

    async def _carry_out(
        self, entry: _Entry, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        try:
            self._check(entry, arguments)
            if self._observers.allow is not None:
                refusal = await self._observers.allow(entry.definition, arguments, context.call_id)
                if refusal:
                    raise ToolFailure("PERMISSION_DENIED", refusal)  # noqa: TRY301
            return await entry.provider.call_tool(entry.own_name, arguments, context)
        except ToolFailure as failure:
            return _failed(failure.code, failure.message)
        except AwfError as error:
            return _failed("EXECUTION_FAILED", f"{error.message} {error.hint}".strip())
        except Exception as error:  # noqa: BLE001  whatever a provider does wrong, the agent gets an answer
            _log.exception("the tool %s failed", entry.definition.name)
            return _failed("EXECUTION_FAILED", f"The tool failed: {type(error).__name__}: {error}"[:500])

    def _check(self, entry: _Entry, arguments: Mapping[str, Any]) -> None:
        """What does not fit is not carried out; the model is told what is wrong."""
        if entry.check is None:
            entry.check = self._checker(entry.definition)
        wrong = entry.check(arguments)
        if wrong:
            known = ", ".join(entry.definition.input_schema.get("properties", {}))
            rest = f"\n- and {len(wrong) - _MOST_MISFITS} more" if len(wrong) > _MOST_MISFITS else ""
            listed = "\n".join(f"- {item}" for item in wrong[:_MOST_MISFITS])
            raise ToolFailure(
                "INVALID_ARGUMENTS",
                f"The arguments of {entry.definition.name} do not fit, so nothing was done:\n{listed}{rest}\n"
                f"Its arguments are: {known or 'none'}.",
            )

    def _checker(self, tool: ToolDefinition) -> Callable[[Any], list[str]]:
        try:
            return self._checks.checker(tool.input_schema)
        except ValueError as error:
            _log.warning("the schema of %s cannot be used to check arguments: %s", tool.name, error)
            return lambda _: []


class _Observation:
    """What is told of one call while it happens and when it has ended."""

    def __init__(
        self, observers: Observers, tool: ToolDefinition, call_id: str, arguments: Mapping[str, Any]
    ) -> None:
        self._observers = observers
        self._about = {
            "path": observers.path,
            "step": observers.step,
            "call_id": call_id,
            "tool": tool.name,
            "source": tool.source,
        }
        self._began = time.monotonic()
        if observers.record is not None:
            observers.record(ToolCallStarted(**self._about, input=dict(arguments)))

    def ended(self, span: Span, result: ToolResult | None = None, *, cancelled: bool = False) -> None:
        duration = int((time.monotonic() - self._began) * 1000)
        error = "CANCELLED" if cancelled else _error_code(result) if result else ""
        span.set("tool.duration_ms", duration)
        if error:
            span.set("error.type", error)
            said = result.text if result else "cancelled"
            span.fail(self._observers.masker.mask(said[:200]))
        if self._observers.record is not None:
            self._observers.record(
                ToolCallFinished(
                    **self._about,
                    duration_ms=duration,
                    is_error=bool(error),
                    error=error,
                    output=_shown(result),
                    cancelled=cancelled,
                )
            )
        fields = {**self._about, "duration_ms": duration, "error": error}
        _log.info("tool call", extra={"fields": {key: value for key, value in fields.items() if value != ""}})


def _normalised(entry: _Entry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """A provider may know other names for its arguments."""
    normalise = getattr(entry.provider, "normalise", None)
    return normalise(entry.own_name, arguments) if normalise is not None else arguments


def _failed(code: str, message: str) -> ToolResult:
    return msgspec.structs.replace(text_result(message, is_error=True), meta={ERROR_KEY: {"code": code}})


def _error_code(result: ToolResult) -> str:
    if not result.is_error:
        return ""
    said = result.meta.get(ERROR_KEY)
    return str(said.get("code", "")) if isinstance(said, dict) else "EXECUTION_FAILED"


def _shown(result: ToolResult | None) -> str:
    if result is None:
        return ""
    text = result.text
    if text:
        return text[:_SHOWN]
    if result.structured is not msgspec.UNSET:
        return json.dumps(result.structured, ensure_ascii=False, default=str)[:_SHOWN]
    kinds = [str(block.get("type", "?")) for block in result.content]
    return f"({', '.join(kinds)})" if kinds else ""


async def close_all(providers: Sequence[ToolProvider]) -> None:
    """One that fails to close does not keep the others open."""
    for outcome in await asyncio.gather(*(one.close() for one in providers), return_exceptions=True):
        if isinstance(outcome, Exception):
            _log.error("a tool provider could not be closed", exc_info=outcome)
