"""The gate for programs: register MCP servers, call their tools under grants, and know afterwards what was done.

from awf.gateway import ToolGateway

with ToolGateway() as gateway:
    gateway.register_server({"serverId": "kb", "transport": "stdio", "command": "kb-server", "manifest": {…}})
    grant = gateway.grant_capability({"capability": "connector.read"})
    result = gateway.call_tool({"toolId": "kb:search", "arguments": {"q": "gates"}, "grantIds": [grant]})

Every method has a twin in camelCase, as the other languages spell it. What is taken and given are plain JSON values;
docs/tool-gateway.md has their shapes. Whatever comes of a call is its result. `GatewayError` is raised for what is wrong
with the use of the gateway itself; it has a `code`, a `hint`, and where several things are wrong `problems`.
"""

from __future__ import annotations

from awf.domain.errors import AwfError as GatewayError
from awf.gateway.async_gateway import AsyncToolGateway
from awf.gateway.sync_gateway import ToolGateway

__all__ = ["AsyncToolGateway", "GatewayError", "ToolGateway"]
