"""Who came in."""

from __future__ import annotations

import msgspec

__all__ = ["Caller"]


class Caller(msgspec.Struct, frozen=True):
    subject: str  # empty: somebody on this machine, who need not say
    scopes: frozenset[str]  # what an authorization server allows; others have none
    address: str
    key: str  # what limits and sessions are bound to; it holds nothing secret
