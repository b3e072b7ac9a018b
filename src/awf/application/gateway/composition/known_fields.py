"""Which fields a schema knows, and what to say about one that it does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import (
    MISSING,
    applied,
    fields_at,
    known_paths,
    listed,
    mapped,
    resolve,
)
from awf.application.gateway.composition.problem import invalid_override, unknown_field
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gateway.composition.paths import Path
    from awf.application.gateway.composition.problem import CompositionProblem

__all__ = ["matching_patterns", "mentioned_names", "unknown"]

_SHOWN = 12


def unknown(
    origin: str, text: str, path: Path, document: Mapping[str, Any], *, is_value: bool = False
) -> CompositionProblem | None:
    """The problem with a path that leads to no field. A value may also be sent to an object that is open on purpose."""
    if fields_at(path, document) or (is_value and _takes_more(path, document)):
        return None
    outside = _reference_outside(path, document)
    if outside:
        message = f"“{text}” cannot be found: the schema on the way refers to {outside}, outside of the tool."
        return invalid_override(origin, message, "Only fields that the tool itself declares can be changed.")
    known = known_paths(document)
    close = suggest(text, known)
    hint = f"did you mean '{close}'?" if close else _list_of(known)
    return unknown_field(origin, f"The tool has no field “{text}”.", hint)


def _list_of(known: list[str]) -> str:
    if not known:
        return "It takes no arguments that its schema names."
    more = ", …" if len(known) > _SHOWN else "."
    return f"Its fields: {', '.join(known[:_SHOWN])}{more}"


def _takes_more(path: Path, document: Mapping[str, Any]) -> bool:
    """Only where the schema says so: most leave it open by saying nothing, and then a name is rather a slip."""
    name = path[-1] or ""
    return any(
        part.get("additionalProperties", False) is not False or matching_patterns(part, name)
        for parent in fields_at(path[:-1], document)
        for part in applied(parent, document)
    )


def matching_patterns(part: Mapping[str, Any], name: str) -> list[Any]:
    """The schemas of the patterns that a name matches; one that cannot be read counts as matching."""
    return [
        schema for pattern, schema in mapped(part, "patternProperties").items() if _matches(pattern, name)
    ]


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True


def _reference_outside(path: Path, document: Mapping[str, Any]) -> str:
    for length in range(len(path)):
        for parent in fields_at(path[:length], document):
            for part in applied(parent, document):
                if "$ref" in part and resolve(document, part["$ref"]) is MISSING:
                    return str(part["$ref"])
    return ""


def mentioned_names(path: Path, document: Mapping[str, Any]) -> set[str]:
    """Every name that the schema uses for a field of the object at a path."""
    names: set[str] = set()
    for parent in fields_at(path, document):
        for part in applied(parent, document):
            names.update(mapped(part, "properties"))
            names.update(name for name in listed(part, "required") if isinstance(name, str))
            for key in ("dependentRequired", "dependencies", "dependentSchemas"):
                names.update(mapped(part, key))
                for others in mapped(part, key).values():
                    names.update(others if isinstance(others, list) else ())
    return names
