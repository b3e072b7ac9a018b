"""Tokens that stand in the configuration, and how a client sends one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["KnownToken", "StaticTokens", "sent_token"]

# New in every process: what is derived from a token, and may be logged, cannot be used to guess it.
_SALT = secrets.token_bytes(32)


class KnownToken(NamedTuple):
    digest: bytes
    subject: str
    key: str


class StaticTokens:
    def __init__(self, tokens: Iterable[str]) -> None:
        made = ((number, _digest(token)) for number, token in enumerate(tokens, 1))
        self._known = [
            KnownToken(digest, f"token-{number}", f"token:{digest[:8].hex()}") for number, digest in made
        ]

    def find(self, token: str) -> KnownToken | None:
        """Takes the same time whichever it is, and however close a guess is."""
        if not self._known:
            return None
        digest = _digest(token)
        found = None
        for known in self._known:
            if hmac.compare_digest(known.digest, digest):
                found = known
        return found


def sent_token(authorization: str) -> str:
    """Empty when the header holds none."""
    scheme, _, rest = authorization.partition(" ")
    token = rest.strip(" ")
    fit = scheme.lower() == "bearer" and token.isascii() and token.isprintable() and " " not in token
    return token if fit else ""


def _digest(token: str) -> bytes:
    return hashlib.blake2b(token.encode(), key=_SALT, digest_size=32).digest()
