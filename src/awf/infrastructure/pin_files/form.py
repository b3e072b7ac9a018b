"""Pins as text, and back.

One line for each tool, in the order of their ids, so that version control shows which ones changed. The text is pure
ASCII: servers may send lone surrogates, which no encoding carries.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.pinning import Pin

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FormError", "decoded", "encoded"]

_FORM = 1


class FormError(ValueError):
    """The text holds no pins that this version can read."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def encoded(pins: Mapping[str, Pin]) -> bytes:
    try:
        lines = [f"{json.dumps(tool_id)}:{_line(pins[tool_id])}" for tool_id in sorted(pins)]
    except RecursionError as error:
        raise FormError("a definition is nested too deeply") from error
    body = ",\n".join(lines)
    return f'{{"form":{_FORM},"pins":{{\n{body}\n}}}}\n'.encode("ascii")


def _line(pin: Pin) -> str:
    kept = {"fingerprint": pin.fingerprint, "first_seen": pin.first_seen, "definition": pin.definition}
    return json.dumps(kept, separators=(",", ":"))


def decoded(data: bytes) -> dict[str, Pin]:
    value = _parsed(data)
    form = value.get("form") if isinstance(value, dict) else None
    if type(form) is not int:
        raise FormError("it holds something else than pins")
    if form > _FORM:
        raise FormError(f"it has form {form}, which a newer version has written; this one knows {_FORM}")
    pins = value.get("pins")
    if not isinstance(pins, dict):
        raise FormError("`pins` is missing or no object")
    return {tool_id: _pin(tool_id, one) for tool_id, one in pins.items()}


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise FormError(f"not valid JSON: {error.msg}", error.lineno, error.colno) from error
    except UnicodeDecodeError as error:
        raise FormError("it is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise FormError("it holds no JSON that can be read") from error


def _pin(tool_id: str, value: object) -> Pin:
    if not isinstance(value, dict):
        raise FormError(f"the pin of {tool_id!r} is no object")
    try:
        return msgspec.convert({**value, "id": tool_id}, Pin)
    except msgspec.ValidationError as error:
        raise FormError(f"the pin of {tool_id!r} is broken: {error}") from error
