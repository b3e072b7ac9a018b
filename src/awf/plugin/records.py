"""Objects with known fields: dataclasses and TypedDicts as forms."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from awf.plugin.forms import wrong
from awf.plugin.values import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.plugin.forms import Form

__all__ = ["NO_DEFAULT", "Field", "Record", "read_fields"]

NO_DEFAULT: Any = object()


@dataclass(frozen=True)
class Field:
    """A parameter of a function, or a field of an object."""

    name: str
    form: Form
    required: bool = True
    default: Any = NO_DEFAULT  # as JSON; only told, since the function or class fills it in itself
    description: str = ""
    none_when_missing: bool = False  # for a parameter that may be left out and has no default of its own

    def schema(self) -> dict[str, Any]:
        told = {} if self.default is NO_DEFAULT else {"default": self.default}
        return {
            **self.form.schema(),
            **told,
            **({"description": self.description} if self.description else {}),
        }


@dataclass(frozen=True)
class Record:
    fields: tuple[Field, ...]
    make: Callable[..., Any]

    def schema(self) -> dict[str, Any]:
        required = [field.name for field in self.fields if field.required]
        return {
            "type": "object",
            "properties": {field.name: field.schema() for field in self.fields},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def read(self, value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise wrong(place, "an object", value)
        return self.make(**read_fields(self.fields, value, f"{place}."))


def read_fields(fields: tuple[Field, ...], values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values by name, as the function wants them. Raises one `ArgumentError` that names everything wrong."""
    known = {field.name: field for field in fields}
    problems = [_unknown(f"{prefix}{name}", name, known) for name in values if name not in known]
    found: dict[str, Any] = {}
    for field in fields:
        if field.name in values:
            try:
                found[field.name] = field.form.read(values[field.name], f"{prefix}{field.name}")
            except ArgumentError as error:
                problems.append(error.message)
        elif field.required:
            problems.append(f"{prefix}{field.name} is missing")
        elif field.none_when_missing:
            found[field.name] = None
    if problems:
        raise ArgumentError("; ".join(problems))
    return found


def _unknown(place: str, name: str, known: Mapping[str, Field]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"{place} is not known; did you mean {close[0]}?"
    return f"{place} is not known; " + (f"known: {', '.join(known)}" if known else "nothing is expected here")
