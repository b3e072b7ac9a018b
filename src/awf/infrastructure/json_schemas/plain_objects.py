"""Most tools take a flat object of texts and numbers. Whether such a one fits needs no validator.

What is said to fit does fit. Whatever else a schema says, and any value that is not sure to fit, is left to the validator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["plain_objects"]

_SAYS_NOTHING = frozenset({"title", "description", "default", "examples"})
_DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
_OF_OBJECTS = _SAYS_NOTHING | {"$schema", "type", "properties", "required", "additionalProperties"}
_OF_VALUES = _SAYS_NOTHING | {"type"}
_KINDS: Mapping[object, frozenset[type]] = {
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
}
_ANY: frozenset[type] = frozenset()


def plain_objects(schema: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    """Says of a value whether it surely fits. None: the schema is not so plain."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    more = schema.get("additionalProperties", True)
    if (
        schema.get("type") != "object"
        or not schema.keys() <= _OF_OBJECTS
        or schema.get("$schema", next(iter(_DIALECTS))) not in _DIALECTS
        or not isinstance(properties, dict)
        or not (isinstance(required, list) and all(isinstance(name, str) for name in required))
        or not isinstance(more, bool)
    ):
        return None
    known: dict[str, frozenset[type]] = {}
    for name, one in properties.items():
        kinds = _kinds(one)
        if kinds is None:
            return None
        known[name] = kinds
    return _check(known, tuple(required), _ANY if more else None)


def _kinds(schema: Any) -> frozenset[type] | None:
    if not isinstance(schema, dict) or not schema.keys() <= _OF_VALUES:
        return None
    said = schema.get("type")
    return _KINDS.get(said) if isinstance(said, str) else (_ANY if said is None else None)


def _check(
    known: Mapping[str, frozenset[type]], required: tuple[str, ...], others: frozenset[type] | None
) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name in required:
            if name not in value:
                return False
        for name, one in value.items():
            kinds = known.get(name, others)
            if kinds is None or (kinds and type(one) not in kinds):
                return False
        return True

    return fits
