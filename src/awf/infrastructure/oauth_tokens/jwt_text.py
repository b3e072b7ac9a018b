"""The text of a signed token (JWS compact form) → its parts. Pure, and strict: one token has one spelling."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, NamedTuple

import msgspec

from awf.domain.ports.token_verifier import TokenRefused

__all__ = ["ALGORITHMS", "SignedToken", "decoded", "parse_token"]

LONGEST = 16 * 1024
# Neither `none` nor those with a shared secret: whoever knows the public key could sign with it.
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"})
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_ENCODED = re.compile(r"[A-Za-z0-9_-]+")
# Others are made for other ends: a logout, a proof of possession, an event.
_KINDS = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})


class SignedToken(NamedTuple):
    algorithm: str
    key_id: str | None
    signed: bytes
    signature: bytes
    claims: dict[str, Any]  # not to be believed before the signature is checked


def parse_token(text: str) -> SignedToken:
    """Raises `TokenRefused`."""
    if len(text) > LONGEST:
        raise TokenRefused("it is too long")
    parts = _FORM.fullmatch(text)
    if parts is None:
        raise TokenRefused("it is not a signed JWT")
    header = _object(parts[1])
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenRefused("it is signed in a way that is not accepted")
    if key_id is not None and not isinstance(key_id, str):
        raise TokenRefused("the name of its key is not a text")
    if "crit" in header or "b64" in header:
        raise TokenRefused("it asks for an extension that is not known")
    kind = header.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower() not in _KINDS:
        raise TokenRefused("it is not an access token")
    signed = text[: parts.end(2)].encode("ascii")
    return SignedToken(algorithm, key_id, signed, _bytes(parts[3]), _object(parts[2]))


def decoded(text: str) -> bytes:
    """base64url without padding, and only in the spelling that encoding gives. Raises ValueError."""
    if not _ENCODED.fullmatch(text):
        raise ValueError("not base64url")
    padded = text + "=" * (-len(text) % 4)
    try:
        data = base64.b64decode(padded, altchars=b"-_", validate=True)
    except binascii.Error as reason:
        raise ValueError("not base64url") from reason
    if base64.urlsafe_b64encode(data).decode("ascii") != padded:
        raise ValueError("not the usual base64url")
    return data


def _bytes(part: str) -> bytes:
    try:
        return decoded(part)
    except ValueError:
        raise TokenRefused("it is not a signed JWT") from None


def _object(part: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(_bytes(part))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise TokenRefused("it is not a signed JWT") from None
    if not isinstance(value, dict):
        raise TokenRefused("it is not a signed JWT")
    return value
