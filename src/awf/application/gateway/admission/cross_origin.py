"""What a browser must be told so that a page from elsewhere may use the door (CORS)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.domain.ports.http_server import HttpReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.http_server import HeaderFields

__all__ = ["is_preflight", "permission", "preflight"]

_METHODS = "GET, POST, DELETE, OPTIONS"
_EXPOSED = "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After"
_USUAL = "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
_NAMES = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+( *, *[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")
_LONGEST = 2048
_SECONDS = "600"


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def permission(origin: str) -> HeaderFields:
    """For every answer to an allowed page. Cookies are not: nothing here is opened by them."""
    return (
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", _EXPOSED),
        ("Vary", "Origin"),
    )


def preflight(headers: Mapping[str, str], permitted: HeaderFields) -> HttpReply:
    """Tools may have headers of their own (Mcp-Param-…), so that an allowed page may send any."""
    asked = headers.get("access-control-request-headers", "")
    allowed = asked if len(asked) <= _LONGEST and _NAMES.fullmatch(asked) else _USUAL
    fields = (
        ("Access-Control-Allow-Methods", _METHODS),
        ("Access-Control-Allow-Headers", allowed),
        ("Access-Control-Max-Age", _SECONDS),
    )
    return HttpReply(204, (*permitted, *fields))
