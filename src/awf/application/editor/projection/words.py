"""Short texts for people: one line, the last lines, how long, how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.history.plain_text import plain
from awf.domain.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["beginning", "elapsed", "last_lines", "one_line", "spent", "usage_of"]

_ROUGHLY = 4  # times what is shown, is looked at: escape sequences take room


def one_line(text: str, limit: int = 120) -> str:
    """The first line that says something, cut to a length."""
    stripped = text.strip()
    first = plain(stripped.split("\n", 1)[0]).strip() if stripped else ""
    return first if len(first) <= limit else first[: limit - 1] + "…"


def last_lines(text: str, limit: int) -> str:
    """The end of a text as it reads on a terminal, from the beginning of a line where one is near."""
    clean = plain(text[-limit * _ROUGHLY :]).strip("\n")
    if len(clean) <= limit and len(text) <= limit * _ROUGHLY:
        return clean
    tail = clean[-(limit - 2) :]
    line_start = tail.find("\n", 0, limit // 4)
    return "…\n" + tail[line_start + 1 :]


def beginning(text: str, limit: int) -> str:
    clean = plain(text[: limit * _ROUGHLY]).rstrip()
    if len(clean) <= limit and len(text) <= limit * _ROUGHLY:
        return clean
    return clean[: limit - 2] + "\n…"


def elapsed(seconds: float) -> str:
    """`45s`, `1m 20s`, `2h 05m`: whole seconds, as it is told again and again."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def usage_of(fields: Mapping[str, Any] | None) -> Usage | None:
    """Usage as events carry it; what cannot be read is unknown."""
    if fields is None:
        return None
    try:
        return msgspec.convert(fields, Usage)
    except msgspec.ValidationError:
        return None


def spent(usage: Usage | None) -> str:
    """` · 1,234 tokens · $0.02`, as far as it is known."""
    if usage is None:
        return ""
    tokens = "" if usage.tokens is None else f" · {usage.tokens:,} token{'s' * (usage.tokens != 1)}"
    return tokens + ("" if usage.cost is None else f" · {_cost(usage.cost, usage.cost_source)}")


def _cost(amount: float, source: str) -> str:
    """`~` marks a cost that the agent did not report itself."""
    mark = "" if source == "reported" else "~"
    return f"{mark}${amount:,.2f}" if amount >= 1 or amount == 0 else f"{mark}${amount:.4f}"
