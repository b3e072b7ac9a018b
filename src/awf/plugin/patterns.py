"""Patterns of event types: `step.failed`, `workflow.*` (one part), `*` (everything)."""

from __future__ import annotations

import re

__all__ = ["fits", "is_pattern"]

_PATTERN = re.compile(r"(?:\*|[\w-]+)(?:\.(?:\*|[\w-]+))*")


def fits(pattern: str, event_type: str) -> bool:
    if pattern == "*":
        return True
    wanted, parts = pattern.split("."), event_type.split(".")
    return len(wanted) == len(parts) and all(w in ("*", p) for w, p in zip(wanted, parts, strict=True))


def is_pattern(pattern: object) -> bool:
    return isinstance(pattern, str) and bool(_PATTERN.fullmatch(pattern))
