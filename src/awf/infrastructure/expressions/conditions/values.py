"""Data for the CEL library: plain, and no more of it than a condition uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from awf.infrastructure.expressions.values import MISSING, child

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Need", "need_for", "plain", "taken"]

Need = dict[str, "Need | None"]  # None: all there is from here on
_DEEPEST = 200


def need_for(paths: Iterable[Sequence[str]]) -> Need:
    need: Need = {}
    for path in paths:
        _add(need, path)
    return need


def _add(need: Need, path: Sequence[str]) -> None:
    first, *rest = path
    if not rest:
        need[first] = None
        return
    below = need.setdefault(first, {})
    if below is not None:
        _add(below, rest)


def taken(value: Any, need: Need | None) -> Any:
    """A plain copy of the parts of the value that are needed."""
    if need is None or not isinstance(value, Mapping):
        return plain(value)
    found = {key: (child(value, key), below) for key, below in need.items()}
    return {key: taken(inner, below) for key, (inner, below) in found.items() if inner is not MISSING}


def plain(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ValueError("the data is nested too deeply")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if value is None or isinstance(value, bool | int | float | bytes | datetime | timedelta):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner, depth + 1) for key, inner in value.items()}
    return [plain(item, depth + 1) for item in value] if isinstance(value, Iterable) else str(value)
