"""Who is to hear what: sessions of the older era, and streams that clients of the newer one keep open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.mcp import RESERVED_META

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.application.gateway.client import Client, Exchange

__all__ = ["Hub", "Listener"]

SUBSCRIPTION = f"{RESERVED_META}subscriptionId"
_METHODS = {kind: f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")}


class Listener:
    """A stream of the newer era, and what its client wants to hear on it."""

    def __init__(self, exchange: Exchange, kinds: frozenset[str], uris: frozenset[str]) -> None:
        self.exchange = exchange
        self.kinds = kinds
        self.uris = uris

    def tell(self, method: str, params: dict[str, Any]) -> None:
        meta = params.get("_meta")
        tagged = {**(meta if isinstance(meta, dict) else {}), SUBSCRIPTION: self.exchange.id}
        message = {"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": tagged}}
        self.exchange.reach.send(message)


class Hub:
    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}  # sessions, by their id
        self.listeners: set[Listener] = set()

    def changed(self, kind: str) -> None:
        """A list is no longer what it was."""
        method = _METHODS[kind]
        for client in list(self.clients.values()):
            client.tell({"jsonrpc": "2.0", "method": method})
        for listener in list(self.listeners):
            if kind in listener.kinds:
                listener.tell(method, {})

    def updated(self, message: dict[str, Any]) -> None:
        """A resource has changed; told to those who asked."""
        given = message.get("params")
        params = given if isinstance(given, dict) else {}
        uri = params.get("uri")
        if not isinstance(uri, str):
            return
        for client in list(self.clients.values()):
            if uri in client.subscriptions:
                client.tell({"jsonrpc": "2.0", **message})
        for listener in list(self.listeners):
            if uri in listener.uris:
                listener.tell(message["method"], params)

    def overheard(self, message: dict[str, Any]) -> None:
        """What a server said to no one in particular, for all sessions that may want to know."""
        logged = message["method"] == "notifications/message"
        for client in list(self.clients.values()):
            if not logged or (client.level and client.wants_to_hear(message)):
                client.tell({"jsonrpc": "2.0", **message})

    def levels(self) -> Iterator[str]:
        return (client.level for client in self.clients.values() if client.level)
