"""What happens around every tool call, whichever door it comes through: one span, one log line, one pair of events."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from awf.application.gate.discretion import plain_meta
from awf.application.gate.origin import NeedsInput
from awf.domain.errors import AwfError
from awf.domain.events import ToolCallFinished, ToolCallStarted
from awf.domain.json_form import without_json_form
from awf.domain.tool import ERROR_KEY, CallContext, ToolDefinition, ToolFailure, ToolResult, text_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Asking, Origin
    from awf.application.gate.passage import Gated
    from awf.domain.events import Event
    from awf.domain.ports.tracer import Attribute, Span, Tracer
    from awf.domain.redaction import Masker

    Progress = Callable[[float, float | None, str], None]

__all__ = [
    "NO_SPAN",
    "ArgumentChecks",
    "CallPipeline",
    "Observation",
    "Observers",
    "StepGate",
    "checker",
    "checker_of_values",
    "error_code",
    "failed",
    "result_of",
]

_SHOWN = 2000  # characters of output that travel with an event
_MOST_MISFITS = 5
_log = logging.getLogger("awf.tools")


class ArgumentChecks(Protocol):
    def checker(self, schema: Mapping[str, Any]) -> Callable[[Any], list[str]]:
        """A function that says where and how a value breaks the schema. Raises `ValueError` for a bad schema."""
        ...


class StepGate(NamedTuple):
    """The gate, for calls that all come from one place."""

    gate: Gate
    origin: Origin
    asking: Asking | None = None


class Observers(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told of a call, and who may stop it."""

    tracer: Tracer
    masker: Masker
    record: Callable[[Event], None] | None = None
    step: str = ""
    path: str = ""
    # Says why a call may not happen, or nothing. It may ask a person.
    allow: Callable[[ToolDefinition, Mapping[str, Any], str], Awaitable[str]] | None = None
    gate: StepGate | None = None


