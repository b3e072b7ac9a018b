"""The gate for programs: manifests and servers are registered, tools called under grants, and every call is recorded."""

from awf.application.tool_gateway.gateway import ToolGatewayParts, ToolGatewayService

__all__ = ["ToolGatewayParts", "ToolGatewayService"]
