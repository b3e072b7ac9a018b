"""The vocabulary in which file formats are declared.

A field's annotation says everything once: the reader takes its checks from it, `awf schema` its JSON Schema and the
reference page its text. ``Annotated[Template, "what it is for"]`` is a string that may hold placeholders.
"""

import enum
from typing import Annotated, Any

import msgspec

__all__ = [
    "CONDITION",
    "DURATION",
    "NAME",
    "SIZE",
    "STATE",
    "TEMPLATE",
    "VALUE",
    "Condition",
    "Duration",
    "Kind",
    "Name",
    "Record",
    "Size",
    "StateName",
    "Template",
    "Value",
    "renamed_fields",
]


class Kind(enum.Enum):
    TEMPLATE = "template"
    CONDITION = "condition"
    DURATION = "duration"
    SIZE = "size"
    STATE = "state"
    NAME = "name"
    VALUE = "value"


TEMPLATE, CONDITION, DURATION, SIZE, STATE, NAME, VALUE = Kind

Template = Annotated[str, TEMPLATE]  # text with {{ placeholders }}
Condition = Annotated[str, CONDITION]  # a CEL expression
Duration = Annotated[float, DURATION]  # seconds; written 500ms, 30s, 5m, 1h30m or a number of seconds
Size = Annotated[int, SIZE]  # bytes; written 64KiB, 10MB or a number of bytes
StateName = Annotated[str, STATE]  # the name of a state in the same workflow
Name = Annotated[str, NAME]  # an identifier: letters, digits, _ and -
Value = Annotated[Any, VALUE]  # any YAML value; strings inside may hold placeholders


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value read from a file: immutable, every field declared."""


def renamed_fields(cls: type[Record]) -> dict[str, str]:
    """Field → key in the file, where they differ: the class says it in `keys`. A record may have a field of that name instead."""
    declared: Any = getattr(cls, "keys", None)
    return declared if isinstance(declared, dict) else {}