class CallPipeline:
    def __init__(self, observers: Observers) -> None:
        self.observers = observers
        # Calls come in through doors that know nothing of the step; their spans still belong below its span.
        self._place = observers.tracer.place()
        self._mark = os.urandom(5).hex()  # with a count it names a call, here and in records of others
        self._calls = 0

    async def call(
        self,
        tool: ToolDefinition,
        arguments: Mapping[str, Any],
        carry_out: Callable[[CallContext], Awaitable[ToolResult]],
        *,
        check: Callable[[Any], list[str]],
        meta: Mapping[str, Any],
        progress: Progress | None = None,
        facts: Mapping[str, str] | None = None,
        gated: Gated | None = None,
        call_id: str = "",
    ) -> ToolResult:
        """What goes wrong is in the result. `facts`: more that the span tells. `gated`: what the gate has to know.

        `call_id`: the caller's own name for the call. Raises `NeedsInput` where a person has to be asked by whoever calls.
        """
        admitted = gated.admitted if gated is not None else None
        call_id = admitted.request_id if admitted is not None else call_id or self.new_id()
        observing = Observation(self.observers, tool, call_id, arguments)
        if self.observers.tracer.idle:
            context = CallContext(call_id=call_id, meta=meta, progress=progress)
            work = self._carried_out(tool, arguments, carry_out, check, context, gated)
            return await self._observed(tool, work, observing, NO_SPAN)
        attributes = {
            "tool.name": tool.name,
            "tool.source": tool.source,
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": call_id,
            **(facts or {}),
        }
        tracer = self.observers.tracer
        with tracer.span(f"tool.call.{tool.name}", attributes, below=self.place_of(meta)) as span:
            trace = {key.lower(): value for key, value in tracer.carrier().items()}
            context = CallContext(call_id=call_id, meta=meta, trace=trace, progress=progress)
            work = self._carried_out(tool, arguments, carry_out, check, context, gated)
            return await self._observed(tool, work, observing, span)

    # The same in two steps, for calls that wait for nobody but their server. What is asked before a call, and spans,
    # need the way above: so does everything that is added there.

    @property
    def in_two_steps(self) -> bool:
        return self.observers.allow is None and self.observers.tracer.idle

    def new_id(self) -> str:
        """For a call that somebody records before it is begun."""
        self._calls += 1
        return f"tool-{self._mark}{self._calls}"

    def begun(
        self, tool: ToolDefinition, arguments: Mapping[str, Any], call_id: str = ""
    ) -> Observation | None:
        """The arguments fit. None: nobody wants to know of it. `call_id`: the one by which it is recorded."""
        if self.observers.record is None and not _log.isEnabledFor(logging.INFO):
            return None
        return Observation(self.observers, tool, call_id or self.new_id(), arguments)

    async def _observed(
        self, tool: ToolDefinition, work: Awaitable[ToolResult], observing: Observation, span: Span
    ) -> ToolResult:
        try:
            result = await work
        except asyncio.CancelledError:
            observing.ended(span, cancelled=True)
            raise
        except NeedsInput:
            observing.ended(span, failed("PERMISSION_DENIED", "A person is asked first."))
            raise
        except Exception as error:  # noqa: BLE001  whatever a provider does wrong, the agent gets an answer
            result = result_of(tool, error, self.observers.masker.mask)
        observing.ended(span, result)
        return result

    async def _carried_out(
        self,
        tool: ToolDefinition,
        arguments: Mapping[str, Any],
        carry_out: Callable[[CallContext], Awaitable[ToolResult]],
        check: Callable[[Any], list[str]],
        context: CallContext,
        gated: Gated | None,
    ) -> ToolResult:
        if wrong := check(arguments):
            if gated is not None:
                wrong = gated.gate.shown(gated, arguments, wrong, check)
                await gated.gate.rejected(gated, arguments, context.call_id, "INVALID_ARGUMENTS", wrong[0])
            return failed("INVALID_ARGUMENTS", _misfits(tool, wrong))
        if self.observers.allow is not None:
            refusal = await self.observers.allow(tool, arguments, context.call_id)
            if refusal:
                if gated is not None:
                    await gated.gate.rejected(gated, arguments, context.call_id, "PERMISSION_DENIED", refusal)
                return failed("PERMISSION_DENIED", refusal)
        if gated is None:
            return await carry_out(context)
        judged = arguments if gated.judged is None else gated.judged
        return await gated.gate.through(gated, judged, _discreet(context), carry_out)

    def unknown(self, name: str, arguments: Mapping[str, Any], message: str, call_id: str = "") -> str:
        """Recorded as well: an agent that reaches for what it does not have is worth knowing of. The call's id."""
        name = self.observers.masker.mask(name)  # the agent chose it
        tool = ToolDefinition(name=name, source="unknown")
        self._calls += 1
        call_id = call_id or f"tool-{self._mark}{self._calls}"
        observing = Observation(self.observers, tool, call_id, arguments)
        with self.observers.tracer.span(f"tool.call.{name}", {"tool.name": name}, below=self._place) as span:
            observing.ended(span, failed("RESOURCE_NOT_FOUND", message))
        return call_id

    def place_of(self, meta: Mapping[str, Any]) -> object:
        """The span of the step; where there is none, that of the client, if it tells."""
        if self.observers.step or not isinstance(meta.get("traceparent"), str):
            return self._place
        told = {key: str(meta[key]) for key in ("traceparent", "tracestate") if key in meta}
        return self.observers.tracer.place(told)


class _Nothing:
    def set(self, name: str, value: Attribute) -> None:
        pass

    def fail(self, message: str) -> None:
        pass


NO_SPAN = _Nothing()


