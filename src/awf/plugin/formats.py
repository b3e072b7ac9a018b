"""The formats of text that are checked here; others are told to the caller and not checked.

What the checks need is imported when one is used: a plugin is waited for while it starts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["format_problem"]

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


def format_problem(name: str, value: str) -> str:
    """What was expected, when the value is something else; empty when it is right."""
    check, expected = _CHECKS.get(name, (None, ""))
    if check is None:
        return ""
    try:
        return "" if check(value) else expected
    except ValueError:
        return expected


def _is_url(value: str) -> bool:
    from urllib.parse import urlsplit

    parts = urlsplit(value)
    return bool(parts.scheme and parts.netloc) and not re.search(r"\s", value)


def _is_uri(value: str) -> bool:
    from urllib.parse import urlsplit

    return bool(urlsplit(value).scheme) and not re.search(r"\s", value)


def _is_date(value: str) -> object:
    from datetime import date

    return date.fromisoformat(value)


def _is_time(value: str) -> object:
    from datetime import datetime

    return datetime.fromisoformat(value)


def _is_uuid(value: str) -> object:
    from uuid import UUID

    return UUID(value)


_CHECKS: dict[str, tuple[Callable[[str], object], str]] = {
    "url": (_is_url, "a URL such as https://example.org/page"),
    "uri": (_is_uri, "a URI such as https://example.org/page"),
    "email": (_EMAIL.fullmatch, "an e-mail address"),
    "date": (_is_date, "a date such as 2026-01-31"),
    "date-time": (_is_time, "a time such as 2026-01-31T12:00:00Z"),
    "uuid": (_is_uuid, "a UUID"),
}
