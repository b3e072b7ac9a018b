"""Ids of contexts for those who must not act in them: enough to tell one from another."""

from __future__ import annotations

import shlex

__all__ = ["short_id", "with_short_id"]

_SHORT = 12  # signs of an id that can be guessed anyway
_BEGINNING = 8


def short_id(context_id: str) -> str:
    return context_id if len(context_id) <= _SHORT else f"{context_id[:_BEGINNING]}…"


def with_short_id(text: str, context_id: str) -> str:
    """A text that may name a context, also in a command."""
    if not context_id:
        return text
    short = short_id(context_id)
    return text.replace(shlex.quote(context_id), short).replace(context_id, short)
