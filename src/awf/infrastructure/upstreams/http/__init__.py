"""Servers at an address: a lean HTTP/1.1 client, and MCP's streamable HTTP on it."""

from __future__ import annotations

from awf.infrastructure.upstreams.http.channel import HttpChannel
from awf.infrastructure.upstreams.http.pool import ConnectionPool

__all__ = ["ConnectionPool", "HttpChannel"]
