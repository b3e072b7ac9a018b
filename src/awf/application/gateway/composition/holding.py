"""Whether a value is right under a schema, as far as that can be said with certainty: yes, no, or unknown (None).

A library could say more, but not "I do not know", which is what a proof needs: a text with a reference in it, such
as `${env:USER}`, has its value only when a call is made.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import ANNOTATIONS, MISSING, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["depends_on_the_call", "holds", "same"]

Verdict = bool | None

_DEEPEST = 32
_STEPS = 5000  # references may multiply a small schema into a huge one
_ALSO_IGNORED = frozenset({"then", "else", "minContains", "maxContains", "contentSchema"})
_OF_OBJECTS = frozenset(
    {"properties", "required", "additionalProperties", "minProperties", "maxProperties", "dependentRequired"}
    | {"dependentSchemas", "patternProperties", "propertyNames"}
)
_OF_ARRAYS = frozenset({"items", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains"})
_OF_NUMBERS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
}


def depends_on_the_call(value: Any) -> bool:
    """Whether there is a reference in it."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, dict):
        return any(map(depends_on_the_call, value.values()))
    return isinstance(value, list) and any(map(depends_on_the_call, value))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def holds(schema: Any, value: Any, document: Mapping[str, Any]) -> Verdict:
    return _Judge(document).holds(schema, value, 0)


class _Judge:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._steps = _STEPS

    def holds(self, schema: Any, value: Any, depth: int) -> Verdict:
        self._steps -= 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict) or depth > _DEEPEST or self._steps < 0:
            return None
        return _all(self._keyword(key, schema, value, depth + 1) for key in schema if key not in ANNOTATIONS)

    def _keyword(self, key: str, schema: dict[str, Any], value: Any, depth: int) -> Verdict:
        try:
            return self._certain_keyword(key, schema, value, depth)
        except (TypeError, ValueError, AttributeError, re.error):
            return None  # a keyword that makes no sense proves nothing

    def _certain_keyword(self, key: str, schema: dict[str, Any], value: Any, depth: int) -> Verdict:
        wanted = schema[key]
        if key in _ALSO_IGNORED or key.startswith("x-"):
            return True
        if key == "$ref":
            target = resolve(self._document, wanted)
            return None if target is MISSING else self.holds(target, value, depth)
        if key == "not":
            return _not(self.holds(wanted, value, depth))
        if key in {"allOf", "anyOf", "oneOf"}:
            verdicts = [self.holds(part, value, depth) for part in wanted]
            return {"allOf": _all, "anyOf": _any, "oneOf": _one}[key](verdicts)
        if key == "if":
            return self._if(schema, value, depth)
        if isinstance(value, str) and "${" in value:
            return _reference(key, wanted)
        if isinstance(value, dict) and key in _OF_OBJECTS:
            return self._members(key, schema, value, depth)
        if isinstance(value, list) and key in {"items", "minItems", "maxItems"}:
            return self._entries(key, schema, value, depth)
        return _simple(key, wanted, value)

    def _if(self, schema: dict[str, Any], value: Any, depth: int) -> Verdict:
        met = self.holds(schema["if"], value, depth)
        ways = [self.holds(schema.get(key, True), value, depth) for key in ("then", "else")]
        if met is None:
            return ways[0] if ways[0] is ways[1] else None
        return ways[0] if met else ways[1]

    def _members(self, key: str, schema: dict[str, Any], value: dict[str, Any], depth: int) -> Verdict:
        wanted = schema[key]
        if key == "required":
            return all(name in value for name in wanted)
        if key in {"minProperties", "maxProperties"}:
            return _counts(key, len(value), wanted)
        if key == "properties":
            return _all(self.holds(wanted[name], value[name], depth) for name in value if name in wanted)
        if key == "propertyNames":
            return _all(self.holds(wanted, name, depth) for name in value)
        if key == "dependentRequired":
            return all(other in value for name in value for other in wanted.get(name, ()))
        if key == "dependentSchemas":
            return _all(self.holds(wanted[name], value, depth) for name in value if name in wanted)
        return self._by_pattern(key, schema, value, depth)

    def _by_pattern(self, key: str, schema: dict[str, Any], value: dict[str, Any], depth: int) -> Verdict:
        declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        matches = {name: [p for p in patterns if re.search(p, name)] for name in value}
        if key == "patternProperties":
            return _all(self.holds(patterns[p], value[name], depth) for name in value for p in matches[name])
        others = [name for name in value if name not in declared and not matches[name]]
        return _all(self.holds(schema[key], value[name], depth) for name in others)

    def _entries(self, key: str, schema: dict[str, Any], value: list[Any], depth: int) -> Verdict:
        if key in {"minItems", "maxItems"}:
            return _counts(key, len(value), schema[key])
        if "prefixItems" in schema:
            return None
        return _all(self.holds(schema[key], item, depth) for item in value)


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    sure = True
    for verdict in verdicts:
        if verdict is False:
            return False
        sure = sure and verdict is True
    return True if sure else None


def _any(verdicts: Iterable[Verdict]) -> Verdict:
    return _not(_all(_not(verdict) for verdict in verdicts))


def _not(verdict: Verdict) -> Verdict:
    return None if verdict is None else not verdict


def _one(verdicts: list[Verdict]) -> Verdict:
    if verdicts.count(True) > 1:
        return False
    return None if None in verdicts else verdicts.count(True) == 1


def _reference(key: str, wanted: Any) -> Verdict:
    """A reference stands for a text, and for nothing more that could be known."""
    if key == "type":
        return True if "string" in _listed(wanted) else None
    return True if key in _OF_OBJECTS | _OF_ARRAYS | _OF_NUMBERS.keys() else None


def _simple(key: str, wanted: Any, value: Any) -> Verdict:
    if key == "type":
        return any(_is_of(kind, value) for kind in _listed(wanted))
    if key == "const":
        return None if depends_on_the_call(value) else same(wanted, value)
    if key == "enum":
        return None if depends_on_the_call(value) else any(same(item, value) for item in _listed(wanted))
    if key in _OF_NUMBERS:
        return _OF_NUMBERS[key](value, wanted) if _is_of("number", value) else True
    if key in {"minLength", "maxLength"}:
        return _counts(key, len(value), wanted) if isinstance(value, str) else True
    if key == "pattern":
        return re.search(wanted, value) is not None if isinstance(value, str) else True
    return True if key in _OF_OBJECTS or (key in _OF_ARRAYS and not isinstance(value, list)) else None


def _is_of(kind: Any, value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return bool(kind == ("null" if value is None else "boolean"))
    if isinstance(value, int | float):
        return kind == "number" or (kind == "integer" and float(value).is_integer())
    return isinstance(value, {"object": dict, "array": list, "string": str}.get(kind, ()))


def _counts(key: str, count: int, limit: float) -> bool:
    return count >= limit if key.startswith("min") else count <= limit


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
