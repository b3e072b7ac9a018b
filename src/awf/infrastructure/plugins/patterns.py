"""Event types and the patterns that choose among them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_event_type", "is_pattern", "matches_any"]

_PART = r"[A-Za-z0-9_-]+"
_TYPE = re.compile(rf"{_PART}(?:\.{_PART})*")
_PATTERN = re.compile(rf"(?:\*|{_PART})(?:\.(?:\*|{_PART}))*")


def is_pattern(text: str) -> bool:
    return _PATTERN.fullmatch(text) is not None


def is_event_type(text: str) -> bool:
    return _TYPE.fullmatch(text) is not None


def matches_any(patterns: Iterable[str], event_type: str) -> bool:
    """`*` alone takes every type; as a part among others it stands for exactly one part."""
    parts = event_type.split(".")
    return any(pattern == "*" or _same(pattern.split("."), parts) for pattern in patterns)


def _same(pattern: list[str], parts: list[str]) -> bool:
    return len(pattern) == len(parts) and all(
        wanted in {"*", part} for wanted, part in zip(pattern, parts, strict=True)
    )
