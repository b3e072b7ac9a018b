"""Texts as the database can hold them.

JSON can carry a NUL and half of a surrogate pair, which PostgreSQL does not take. Such a text is kept as the JSON that it
came as, behind a mark; it comes back as it was, and equals nothing else. All others stay readable.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["kept", "taken"]

_MARK = "\x01json:"


def kept(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if "\0" not in value and not value.startswith(_MARK):
        try:
            value.encode()
        except UnicodeEncodeError:
            pass
        else:
            return value
    return f"{_MARK}{json.dumps(value)}"


def taken(value: Any) -> Any:
    return json.loads(value[len(_MARK) :]) if isinstance(value, str) and value.startswith(_MARK) else value
