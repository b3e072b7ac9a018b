"""Annotations of the domain types → JSON Schema. It accepts what the reader of the files accepts.

The reader takes the text of a scalar where text is wanted, so `version: 1.2` is fine, and it chooses the member of a
union by the form of the node. Both rules are mirrored here.
"""

from __future__ import annotations

import re
import types
import typing
from typing import TYPE_CHECKING, Any, Literal

from awf.application.authoring.file_format import bare_type, is_record, keys_of
from awf.domain.shape import Kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from awf.domain.shape import Record

__all__ = ["NAME_PATTERN", "Json", "SchemaTypes", "closed", "described"]

Json = dict[str, Any]

NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_-]*$"
_TEXT: Json = {"type": ["string", "number", "boolean"]}
_AMOUNT = r"[0-9]+(\.[0-9]+)?"
_KINDS: dict[Kind, Json] = {
    Kind.TEMPLATE: _TEXT,
    Kind.CONDITION: _TEXT,
    Kind.STATE: _TEXT,
    Kind.NAME: {"type": ["string", "boolean"], "pattern": NAME_PATTERN},
    Kind.DURATION: {
        "type": ["string", "number"],
        "pattern": rf"^\s*({_AMOUNT}|({_AMOUNT} *(ms|us|µs|ns|h|m|s|d) *)+)\s*$",
        "minimum": 0,
        "examples": ["500ms", "30s", "5m", "1h30m"],
    },
    Kind.SIZE: {
        "type": ["string", "number"],
        "pattern": rf"^\s*{_AMOUNT}\s*[kKmMgG]?[iI]?[bB]?\s*$",
        "minimum": 0,
        "examples": ["64KiB", "10MB"],
    },
    Kind.VALUE: {},
}
_SIMPLE: dict[Any, Json] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}
_EXACT = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PLACEHOLDER: Json = {"type": "string", "pattern": r"\{\{-?\s*\.?parameters\."}


class SchemaTypes:
    """Schemas of annotations. Records become definitions, collected in `definitions`.

    `in_template`: the file is a step template, where a parameter may stand for any value and any key may be left to
    the state that uses the template.
    """

    def __init__(self, *, in_template: bool = False) -> None:
        self.definitions: dict[str, Json] = {}
        self._in_template = in_template

    def of(self, annotation: Any) -> Json:
        bare, kind = bare_type(annotation)
        if kind is not None:
            return dict(_KINDS[kind])
        origin, arguments = typing.get_origin(bare), typing.get_args(bare)
        if origin in {typing.Union, types.UnionType}:
            return self._union(arguments)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is list:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        return self._reference(bare) if is_record(bare) else dict(_SIMPLE[bare])

    def properties(self, cls: type[Record], *, leave_out: Collection[str] = ()) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key in keys_of(cls):
            if key.key in leave_out:
                continue
            schema = self._or_placeholder(self.of(key.annotation))
            default = {} if key.default is None else {"default": key.default}
            found[key.key] = {"description": key.description, **schema, **default}
        return found

    def required(self, cls: type[Record]) -> list[str]:
        return [] if self._in_template else [key.key for key in keys_of(cls) if key.required]

    def record(self, cls: type[Record]) -> Json:
        return closed(self.properties(cls), self.required(cls), described(cls))

    def define(self, name: str, schema: Json) -> Json:
        self.definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _reference(self, cls: type[Record]) -> Json:
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", cls.__name__).lower()
        if name not in self.definitions:
            self.define(name, self.record(cls))
        return {"$ref": f"#/$defs/{name}"}

    def _union(self, members: tuple[Any, ...]) -> Json:
        """Of several scalars the first takes every value that is not exactly of another's type."""
        parts: list[Json] = []
        scalars = 0
        for member in members:
            bare, _ = bare_type(member)
            if bare in _EXACT:
                scalars += 1
            schema = self.of(member)
            parts.append({"type": _EXACT[bare]} if bare in _EXACT and scalars > 1 else schema)
        return _joined(parts)

    def _or_placeholder(self, schema: Json) -> Json:
        if not self._in_template or not schema or ("string" in _types(schema) and "pattern" not in schema):
            return schema
        return {"anyOf": [schema, _PLACEHOLDER]}


def described(cls: type[Record]) -> str:
    return (cls.__doc__ or "").strip().split("\n", 1)[0]


def closed(properties: dict[str, Json], required: list[str], description: str = "") -> Json:
    """A mapping that takes these keys and no others."""
    schema: Json = {"description": description} if description else {}
    schema |= {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _types(schema: Json) -> list[str]:
    written = schema.get("type", [])
    return [written] if isinstance(written, str) else list(written)


def _joined(parts: list[Json]) -> Json:
    """One flat schema where that says the same: editors show it better than a choice."""
    null: Json = {"type": "null"}
    rest = [part for part in parts if part != null]
    optional = len(rest) < len(parts)
    if len(rest) == 1 and "enum" in rest[0]:
        return {"enum": [*rest[0]["enum"], None]} if optional else rest[0]
    plain = [part for part in rest if set(part) <= {"type"} and part]
    odd = [part for part in rest if part not in plain]
    if len(odd) == 1 and not plain and "type" in odd[0] and "properties" not in odd[0]:
        return {**odd[0], "type": [*_types(odd[0]), *(["null"] if optional else [])]}
    names = list(dict.fromkeys(name for part in plain for name in _types(part)))
    names += ["null"] if optional else []
    flat: list[Json] = [{"type": names if len(names) > 1 else names[0]}] if names else []
    return flat[0] if flat and not odd else {"anyOf": [*odd, *flat]}
