"""Other MCP servers as sources of tools: spoken to over pipes, HTTP or WebSockets, in either era of the protocol."""

from __future__ import annotations

from awf.infrastructure.upstreams.client import McpClient
from awf.infrastructure.upstreams.opening import ServerWays, open_server
from awf.infrastructure.upstreams.server_tools import McpServerTools

__all__ = ["McpClient", "McpServerTools", "ServerWays", "open_server"]
