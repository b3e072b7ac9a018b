"""A file format as data: every key with its type, its text and its default. Schemas and reference pages come from it."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import msgspec

from awf.domain.shape import Kind, Record, renamed_fields

__all__ = ["FileKey", "bare_type", "default_text", "is_record", "keys_of"]

_DURATION_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s"), (0.001, "ms"))
_SIZE_UNITS = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


class FileKey(NamedTuple):
    """One key of a record, as it is written in the file."""

    key: str
    annotation: Any
    description: str
    required: bool
    default: Any  # as it would be written; None where there is nothing to tell


def keys_of(cls: type[Record]) -> list[FileKey]:
    renamed = renamed_fields(cls)
    hints = typing.get_type_hints(cls, include_extras=True)
    return [
        FileKey(
            renamed.get(field.name, field.name),
            hints[field.name],
            _description(hints[field.name]),
            field.required,
            _default(field, hints[field.name]),
        )
        for field in msgspec.structs.fields(cls)
    ]


def bare_type(annotation: Any) -> tuple[Any, Kind | None]:
    """The type below its marks, and what kind of text it is if it is one of ours."""
    kind: Kind | None = None
    while typing.get_origin(annotation) is typing.Annotated:
        annotation, *marks = typing.get_args(annotation)
        kind = kind or next((mark for mark in marks if isinstance(mark, Kind)), None)
    return annotation, kind


def is_record(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Record)


def _description(annotation: Any) -> str:
    marks = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is typing.Annotated else ()
    return next((mark for mark in marks if isinstance(mark, str)), "")


def _default(field: msgspec.structs.FieldInfo, annotation: Any) -> Any:
    value = field.default
    if value is msgspec.NODEFAULT or value is None or value == "" or isinstance(value, Record):
        return None  # made by a factory (always empty), or nothing a person would write
    _, kind = bare_type(annotation)
    return default_text(kind, value)


def default_text(kind: Kind | None, value: Any) -> Any:
    """Durations and sizes in their notation; other values as they are."""
    if kind is Kind.DURATION:
        return next((f"{value / unit:g}{name}" for unit, name in _DURATION_UNITS if value >= unit), "0s")
    if kind is Kind.SIZE:
        return next((f"{value // unit}{name}" for unit, name in _SIZE_UNITS if value % unit == 0), value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
