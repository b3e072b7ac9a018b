"""A line of a program's output as an event. Programs print other things, too, and none of it may do harm."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["event_of"]


def event_of(line: bytes) -> dict[str, Any] | None:
    """None for what is no JSON object. Broken characters are replaced: they must not cost the event they are in."""
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # the second: a line may be nested deeper than we can follow
        return None
    if not isinstance(event, dict):
        return None
    return _whole(event) if b"\\ud" in line or b"\\uD" in line else event


def _whole(value: Any) -> Any:
    """Escapes can spell half a character, which no file and no other program would take from us."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value
