"""Whose work a call belongs to, as far as secrets are concerned: an agent's run, a step, an editor's session."""

from __future__ import annotations

import msgspec

from awf.domain.label import PLAIN, Label

__all__ = ["SecurityContext"]


class SecurityContext(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Its label only ever gets worse; a person may reset it, and that is recorded."""

    context_id: str
    label: Label = PLAIN
    parent: str = ""  # the one whose label it took over when it was made
    minted: bool = False  # made by a person, not by whoever first used its name
    created_at: float = 0.0
    raised_at: float | None = None
    raised_by: str = ""  # the tool
