"""Answers that say no: why, and what would help. Nothing that a client sent as a secret is in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.ports.http_server import HttpReply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.ports.http_server import HeaderFields

__all__ = [
    "busy",
    "foreign_host",
    "foreign_origin",
    "issuer_unreachable",
    "lacks_scopes",
    "refusal",
    "too_fast",
    "wants_token",
    "with_headers",
    "wrong_token",
]

_INVALID_REQUEST = -32600  # the band of a server's own numbers has meanings in some revisions
_SHOWN = 100


def refusal(status: int, code: str, message: str, headers: HeaderFields = (), **data: Any) -> HttpReply:
    """A JSON-RPC error, which MCP clients show to people."""
    error = {"code": _INVALID_REQUEST, "message": message, "data": {"code": code, **data}}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
    fields = (("Content-Type", "application/json"), ("Cache-Control", "no-store"), *headers)
    return HttpReply(status, fields, body)


def with_headers(reply: HttpReply, headers: HeaderFields) -> HttpReply:
    return HttpReply(reply.status, (*reply.headers, *headers), reply.body) if headers else reply


def foreign_host(host: str) -> HttpReply:
    name = f"“{host[:_SHOWN]}”" if host else "No name"
    message = f"{name} is none of the names of this gateway. Add it to `listen.allowed_hosts` if it is meant."
    return refusal(403, "HOST_REFUSED", message)


def foreign_origin(origin: str) -> HttpReply:
    message = (
        f"Web pages of “{origin[:_SHOWN]}” may not use this gateway. "
        "Add the page to `listen.allowed_origins` if it may."
    )
    return refusal(403, "ORIGIN_REFUSED", message)


def wants_token(challenge: str, *, in_address: bool) -> HttpReply:
    message = "This gateway wants a token: send the header `Authorization: Bearer …`."
    if in_address:
        message += " One in the address is not read, since addresses end up in logs."
    return refusal(401, "TOKEN_MISSING", message, (("WWW-Authenticate", challenge),))


def wrong_token(challenge: str, reason: str) -> HttpReply:
    full = f'{challenge}, error="invalid_token", error_description="{reason}"'
    message = f"The token is not accepted: {reason}."
    return refusal(401, "TOKEN_INVALID", message, (("WWW-Authenticate", full),))


def lacks_scopes(challenge: str, missing: Sequence[str]) -> HttpReply:
    """The challenge names all that are needed; clients that ask for new tokens ask for exactly those."""
    named = " ".join(missing)
    full = f'{challenge}, error="insufficient_scope", error_description="the token lacks: {named}"'
    message = f"The token does not allow this; it lacks: {', '.join(missing)}."
    fields = (("WWW-Authenticate", full),)
    return refusal(403, "SCOPE_MISSING", message, fields, missing=list(missing))


def issuer_unreachable() -> HttpReply:
    message = (
        "The token cannot be checked now, since the authorization server gives no keys. Try again later."
    )
    return refusal(503, "ISSUER_UNREACHABLE", message, (("Retry-After", "5"),))


def too_fast(seconds: float, rate: float) -> HttpReply:
    message = f"Each client may send {rate:g} requests a second. Wait a little."
    wait = str(max(1, math.ceil(seconds)))
    return refusal(429, "RATE_LIMITED", message, (("Retry-After", wait),))


def busy(limit: int) -> HttpReply:
    message = f"{limit} requests are being worked on, and no more are taken at a time. Try again in a moment."
    return refusal(503, "TOO_BUSY", message, (("Retry-After", "1"),))
