"""Servers at an address that still speak HTTP with one stream of events, as MCP had it at first."""

from __future__ import annotations

from awf.infrastructure.upstreams.sse.channel import SseChannel

__all__ = ["SseChannel"]
