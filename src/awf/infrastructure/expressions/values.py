"""How values are reached and how they look as text. Templates and conditions agree on this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from awf.domain.ports.expressions import ExpressionError
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MISSING", "Part", "child", "dotted", "follow", "json_text", "not_defined", "shown"]

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


def not_defined(parts: Sequence[Part], context: Any, offset: int, *, remedy: str) -> ExpressionError:
    """The error for a path that leads nowhere, with whatever helps to find the right one."""
    value, known = context, 0
    while known < len(parts) and (below := child(value, parts[known])) is not MISSING:
        value, known = below, known + 1
    hints = [_near_miss(value, parts, known), _early_end(parts, known), _minus(parts), remedy]
    return ExpressionError(
        f"{dotted(parts)} is not defined", offset=offset, hint=" ".join(filter(None, hints))
    )


def _near_miss(value: Any, parts: Sequence[Part], known: int) -> str:
    if known >= len(parts) or not isinstance(value, Mapping):
        return ""
    meant = suggest(str(parts[known]), [key for key in value if isinstance(key, str)])
    return f"Did you mean {dotted((*parts[:known], meant, *parts[known + 1 :]))}?" if meant else ""


def _early_end(parts: Sequence[Part], known: int) -> str:
    return f"There is no {dotted(parts[: known + 1])}." if 0 < known < len(parts) - 1 else ""


def _minus(parts: Sequence[Part]) -> str:
    joined = any(isinstance(part, str) and "-" in part for part in parts)
    return "To subtract, put spaces around the minus." if joined else ""
