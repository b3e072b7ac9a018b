"""Small operations on schemas: what one says at the least, what is left of it, and two of them in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import ANNOTATIONS, admits, listed, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["accepts", "conjuncts", "is_trivial", "merged", "without_objects"]

_KINDS = ("array", "string", "number", "boolean", "null")
_ABOUT_OBJECTS = frozenset(
    {
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "dependentRequired",
    }
    | {"dependentSchemas", "dependencies", "minProperties", "maxProperties", "unevaluatedProperties"}
)
_OF_THE_DOCUMENT = frozenset({"$schema", "$id", "$defs", "definitions"})
# Keywords that read each other: a group may not be spread over two schemas, nor put together from two.
_GROUPS = (
    {"properties", "patternProperties", "additionalProperties"},
    {"items", "prefixItems", "additionalItems"},
    {"if", "then", "else"},
    {"contains", "minContains", "maxContains"},
)


def conjuncts(schema: Any, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and the parts of it that hold for every value it accepts."""
    waiting, seen = [schema], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += [resolve(document, part.get("$ref")), *listed(part, "allOf")]


def accepts(schema: Any, kind: str, document: Mapping[str, Any]) -> bool:
    """False where types alone rule out values of this kind."""
    return schema is not False and all(admits(part, kind) for part in conjuncts(schema, document))


def without_objects(schema: Any, document: Mapping[str, Any]) -> Any:
    """The schema for values that are no objects; False when there are none."""
    if not isinstance(schema, dict):
        schema = {}
    kinds = [kind for kind in _KINDS if accepts(schema, kind, document)]
    if not kinds and not accepts(schema, "integer", document):
        return False
    named = schema.get("type", kinds)
    rest = {key: value for key, value in schema.items() if key not in _ABOUT_OBJECTS}
    return {
        **rest,
        "type": [kind for kind in (named if isinstance(named, list) else [named]) if kind != "object"],
    }


def is_trivial(schema: Any) -> bool:
    """Whether every object is right under it, plainly."""
    if isinstance(schema, bool):
        return schema
    return all(
        key in ANNOTATIONS
        or (key == "type" and admits(schema, "object"))
        or (key in {"properties", "required"} and not value)
        for key, value in schema.items()
    )


def merged(target: dict[str, Any], siblings: dict[str, Any], *, is_document: bool) -> dict[str, Any]:
    """What stood behind a `$ref` in the place of it, beside the keywords that stood there already."""
    if is_document:
        target = {key: value for key, value in target.items() if key not in _OF_THE_DOCUMENT}
    if _fit(target, siblings):
        return {**target, **siblings}
    return {**siblings, "allOf": [*listed(siblings, "allOf"), target]}


def _fit(target: dict[str, Any], siblings: dict[str, Any]) -> bool:
    if any(key.startswith("unevaluated") for key in target):
        return False
    if any(
        key not in ANNOTATIONS and target[key] != siblings[key] for key in target.keys() & siblings.keys()
    ):
        return False
    return not any(group & target.keys() and group & siblings.keys() for group in _GROUPS)