class Observation:
    """What is told of one call while it happens and when it has ended."""

    __slots__ = ("_began", "_call_id", "_observers", "_tool")

    def __init__(
        self, observers: Observers, tool: ToolDefinition, call_id: str, arguments: Mapping[str, Any]
    ) -> None:
        self._observers = observers
        self._tool = tool
        self._call_id = call_id
        self._began = time.monotonic()
        if observers.record is not None:
            observers.record(ToolCallStarted(**self._about(), input=dict(arguments)))

    def _about(self) -> dict[str, str]:
        observers, tool = self._observers, self._tool
        return {
            "path": observers.path,
            "step": observers.step,
            "call_id": self._call_id,
            "tool": tool.name,
            "source": tool.source,
        }

    def ended(self, span: Span, result: ToolResult | None = None, *, cancelled: bool = False) -> None:
        duration = int((time.monotonic() - self._began) * 1000)
        error = "CANCELLED" if cancelled else error_code(result) if result else ""
        span.set("tool.duration_ms", duration)
        if error:
            span.set("error.type", error)
            said = result.text if result else "cancelled"
            span.fail(self._observers.masker.mask(said[:200]))
        if self._observers.record is not None:
            self._observers.record(
                ToolCallFinished(
                    **self._about(),
                    duration_ms=duration,
                    is_error=bool(error),
                    error=error,
                    output=_shown(result),
                    cancelled=cancelled,
                )
            )
        if _log.isEnabledFor(logging.INFO):
            fields = {**self._about(), "duration_ms": duration, "error": error}
            told = {key: value for key, value in fields.items() if value != ""}
            _log.info("tool call", extra={"fields": told})


def _discreet(context: CallContext) -> CallContext:
    """The gate looks at no `_meta`, so that of the caller goes no further."""
    if not context.meta:
        return context
    return msgspec.structs.replace(context, meta=plain_meta(context.meta))


def checker(checks: ArgumentChecks, tool: ToolDefinition) -> Callable[[Any], list[str]]:
    try:
        return checks.checker(tool.input_schema)
    except ValueError as error:
        _log.warning("the schema of %s cannot be used to check arguments: %s", tool.name, error)
        return lambda _: []


def checker_of_values(checks: ArgumentChecks, tool: ToolDefinition) -> Callable[[Any], list[str]]:
    """The same where arguments need not have come as JSON that a server can be sent."""
    check = checker(checks, tool)

    def wrong(arguments: Any) -> list[str]:
        unsendable = without_json_form(arguments)
        return [f"{unsendable}, so that no server can be sent it"] if unsendable else check(arguments)

    return wrong


def _misfits(tool: ToolDefinition, wrong: list[str]) -> str:
    """What does not fit is not carried out; the model is told what is wrong."""
    known = ", ".join(tool.input_schema.get("properties", {}))
    rest = f"\n- and {len(wrong) - _MOST_MISFITS} more" if len(wrong) > _MOST_MISFITS else ""
    listed = "\n".join(f"- {item}" for item in wrong[:_MOST_MISFITS])
    return (
        f"The arguments of {tool.name} do not fit, so nothing was done:\n{listed}{rest}\n"
        f"Its arguments are: {known or 'none'}."
    )


def result_of(
    tool: ToolDefinition, error: Exception, mask: Callable[[str], str] = lambda text: text
) -> ToolResult:
    """What went wrong, as a result. It may be what a server has said: `mask` takes out what must stay secret."""
    if isinstance(error, ToolFailure):
        return failed(error.code, mask(error.message), error.details)
    if isinstance(error, AwfError):
        return failed("EXECUTION_FAILED", mask(f"{error.message} {error.hint}".strip()))
    _log.error("the tool %s failed", tool.name, exc_info=error)
    return failed("EXECUTION_FAILED", mask(f"The tool failed: {type(error).__name__}: {error}")[:500])


def failed(code: str, message: str, details: Mapping[str, Any] | None = None) -> ToolResult:
    about = {"code": code, "details": dict(details)} if details else {"code": code}
    return msgspec.structs.replace(text_result(message, is_error=True), meta={ERROR_KEY: about})


def error_code(result: ToolResult) -> str:
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
