"""The W3C trace context of the call being served, so that an author's own spans can join the trace of the run."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["TRACE_KEYS", "current_trace", "trace_of_call"]

TRACE_KEYS = ("traceparent", "tracestate", "baggage")

trace_of_call: ContextVar[dict[str, str]] = ContextVar("awf_plugin_trace", default={})  # noqa: B039  never changed


def current_trace() -> dict[str, str]:
    """`traceparent` and its companions as AWF sent them; empty outside a call or when nothing is traced."""
    return dict(trace_of_call.get())
