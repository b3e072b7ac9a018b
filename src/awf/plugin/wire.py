"""A plugin's values as messages of `plugin.proto`, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from awf.plugin.forms import Nullable
from awf.plugin.protocol import plugin_pb2 as pb
from awf.plugin.records import NO_DEFAULT
from awf.plugin.results import json_bytes, json_text
from awf.plugin.values import ArgumentError, Event, Issue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.plugin.records import Field
    from awf.plugin.signatures import Operation

__all__ = [
    "emitted_message",
    "event_of",
    "issue_message",
    "json_map",
    "json_object",
    "operation_message",
    "read_map",
]

_SEVERITIES = {"error": pb.ValidationIssue.ERROR, "warning": pb.ValidationIssue.WARNING}


def operation_message(operation: Operation) -> pb.OperationSchema:
    return pb.OperationSchema(
        name=operation.name,
        description=operation.description,
        inputs=[_input_message(field) for field in operation.fields],
        outputs=[
            pb.OutputSchema(name=o.name, type=o.type, description=o.description) for o in operation.outputs
        ],
        read_only=operation.read_only,
    )


def _input_message(field: Field) -> pb.InputSchema:
    # Nothing is said of null here: an input that may be missing is not required.
    form = field.form.inner if isinstance(field.form, Nullable) else field.form
    schema = form.schema()
    return pb.InputSchema(
        name=field.name,
        type=schema["type"],
        required=field.required,
        default="" if field.default is NO_DEFAULT else json_text(field.default),
        description=" ".join(filter(None, (field.description, _in_words(schema)))),
        validation=schema.get("format", ""),
        enum=[json_text(value) for value in schema.get("enum", ())],
        items=json_text(schema["items"]) if "items" in schema else "",
        properties=json_text(schema["properties"]) if "properties" in schema else "",
    )


def _in_words(schema: Mapping[str, Any]) -> str:
    """What an object's form says beyond its properties; the protocol has no field for it."""
    if schema.get("required"):
        return f"Required: {', '.join(schema['required'])}."
    if schema.get("additionalProperties"):
        return f"Each value: {json_text(schema['additionalProperties'])}."
    return ""


def read_map(values: Mapping[str, bytes], what: str) -> dict[str, Any]:
    """Raises `ArgumentError` where a value is not JSON."""
    return {name: _parsed(value, f"{what} '{name}'") for name, value in values.items()}


def json_object(text: bytes, what: str) -> dict[str, Any]:
    value = _parsed(text, what) if text else {}
    if not isinstance(value, dict):
        raise ArgumentError(f"The {what} is not a JSON object.")
    return value


def _parsed(text: bytes, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"The {what} is not JSON: {error}.") from error


def json_map(values: Mapping[str, Any]) -> dict[str, bytes]:
    return {str(name): json_bytes(value) for name, value in values.items()}


def event_of(request: pb.HandleEventRequest) -> Event:
    return Event(
        type=request.type,
        payload=json_object(request.payload, "payload"),
        id=request.id,
        time=request.timestamp_unix_nanos / 1e9,
        source=request.source,
        metadata=dict(request.metadata),
        depth=request.propagation_depth,
    )


def emitted_message(event: Any, what: str) -> pb.EmittedEvent:
    if not isinstance(event, Event):
        raise TypeError(f"{what} gave a {type(event).__name__}; it has to give Event(type, payload).")
    return pb.EmittedEvent(type=event.type, payload=json_bytes(event.payload))


def issue_message(issue: Any, what: str) -> pb.ValidationIssue:
    if not isinstance(issue, Issue):
        raise TypeError(f"{what} gave a {type(issue).__name__}; it has to give Issue(message, ...).")
    if issue.severity not in _SEVERITIES:
        raise ValueError(f"{what} gave the severity '{issue.severity}'; it is error or warning.")
    return pb.ValidationIssue(
        severity=_SEVERITIES[issue.severity], message=issue.message, step=issue.step, field=issue.field
    )
