"""Tables, anchors, and types in words."""

from __future__ import annotations

import re
import types
import typing
from typing import TYPE_CHECKING, Any, Literal

from awf.application.authoring.file_format import bare_type, is_record, keys_of
from awf.domain.shape import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from awf.application.authoring.file_format import FileKey
    from awf.domain.shape import Record

__all__ = ["GENERATED", "heading_of", "key_table", "record_section", "records_in", "table", "type_words"]

GENERATED = "<!-- Made by `make docs`. Changes belong into the sources. -->\n"

_KINDS = {
    Kind.TEMPLATE: "[template](#templates)",
    Kind.CONDITION: "[condition](#conditions)",
    Kind.DURATION: "[duration](#durations-and-sizes)",
    Kind.SIZE: "[size](#durations-and-sizes)",
    Kind.STATE: "state",
    Kind.NAME: "name",
    Kind.VALUE: "any value, [templates](#templates) inside",
}
_SIMPLE = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any value"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in lines)


def heading_of(cls: type[Record]) -> str:
    return re.sub(r"(?<!^)([A-Z])", r" \1", cls.__name__).capitalize()


def type_words(annotation: Any) -> str:
    bare, kind = bare_type(annotation)
    if kind is not None:
        return _KINDS[kind]
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin in {typing.Union, types.UnionType}:
        words = [type_words(member) for member in arguments if member is not type(None)]
        return (", or " if any(":" in word for word in words) else " or ").join(words)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin is list:
        return f"list: {type_words(arguments[0])}"
    if origin is dict:
        return f"mapping: name → {type_words(arguments[1])}"
    if is_record(bare):
        title = heading_of(bare)
        return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
    return _SIMPLE[bare]


def key_table(keys: Iterable[FileKey]) -> str:
    rows = [[f"`{key.key}`", type_words(key.annotation), _default(key), key.description] for key in keys]
    return table(["key", "type", "default", "meaning"], rows)


def _default(key: FileKey) -> str:
    if key.required:
        return "**required**"
    if key.default is None:
        return ""
    return f"`{str(key.default).lower() if isinstance(key.default, bool) else key.default}`"


def record_section(cls: type[Record]) -> str:
    return f"### {heading_of(cls)}\n\n{cls.__doc__}\n\n{key_table(keys_of(cls))}\n"


def records_in(annotations: Iterable[Any]) -> list[type[Record]]:
    """The records that types contain, and those that these contain, in the order of reading."""
    found: list[type[Record]] = []
    todo = list(annotations)
    while todo:
        bare, _ = bare_type(todo.pop(0))
        if is_record(bare) and bare not in found:
            found.append(bare)
            todo = [key.annotation for key in keys_of(bare)] + todo
        todo = [*typing.get_args(bare), *todo]
    return found
