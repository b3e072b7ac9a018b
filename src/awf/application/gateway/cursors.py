"""Where a list of several servers goes on: at which of them, and what that one called the place.

Where there is a gate, only what servers themselves have said goes back to them. So a cursor has a seal then, of this process. One
that another replica has given never comes here: it says where it lives, and is handed on.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any

from awf.domain.mcp import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.server import Server

__all__ = ["Cursors"]


class Cursors:
    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def made(self, method: str, server: str, inner: Any, *, sealed: bool) -> str:
        """`inner`: the server's own cursor, or None for its first page."""
        parts = [server, inner, self._seal(method, server, inner)] if sealed else [server, inner]
        return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()

    def place(
        self, servers: Sequence[Server], method: str, cursor: Any, *, sealed: bool
    ) -> tuple[int, str | None]:
        """Which of the servers, and its own cursor. Raises `RpcError` for one that nobody was given."""
        if cursor is None:
            return 0, None
        try:
            name, inner, *seal = json.loads(base64.urlsafe_b64decode(str(cursor).encode()))
            at = next(at for at, server in enumerate(servers) if server.name == name)
            known = seal == ([] if not sealed else [self._seal(method, name, inner)])
        except (ValueError, TypeError, StopIteration, RecursionError):
            known = False
        if not known:
            raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor")
        return at, inner if isinstance(inner, str) else None

    def _seal(self, method: str, server: str, inner: Any) -> str:
        return hmac.digest(self._key, json.dumps([method, server, inner]).encode(), "sha256").hex()
