"""Servers at an address: MCP's streamable HTTP on a client for HTTP."""

from __future__ import annotations

from awf.infrastructure.upstreams.http.channel import HttpChannel

__all__ = ["HttpChannel"]
