"""Servers that are spoken to over a WebSocket (RFC 6455), one message per text frame."""

from __future__ import annotations

from awf.infrastructure.upstreams.websocket.channel import WebSocketChannel

__all__ = ["WebSocketChannel"]
