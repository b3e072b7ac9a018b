"""Whose work a call belongs to, as far as secrets are concerned: an agent's run, a step, an editor's session."""

from __future__ import annotations

import msgspec

from awf.domain.label import PLAIN, Label, joined

__all__ = ["SecurityContext", "is_context_id", "later"]

_LONGEST = 256


class SecurityContext(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Its label only ever gets worse; a person may reset it, and that is recorded."""

    context_id: str
    label: Label = PLAIN
    parent: str = ""  # the one whose label it took over when it was made
    minted: bool = False  # made by a person, not by whoever first used its name
    created_at: float = 0.0
    raised_at: float | None = None
    raised_by: str = ""  # the tool
    resets: int = 0  # how often; of two states of one context, the one with more resets is the later one


def is_context_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text.isprintable()


def later(one: SecurityContext, other: SecurityContext) -> SecurityContext:
    """What is known of a context from two looks at it, whichever of them came first. Only a reset makes it better."""
    if one.resets != other.resets:
        return max(one, other, key=lambda seen: seen.resets)
    if one.label.covers(other.label):
        return one
    return msgspec.structs.replace(other, label=joined(one.label, other.label))
