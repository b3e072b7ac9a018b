"""What can be told of a message that cannot be read as a whole: what stands around all that is nested in it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

__all__ = ["outline"]

_decode = msgspec.json.Decoder().decode
_BEFORE_NESTED = re.compile(rb'\s*\{(?:[^"\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*")*', re.DOTALL)


def outline(data: bytes) -> dict[str, Any]:
    """An object of JSON with null in the place of what is nested in it, and whatever is between. Empty: nothing can be told."""
    before = _BEFORE_NESTED.match(data)
    behind = max(data.rfind(b"]"), data.rfind(b"}", 0, data.rfind(b"}"))) + 1
    if before is None or behind <= before.end():
        return {}
    try:
        found = _decode(before.group() + b"null" + data[behind:])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
