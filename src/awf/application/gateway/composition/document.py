"""Reading a JSON Schema: which parts of it speak about one and the same value, and which fields it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.paths import EACH, path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.application.gateway.composition.paths import Path

__all__ = [
    "ANNOTATIONS",
    "MISSING",
    "admits",
    "applied",
    "declarations",
    "fields_at",
    "known_paths",
    "listed",
    "mapped",
    "resolve",
]

MISSING: Any = object()
# Keywords that say nothing about which values are right.
ANNOTATIONS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "format",
    }
    | {"contentEncoding", "contentMediaType", "$schema", "$id", "$anchor", "$defs", "definitions"}
)
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("then", "else", "if", "not")
_FURTHER = frozenset({"$ref", "dependentSchemas", "dependencies", *_LISTS, *_SINGLE})
_DEEPEST = 8
_MOST = 500


def resolve(document: Mapping[str, Any], reference: Any) -> Any:
    """The part of the document that a `$ref` names; MISSING for one that is not in it."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return MISSING
    part: Any = document
    for token in _tokens(reference):
        if isinstance(part, dict) and token in part:
            part = part[token]
        elif isinstance(part, list) and token.isdigit() and int(token) < len(part):
            part = part[int(token)]
        else:
            return MISSING
    return part


def _tokens(reference: str) -> list[str]:
    if "%" in reference:
        from urllib.parse import unquote

        reference = unquote(reference)
    return [token.replace("~1", "/").replace("~0", "~") for token in reference.split("/")[1:]]


def admits(schema: Any, kind: str) -> bool:
    """False where its `type` alone rules out values of this kind."""
    if not isinstance(schema, dict):
        return schema is not False
    wanted = schema.get("type", kind)
    return kind in wanted if isinstance(wanted, list) else wanted == kind


def applied(schema: Any, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and every part of it that speaks about the same value, references followed."""
    waiting, seen = [schema], set[int]()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if part.keys().isdisjoint(_FURTHER):
            continue
        if "$ref" in part:
            waiting.append(resolve(document, part["$ref"]))
        for key in _LISTS:
            waiting += listed(part, key)
        waiting += [part[key] for key in _SINGLE if key in part]
        for key in ("dependentSchemas", "dependencies"):
            waiting += mapped(part, key).values()


def declarations(schema: Any, step: str | None, document: Mapping[str, Any]) -> list[Any]:
    """The schemas of one field, or of the items, wherever the schema declares them."""
    found: list[Any] = []
    for part in applied(schema, document):
        if step is not EACH:
            properties = mapped(part, "properties")
            found += [properties[step]] if step in properties else []
            continue
        for key in ("items", "prefixItems", "additionalItems"):
            if key in part:
                found += part[key] if isinstance(part[key], list) else [part[key]]
    return found


def fields_at(path: Path, document: Mapping[str, Any]) -> list[Any]:
    """The schemas that apply to the value at a path; none where the path leads nowhere."""
    level: list[Any] = [document]
    for step in path:
        level = [found for schema in level for found in declarations(schema, step, document)]
    return level


def known_paths(document: Mapping[str, Any]) -> list[str]:
    """Paths of the declared fields, for suggestions: a recursive schema has no end of them, so not all."""
    found: dict[str, None] = {}
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting and len(found) < _MOST:
        path, schema = waiting.pop(0)
        if path:
            found[path_text(path)] = None
        if len(path) < _DEEPEST:
            waiting += [((*path, step), part) for step, part in _steps(schema, document)]
    return list(found)


def _steps(schema: Any, document: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    for part in applied(schema, document):
        yield from mapped(part, "properties").items()
        if isinstance(part.get("items"), dict):
            yield EACH, part["items"]


def listed(part: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a keyword; none where a server wrote something else."""
    value = part.get(key)
    return value if isinstance(value, list) else []


def mapped(part: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The mapping under a keyword; none where a server wrote something else."""
    value = part.get(key)
    return value if isinstance(value, dict) else {}
