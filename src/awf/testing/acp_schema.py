"""The official ACP schema as validators: one for each message an agent may write.

The schema lets every object carry further keys. The specification does not: what is one's own belongs under `_meta`. So
each place where a new value begins is closed here, after everything that describes the value has had its say.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["AgentSchema", "WireError", "agent_schema"]

_DESCRIBING = {"$ref", "allOf", "anyOf", "oneOf", "properties"}
_OPEN = {"additionalProperties", "unevaluatedProperties"}


class WireError(AssertionError):
    """A frame that the protocol does not allow."""


class AgentSchema:
    """Judges what an agent writes: results, requests and notifications, each by its method."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = _with_described_closed(schema)
        named = schema["$defs"].items()
        self._results = _by_method(named, "Response", {"agent"})
        self.requests = _by_method(named, "Request", {"client"})
        self.notifications = _by_method(named, "Notification", {"client", "protocol"})
        self._updates = {
            variant["properties"]["sessionUpdate"]["const"]: variant
            for variant in self._schema["$defs"]["SessionUpdate"]["oneOf"]
        }
        self._validators: dict[str, Any] = {}

    def judge_result(self, method: str, result: Any) -> None:
        if method not in self._results:
            raise WireError(f"a result for {method}, which the protocol does not have: {_short(result)}")
        self._judge(self._results[method], result)

    def judge_request(self, method: str, params: Any) -> None:
        if method not in self.requests:
            raise WireError(f"the protocol has no request {method} to a client")
        self._judge(self.requests[method], params)

    def judge_notification(self, method: str, params: Any) -> None:
        if method not in self.notifications:
            raise WireError(f"the protocol has no notification {method} to a client")
        if method == "session/update" and isinstance(params, dict):
            self._judge_update(params.get("update"))
        self._judge(self.notifications[method], params)

    def judge_error(self, error: Any) -> None:
        self._judge("Error", error)

    def _judge_update(self, update: Any) -> None:
        """By its kind first: that a value fits none of fourteen kinds says little about what is wrong with it."""
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        if kind not in self._updates:
            raise WireError(f"no kind of update: {_short(update)}")
        self._judge(f"update {kind}", update, self._updates[kind])

    def _judge(self, name: str, value: Any, schema: dict[str, Any] | None = None) -> None:
        validator = self._validators.get(name)
        if validator is None:
            whole = {
                "$schema": self._schema["$schema"],
                **_closed(schema or {"$ref": f"#/$defs/{name}"}),
                "$defs": self._schema["$defs"],
            }
            validator = self._validators[name] = jsonschema_rs.validator_for(whole)
        for error in validator.iter_errors(value):
            place = "/".join(str(part) for part in error.instance_path)
            raise WireError(f"{name}{' at ' + place if place else ''}: {error.message} in {_short(value)}")


@functools.cache
def agent_schema(folder: Path) -> AgentSchema:
    """The one in this folder; read and prepared once, since many connections are judged by it."""
    return AgentSchema(json.loads((folder / "schema.json").read_text(encoding="utf-8")))


def _by_method(definitions: Any, ending: str, sides: set[str]) -> dict[str, str]:
    return {
        definition["x-method"]: name
        for name, definition in definitions
        if name.endswith(ending) and definition.get("x-side") in sides
    }


def _with_described_closed(node: Any) -> Any:
    """The same schema with every value closed that begins inside of it: of a key, of a list."""
    if isinstance(node, list):
        return [_with_described_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {key: _inside(key, value) for key, value in node.items()}


def _inside(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: _closed(_with_described_closed(each)) for name, each in value.items()}
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return _closed(_with_described_closed(value))
    if key == "$defs":
        return {name: _with_described_closed(each) for name, each in value.items()}
    if key in {"allOf", "anyOf", "oneOf"}:
        return _with_described_closed(value)
    return value


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.keys() & _DESCRIBING and not schema.keys() & _OPEN:
        return {**schema, "unevaluatedProperties": False}
    return schema


def _short(value: Any) -> str:
    return json.dumps(value)[:500]
