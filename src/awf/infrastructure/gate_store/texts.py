"""Texts as the file can hold them.

JSON can carry half of a surrogate pair, for instance in the name of a tool. Such a text is no UTF-8 and is kept as bytes;
it comes back as it was, and equals nothing else.
"""

from __future__ import annotations

from typing import Any

__all__ = ["kept", "taken"]


def kept(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def taken(value: Any) -> Any:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
