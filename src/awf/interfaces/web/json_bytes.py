"""JSON for the page, also of values that only a careless server sends."""

from __future__ import annotations

import json
from typing import Any

import msgspec

__all__ = ["json_bytes"]


def json_bytes(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return json.dumps(msgspec.to_builtins(value)).encode()
