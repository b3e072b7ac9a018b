"""Tokens that somebody else gives out: whether one is good here, and whose it is."""

from __future__ import annotations

from typing import Protocol

import msgspec

__all__ = ["IssuerUnreachable", "TokenRefused", "TokenVerifier", "VerifiedToken"]


class TokenRefused(Exception):  # noqa: N818  a decision, and no fault of ours
    """Why, in a few plain words of ASCII without quotes, since they go into a header; nothing of the token itself."""


class IssuerUnreachable(Exception):  # noqa: N818  the token may be good; nobody can tell now
    """The keys of whoever gives out the tokens are not to be had. The text is for the log."""


class VerifiedToken(msgspec.Struct, frozen=True):
    subject: str  # for whom it speaks; empty when a program speaks for itself
    client: str  # the program it was given to; empty when it does not say. One of the two is there
    scopes: frozenset[str]
    expires: float  # seconds since 1970; it may be a little past already


class TokenVerifier(Protocol):
    async def verify(self, token: str) -> VerifiedToken:
        """Everything but the scopes is checked. Raises `TokenRefused` and `IssuerUnreachable`."""
        ...
