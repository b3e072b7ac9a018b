"""How a WebSocket is asked for over HTTP, and what counts as a yes. Pure."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from awf import __version__
from awf.infrastructure.upstreams.failures import ServerFault, denied, nonsense, unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Place", "Upgrade", "new_key", "objection", "place_of", "request", "upgrade_in"]

SUBPROTOCOL = "mcp"
_PORTS = {"ws": 80, "wss": 443}
_SAFE = "/%:=&?~+!$,;'@()*[]|"  # a written address is already quoted, more or less
_ACCEPTED_BY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # fixed by RFC 6455
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5]\d\d)(?: .*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Place(NamedTuple):
    secure: bool
    host: str
    port: int
    target: str  # path and query

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["wss" if self.secure else "ws"] else f"{host}:{self.port}"


class Upgrade(NamedTuple):
    """The head of an answer."""

    status: int
    headers: Mapping[str, str]


def place_of(url: str) -> Place:
    """Raises ValueError for what is not the address of a WebSocket."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is not the address of a WebSocket")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    target = quote(parts.path or "/", safe=_SAFE) + query
    return Place(parts.scheme == "wss", host, parts.port or _PORTS[parts.scheme], target)


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def request(place: Place, headers: Mapping[str, str], key: str) -> bytes:
    """Raises ValueError for a header that cannot be sent."""
    fields = {
        "Host": place.authority,
        "User-Agent": f"awf/{__version__}",
        **headers,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": SUBPROTOCOL,
    }
    for name, value in fields.items():
        # A line end would begin a header, or a whole request, of somebody else's making.
        if not _NAME.fullmatch(name) or _CONTROL.search(value):
            raise ValueError(f"the header {name!r} cannot be sent")
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"GET {place.target} HTTP/1.1\r\n{lines}\r\n".encode()


def upgrade_in(head: bytes) -> Upgrade | None:
    """None for what is not HTTP."""
    first, *lines = head.decode("latin-1").split("\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        return None
    pairs = (line.partition(":") for line in lines if line)
    return Upgrade(int(status[1]), {name.strip().lower(): value.strip() for name, _, value in pairs})


def objection(name: str, upgrade: Upgrade, key: str) -> ServerFault | None:
    """Why this answer is no WebSocket, if it is none."""
    status, headers = upgrade
    if status != 101:
        return _refusal(name, status)
    accept = base64.b64encode(hashlib.sha1((key + _ACCEPTED_BY).encode()).digest()).decode()  # noqa: S324
    tokens = {token.strip().lower() for token in headers.get("connection", "").split(",")}
    fits = headers.get("upgrade", "").lower() == "websocket" and "upgrade" in tokens
    if not fits or headers.get("sec-websocket-accept") != accept:
        return nonsense(
            f'MCP server "{name}" does not open a WebSocket as it should.', hint="Check its `url`."
        )
    # None at all is tolerated: what would we gain by refusing a server that only forgot to say it?
    chosen = headers.get("sec-websocket-protocol", SUBPROTOCOL)
    if chosen != SUBPROTOCOL:
        return nonsense(f'MCP server "{name}" wants to speak {chosen[:100]!r} over its WebSocket, not MCP.')
    if headers.get("sec-websocket-extensions"):
        return nonsense(f'MCP server "{name}" uses a WebSocket extension that nobody asked for.')
    return None


def _refusal(name: str, status: int) -> ServerFault:
    if status in {401, 403}:
        hint = "Check its credentials under `headers` or `oauth`."
        return denied(f'MCP server "{name}" does not let us in (HTTP {status}).', hint=hint, status=status)
    hint = "Look at its log." if status >= 500 else "Check its `url`, and that it speaks WebSocket there."
    message = f'MCP server "{name}" opened no WebSocket, but answered with HTTP {status}.'
    return unavailable(message, hint=hint, status=status)
