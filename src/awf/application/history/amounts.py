"""Times, durations, tokens and money, as people write them. What is not known says so; it is never zero."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.domain.run import Usage

__all__ = ["cost", "duration", "moment", "tokens"]


def moment(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "unknown"


def duration(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{round(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02} min"
    return f"{hours // 24} days {hours % 24} h"


def tokens(usage: Usage | None) -> str:
    if usage is None or usage.tokens is None:
        return "unknown"
    parts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"))
    detail = ", ".join(f"{'unknown' if count is None else f'{count:,}'} {name}" for count, name in parts)
    return f"{usage.tokens:,} ({detail})"


def cost(usage: Usage | None) -> str:
    if usage is None or usage.cost is None:
        return "unknown"
    amount = f"${usage.cost:,.2f}" if usage.cost >= 1 or usage.cost == 0 else f"${usage.cost:.4f}"
    return amount if usage.cost_source == "unknown" else f"{amount} ({usage.cost_source})"
