"""How values are reached and how they look as text. Templates and conditions agree on this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["MISSING", "Part", "child", "dotted", "follow", "json_text", "shown", "steps"]

Part = str | int
MISSING: Final = object()


def child(value: Any, part: Part) -> Any:
    """One step down: a key of a mapping, or an index of a list or text. Never an attribute of the object."""
    try:
        if type(value) is dict or isinstance(value, Mapping):
            return _entry(value, part)
        if isinstance(part, int) and isinstance(value, list | tuple | str):
            return value[part]
    except LookupError:
        pass
    return MISSING


def _entry(value: Mapping[Any, Any], part: Part) -> Any:
    if isinstance(part, str):
        return value[part]
    try:
        return value[str(part)]
    except KeyError:
        return value[part]


def follow(value: Any, parts: Iterable[Part]) -> Any:
    for part in parts:
        value = child(value, part)
        if value is MISSING:
            return MISSING
    return value


def steps(names: Iterable[str]) -> list[Part]:
    """The way along a reference, whose parts are all text: digits are indexes."""
    return [int(name) if name.isascii() and name.isdigit() and len(name) < 19 else name for name in names]


def shown(value: Any) -> str:
    """The text of a value inside a template."""
    if isinstance(value, str):
        return value if type(value) is str else str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes are not text")
    return json_text(value) if isinstance(value, Iterable) else str(value)


def json_text(value: Any, indent: int | None = None) -> str:
    import json

    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent, default=_as_json)


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes are not text")
    return list(value) if isinstance(value, Iterable) else str(value)


def dotted(parts: Iterable[Part]) -> str:
    return ".".join(map(str, parts))
