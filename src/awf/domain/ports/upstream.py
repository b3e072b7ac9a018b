"""MCP servers as partners in a conversation, for whoever stands between them and their clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from awf.domain.mcp import CLIENT_INFO, INITIALIZE_VERSION, Era

if TYPE_CHECKING:
    from awf.domain.mcp_server import McpServer

__all__ = ["Done", "Guise", "Hearer", "Pending", "Upstream", "Upstreams"]


class Guise(msgspec.Struct, frozen=True, kw_only=True):
    """As whom a server is spoken to."""

    capabilities: dict[str, Any] = {}
    client_info: dict[str, Any] = msgspec.field(default_factory=lambda: CLIENT_INFO)
    legacy: bool = False  # with a handshake, whatever else the server understands
    version: str = INITIALIZE_VERSION  # of the handshake, if there is one
    era: Era | None = None  # what is known of the server already


class Hearer(Protocol):
    """Hears what a server says by itself. `tag` is that of the request to which it belongs, where the server shows it."""

    def notified(self, message: dict[str, Any], tag: object) -> None: ...

    async def asked(self, message: dict[str, Any], tag: object) -> dict[str, Any]:
        """The result. Raises `RpcError`."""
        ...

    def paused(self, tag: object) -> None:
        """The server has ended the answer to a request for now; it is being asked for the rest."""
        ...


Done = Callable[[dict[str, Any] | None, Exception | None], None]
"""Takes the result, or an `RpcError` or `AwfError`."""


class Pending(Protocol):
    """A request that was begun."""

    def cancel(self) -> None:
        """Nobody waits for it any more: the server is told, and `done` is not called."""
        ...


class Upstream(Protocol):
    """One way to a server: connected when it is first needed, and again when the connection is lost."""

    @property
    def era(self) -> Era | None:
        """What was found out when it was last connected."""
        ...

    @property
    def connections(self) -> int:
        """How often it was connected."""
        ...

    async def connect(self) -> Era:
        """Make sure that there is a connection. Raises `AwfError`."""
        ...

    async def exchange(
        self,
        method: str,
        params: dict[str, Any],
        *,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
    ) -> dict[str, Any]:
        """The result; how long to wait is up to the caller. Raises `RpcError` and `AwfError`.

        When it is cancelled, the server is told.
        """
        ...

    def begin(
        self,
        method: str,
        params: dict[str, Any],
        done: Done,
        *,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
    ) -> Pending | None:
        """The same without waiting: it is sent at once, and `done` is called once with what came of it, later.

        None where that takes more than writing it: nothing was sent then, and `exchange` is the way.
        """
        ...

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None: ...

    async def hear(self, wanted: Mapping[str, Any], tag: object = None) -> None:
        """Hear what the server says by itself, until it or the connection ends."""
        ...

    async def close(self) -> None:
        """Whoever still waits is told. May be called more than once."""
        ...


class Upstreams(Protocol):
    """Ways to one server. Its lists, its greeting and its errors come without the secrets that are known."""

    def open(self, guise: Guise, hearer: Hearer) -> Upstream:
        """Starts nothing yet."""
        ...

    async def close(self) -> None:
        """Let go of what the ways have in common."""
        ...


OpenServer = Callable[[str, "McpServer"], Upstreams]
