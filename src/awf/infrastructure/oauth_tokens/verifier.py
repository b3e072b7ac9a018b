"""Tokens of an authorization server, checked by its public keys. Nothing of a token is kept but a digest."""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError
from awf.domain.ports.token_verifier import IssuerUnreachable, TokenRefused, VerifiedToken
from awf.infrastructure.oauth_tokens.claims import LEEWAY, checked_claims
from awf.infrastructure.oauth_tokens.issuer import keys_at, keys_in_file, keys_of_issuer, read_key_file
from awf.infrastructure.oauth_tokens.jwt_text import parse_token
from awf.infrastructure.oauth_tokens.key_ring import KeyRing, usable_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.gateway_file import ListenOAuth
    from awf.domain.ports.http_client import HttpClient
    from awf.infrastructure.oauth_tokens.issuer import FetchKeys
    from awf.infrastructure.oauth_tokens.jwt_text import SignedToken

__all__ = ["JwtVerifier", "verifier_for"]

TOKENS_KEPT = 1024


class _Seen(NamedTuple):
    token: VerifiedToken
    generation: int


class JwtVerifier:
    """A `TokenVerifier`. `now`: seconds since 1970."""

    def __init__(
        self, issuer: str, audience: str, keys: KeyRing, now: Callable[[], float] = time.time
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._ring = keys
        self._now = now
        self._seen: dict[bytes, _Seen] = {}

    async def verify(self, token: str) -> VerifiedToken:
        # A signature costs more than the rest of a request, and clients send the same token again and again.
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        seen = self._seen.get(digest)
        if seen is not None and self._still_good(seen):
            return seen.token
        self._seen.pop(digest, None)
        return await self._verify_anew(token, digest)

    def _still_good(self, seen: _Seen) -> bool:
        ring = self._ring
        return (
            seen.generation == ring.generation and ring.is_fresh and self._now() < seen.token.expires + LEEWAY
        )

    async def _verify_anew(self, token: str, digest: bytes) -> VerifiedToken:
        parsed = parse_token(token)
        generation = await self._check_signature(parsed)
        good = checked_claims(parsed.claims, self._issuer, self._audience, self._now())
        if len(self._seen) >= TOKENS_KEPT:
            self._seen.clear()
        self._seen[digest] = _Seen(good, generation)
        return good

    async def _check_signature(self, token: SignedToken) -> int:
        """The generation of the keys that did it."""
        # Without this, anyone could make us ask the issuer by naming a key and another issuer.
        if token.claims.get("iss") != self._issuer:
            raise TokenRefused("it comes from another issuer")
        for _ in range(2):
            candidates = await self._ring.keys(token.key_id)
            generation = self._ring.generation
            if any(key.signed(token.algorithm, token.signed, token.signature) for key in candidates):
                return generation
            # A token that does not name its key may be signed with one that is new.
            if token.key_id is not None or not await self._ring.look_again():
                break
        raise TokenRefused("its signature is not by a key of the issuer")


def verifier_for(oauth: ListenOAuth, http: HttpClient, folder: str) -> JwtVerifier:
    """As the gateway's file says, which lies in `folder`. Raises for a file of keys that is no good."""
    ring = KeyRing(_source(oauth, http, folder), time.monotonic)
    return JwtVerifier(oauth.issuer, oauth.audience, ring)


def _source(oauth: ListenOAuth, http: HttpClient, folder: str) -> FetchKeys:
    if oauth.jwks_file is not None:
        return _checked_file(os.path.join(folder, os.path.expanduser(oauth.jwks_file)))
    return keys_at(http, oauth.jwks_url) if oauth.jwks_url else keys_of_issuer(http, oauth.issuer)


def _checked_file(path: str) -> FetchKeys:
    try:
        usable_keys(read_key_file(path))
    except (IssuerUnreachable, ValueError) as reason:
        raise AwfError(
            "USER.GATEWAY.INVALID_FILE",
            f"`listen.oauth.jwks_file` gives no keys: {reason}.",
            hint="Save the public keys of the issuer there, as the JWK set that it publishes.",
        ) from reason
    return keys_in_file(path)
