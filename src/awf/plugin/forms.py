"""Forms of values: each can tell its JSON Schema and read a JSON value into what the author's function expects.

Templates in workflows often give text, so a number or a truth value is also taken from a text that says it exactly.
Nothing else is guessed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from awf.plugin.formats import format_problem
from awf.plugin.values import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Anything",
    "Choice",
    "Flag",
    "Form",
    "ListOf",
    "MapOf",
    "Nullable",
    "Number",
    "Text",
    "Whole",
    "described",
    "wrong",
]


class Form(Protocol):
    def schema(self) -> dict[str, Any]: ...

    def read(self, value: Any, place: str) -> Any:
        """The value as the function wants it. Raises `ArgumentError` that names the place."""
        ...


def described(value: Any) -> str:
    """A value in an error text: its JSON, cut short."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def wrong(place: str, expected: str, value: Any) -> ArgumentError:
    return ArgumentError(f"{place}: expected {expected}, got {described(value)}")


@dataclass(frozen=True)
class Text:
    format: str = ""
    make: Callable[[str], Any] = str

    def schema(self) -> dict[str, Any]:
        return {"type": "string", **({"format": self.format} if self.format else {})}

    def read(self, value: Any, place: str) -> Any:
        if not isinstance(value, str):
            raise wrong(place, "a string", value)
        problem = format_problem(self.format, value)
        if problem:
            raise wrong(place, problem, value)
        return self.make(value)


@dataclass(frozen=True)
class Whole:
    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def read(self, value: Any, place: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and value.strip().lstrip("+-").isdecimal():
            try:
                return int(value)
            except ValueError:  # "+-1", or more digits than Python reads
                raise wrong(place, "an integer", value) from None
        raise wrong(place, "an integer", value)


@dataclass(frozen=True)
class Number:
    def schema(self) -> dict[str, Any]:
        return {"type": "number"}

    def read(self, value: Any, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise wrong(place, "a number", value)
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise wrong(place, "a number", value) from None
        if not math.isfinite(number):
            raise wrong(place, "a finite number", value)
        return number


@dataclass(frozen=True)
class Flag:
    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def read(self, value: Any, place: str) -> bool:
        if isinstance(value, bool):
            return value
        said = value.strip().lower() if isinstance(value, str) else ""
        if said in {"true", "false"}:
            return said == "true"
        raise wrong(place, "true or false", value)


@dataclass(frozen=True)
class Anything:
    def schema(self) -> dict[str, Any]:
        return {}

    def read(self, value: Any, place: str) -> Any:  # noqa: ARG002
        return value


@dataclass(frozen=True)
class Choice:
    """One of a few values of one kind; `members` are what the function gets for each."""

    kind: Form
    values: tuple[Any, ...]
    members: tuple[Any, ...]

    def schema(self) -> dict[str, Any]:
        return {**self.kind.schema(), "enum": list(self.values)}

    def read(self, value: Any, place: str) -> Any:
        expected = f"one of {', '.join(described(known) for known in self.values)}"
        try:
            plain = self.kind.read(value, place)
        except ArgumentError:
            raise wrong(place, expected, value) from None
        if plain not in self.values:
            raise wrong(place, expected, value)
        return self.members[self.values.index(plain)]


@dataclass(frozen=True)
class ListOf:
    item: Form
    make: Callable[[list[Any]], Any] = list

    def schema(self) -> dict[str, Any]:
        items = self.item.schema()
        return {"type": "array", **({"items": items} if items else {})}

    def read(self, value: Any, place: str) -> Any:
        if not isinstance(value, list):
            raise wrong(place, "a list", value)
        return self.make([self.item.read(item, f"{place}[{number}]") for number, item in enumerate(value)])


@dataclass(frozen=True)
class MapOf:
    item: Form

    def schema(self) -> dict[str, Any]:
        items = self.item.schema()
        return {"type": "object", **({"additionalProperties": items} if items else {})}

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong(place, "an object", value)
        return {key: self.item.read(item, f"{place}.{key}") for key, item in value.items()}


@dataclass(frozen=True)
class Nullable:
    """The value or nothing. A plugin's own inputs have no null in their schema: there it means "left out"."""

    inner: Form

    def schema(self) -> dict[str, Any]:
        schema = self.inner.schema()
        if "type" in schema:
            schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
        return schema

    def read(self, value: Any, place: str) -> Any:
        return None if value is None else self.inner.read(value, place)
