"""Whether a value can be said in JSON at all. What came as a message can; what a program hands over need not."""

from __future__ import annotations

import json
import sys
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["why_no_json", "without_json_form"]

_encode = msgspec.json.Encoder().encode


def without_json_form(value: Any) -> str:
    """What in it has no JSON form, and where; empty when all of it has one. Never raises."""
    try:
        encoded = _encode(value)
    except RecursionError:
        return "it is nested too deeply"
    except Exception as error:  # noqa: BLE001  whatever it is, it cannot be sent
        return next(_found(value), "") or str(error).split("\n", 1)[0]
    # Numbers that are none are written as null, so that without one there are none.
    return "" if b"null" not in encoded or _is_plain_json(value) else next(_found(value), "")


def why_no_json(value: Any, error: Exception) -> str:
    """What Python says when it cannot write a value, in words for whoever cannot change how Python is set."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return (without_json_form(value) if isinstance(error, ValueError) else "") or str(error)[:200]


def _is_plain_json(value: Any) -> bool:
    """At a fraction of the cost of a look at each value. It may say no too often."""
    try:
        json.dumps(value, allow_nan=False, check_circular=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _found(value: Any) -> Iterator[str]:
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    seen: set[int] = set()  # it may have itself in it
    for path, one in waiting:  # grows meanwhile
        if isinstance(one, dict | list | tuple):
            if id(one) in seen:
                continue
            seen.add(id(one))
        if isinstance(one, str):
            if _is_broken(one):
                yield f"{_shown(path)}a text has half of a surrogate pair in it"
        elif isinstance(one, float):
            if not isfinite(one):
                yield f"{_shown(path)}{one} is no number of JSON"
        elif isinstance(one, int):
            if _is_too_long(one):
                yield f"{_shown(path)}an integer has more than {sys.get_int_max_str_digits()} digits"
        elif isinstance(one, dict):
            if any(isinstance(key, str) and _is_broken(key) for key in one):
                yield f"{_shown(path)}a name has half of a surrogate pair in it"
            waiting += [((*path, str(key)), inner) for key, inner in one.items()]
        elif isinstance(one, list | tuple):
            waiting += [((*path, str(at)), inner) for at, inner in enumerate(one)]


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_too_long(number: int) -> bool:
    try:
        str(number)
    except ValueError:
        return True
    return False


def _shown(path: tuple[str, ...]) -> str:
    if not path:
        return ""
    return ".".join(path).encode("utf-8", "backslashreplace").decode() + ": "
