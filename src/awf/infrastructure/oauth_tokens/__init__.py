"""Tokens of OAuth authorization servers: JWTs, checked by the keys that their issuer publishes."""

from __future__ import annotations

from awf.infrastructure.oauth_tokens.key_ring import KeyRing
from awf.infrastructure.oauth_tokens.verifier import JwtVerifier, verifier_for

__all__ = ["JwtVerifier", "KeyRing", "verifier_for"]
