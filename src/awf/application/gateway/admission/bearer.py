"""Tokens that stand in the configuration, and how a client sends one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TOKEN", "KnownToken", "StaticTokens", "sent_token"]

TOKEN = "token:"  # noqa: S105  it is none: how the subjects of tokens begin

# New in every process: what is derived from a token, and may be logged, cannot be used to guess it.
_SALT = secrets.token_bytes(32)


class KnownToken(NamedTuple):
    digest: bytes
    subject: str
    key: str


class StaticTokens:
    def __init__(self, tokens: Sequence[str] | Mapping[str, str], naming_key: bytes = b"") -> None:
        """One without a name is known by a hash that stays the same as long as the token and the key do: its place in the
        file may change, and what was granted to one token is not for the next.
        """
        if isinstance(tokens, dict):
            named = list(tokens.items())
        else:
            named = [(_name(token, naming_key or _SALT), token) for token in tokens]
        self._known = [_known(name, token) for name, token in named]

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


def _known(name: str, token: str) -> KnownToken:
    digest = _digest(token)
    return KnownToken(digest, f"{TOKEN}{name}", f"token:{digest[:8].hex()}")


def _name(token: str, key: bytes) -> str:
    return hashlib.blake2b(token.encode(), key=key, digest_size=6, person=b"name of a token").hexdigest()


def _digest(token: str) -> bytes:
    return hashlib.blake2b(token.encode(), key=_SALT, digest_size=32).digest()
