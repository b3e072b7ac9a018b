"""What a token says, held against what it must say. Pure; the signature has been checked before."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from awf.domain.ports.token_verifier import TokenRefused, VerifiedToken

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEEWAY", "checked_claims"]

LEEWAY = 60.0  # clocks differ
_LATEST = 2.0**53
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_NAME = 512


def checked_claims(claims: Mapping[str, Any], issuer: str, audience: str, now: float) -> VerifiedToken:
    """Raises `TokenRefused`."""
    if claims.get("iss") != issuer:
        raise TokenRefused("it comes from another issuer")
    if audience not in _texts(claims.get("aud")):
        raise TokenRefused("it was made for another audience")
    expires = _time(claims, "exp")
    if expires is None:
        raise TokenRefused("it does not say when it expires")
    if now >= expires + LEEWAY:
        raise TokenRefused("it has expired")
    for name in ("nbf", "iat"):
        begins = _time(claims, name)
        if begins is not None and begins > now + LEEWAY:
            raise TokenRefused("it is not valid yet")
    client = _name(claims, "client_id") or _name(claims, "azp")
    subject = _name(claims, "sub")
    if not subject and not client:
        raise TokenRefused("it does not say whose it is")
    return VerifiedToken(subject, client, _scopes(claims), expires)


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefused("a time in it is not a number")
    if not -_LATEST <= value <= _LATEST or math.isnan(value):
        raise TokenRefused("a time in it is out of bounds")
    return float(value)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


def _name(claims: Mapping[str, Any], claim: str) -> str:
    """It goes into logs and into the names of sessions."""
    value = claims.get(claim)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST_NAME or _CONTROL.search(value):
        raise TokenRefused("a name in it cannot be used")
    return value


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """A text with spaces by the book; some issuers call it `scp`, and some write a list."""
    written = [*_texts(claims.get("scope")), *_texts(claims.get("scp"))]
    return frozenset(scope for text in written for scope in text.split(" ") if scope)
