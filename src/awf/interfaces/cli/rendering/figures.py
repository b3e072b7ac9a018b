"""Durations, counts and costs in the words people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["counted", "duration_text", "elapsed_text", "number_text", "usage_from", "usage_text"]

_THIN = "\u202f"  # a narrow space that does not break


def number_text(number: int) -> str:
    return f"{number:,}".replace(",", _THIN)


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number_text(number)} {noun if number == 1 else plural or noun + 's'}"


def duration_text(ms: float) -> str:
    """`340ms`, `4.1s`, `2m 03s`, `1h 02m`."""
    whole = max(0, round(ms))
    if whole < 1000:
        return f"{whole}ms"
    tenths = round(whole / 100)
    if tenths < 600:
        return f"{tenths / 10:.1f}".removesuffix(".0") + "s"
    seconds = round(whole / 1000)
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02d}s"
    minutes = round(whole / 60_000)
    return f"{minutes // 60}h {minutes % 60:02d}m"


def elapsed_text(seconds: float) -> str:
    """The age of something that still runs: whole seconds, so that the figure does not flicker."""
    return duration_text(int(seconds) * 1000) if seconds >= 1 else ""


def usage_from(fields: Mapping[str, Any] | Usage | None) -> Usage | None:
    """Usage as events carry it; what cannot be read is unknown."""
    if fields is None or isinstance(fields, Usage):
        return fields
    try:
        return msgspec.convert(fields, Usage)
    except msgspec.ValidationError:
        return None


def usage_text(usage: Mapping[str, Any] | Usage | None) -> str:
    """Tokens and cost as far as they are known. `~` marks a cost that we computed ourselves."""
    known = usage_from(usage)
    if known is None:
        return ""
    return " · ".join(part for part in (_tokens_text(known), _cost_text(known)) if part)


def _tokens_text(usage: Usage) -> str:
    if usage.tokens is None:
        return ""
    if usage.output_tokens is None:
        return counted(usage.tokens, "input token")
    if usage.input_tokens is None:
        return counted(usage.tokens, "output token")
    return counted(usage.tokens, "token")


def _cost_text(usage: Usage) -> str:
    if usage.cost is None:
        return ""
    mark = "" if usage.cost_source == "reported" else "~"
    if 0 < usage.cost < 0.0001:
        return f"{mark}<$0.0001"
    return f"{mark}${usage.cost:,.2f}" if usage.cost >= 1 or usage.cost == 0 else f"{mark}${usage.cost:.4f}"
