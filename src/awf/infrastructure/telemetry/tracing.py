"""Spans through OpenTelemetry when an endpoint is set; nothing at all otherwise."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.domain.ports.tracer import Attribute, Tracer

__all__ = ["NoTracer", "open_tracer"]


class _NoSpan:
    def set(self, name: str, value: Attribute) -> None:
        pass

    def fail(self, message: str) -> None:
        pass


_NO_SPAN = contextlib.nullcontext(_NoSpan())


class NoTracer:
    """The default: a span costs one call."""

    idle = True

    def span(
        self, name: str, attributes: Mapping[str, Attribute] | None = None, *, below: object = None
    ) -> contextlib.nullcontext[_NoSpan]:
        del name, attributes, below
        return _NO_SPAN

    def place(self, carrier: Mapping[str, str] | None = None) -> object:
        del carrier
        return None

    def carrier(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        pass


def open_tracer(
    endpoint: str | None, service_name: str, version: str, environment: Mapping[str, str]
) -> Tracer:
    if not endpoint:
        return NoTracer()
    try:
        return _OtelTracer(endpoint, service_name, version, environment)
    except ImportError as error:
        raise AwfError(
            "SYSTEM.TELEMETRY.UNAVAILABLE",
            "An OTLP endpoint is set, and the OpenTelemetry packages are not installed.",
            hint="pip install 'awf-suite[otel]', or unset OTEL_EXPORTER_OTLP_ENDPOINT.",
        ) from error


class _OtelTracer:
    idle = False

    def __init__(
        self, endpoint: str, service_name: str, version: str, environment: Mapping[str, str]
    ) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._propagator = TraceContextTextMapPropagator()
        resource = Resource.create({"service.name": service_name, "service.version": version})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        target = (
            endpoint if endpoint.rstrip("/").endswith("/v1/traces") else endpoint.rstrip("/") + "/v1/traces"
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=target, timeout=5)))
        self._tracer = self._provider.get_tracer("awf", version)
        # A run started by a traced program joins its trace.
        incoming = {
            "traceparent": environment.get("TRACEPARENT", ""),
            "tracestate": environment.get("TRACESTATE", ""),
        }
        self._parent = self._propagator.extract({key: value for key, value in incoming.items() if value})

    @contextlib.contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Attribute] | None = None, *, below: Any = None
    ) -> Iterator[Any]:
        from opentelemetry import trace

        current = trace.get_current_span(below)
        parent = below if current.get_span_context().is_valid else self._parent
        with self._tracer.start_as_current_span(
            name, context=parent, attributes=dict(attributes or {})
        ) as span:
            yield _OtelSpan(span)

    def place(self, carrier: Mapping[str, str] | None = None) -> object:
        from opentelemetry import context

        return context.get_current() if carrier is None else self._propagator.extract(carrier)

    def carrier(self) -> dict[str, str]:
        found: dict[str, str] = {}
        self._propagator.inject(found)
        return {key.upper(): value for key, value in found.items()}

    def close(self) -> None:
        self._provider.shutdown()


class _OtelSpan:
    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, name: str, value: Attribute) -> None:
        self._span.set_attribute(name, value)

    def fail(self, message: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._span.set_status(Status(StatusCode.ERROR, message))
