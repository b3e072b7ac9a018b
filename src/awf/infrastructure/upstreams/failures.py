"""What can go wrong with a server, in words that name it and say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.domain.tool import ToolErrorCode

__all__ = ["ServerFault", "SessionLost", "denied", "nonsense", "stopped", "unavailable"]


class ServerFault(AwfError):  # noqa: N818  whose fault it is says more
    """A server that cannot be used, or not now. `status` is that of its HTTP answer, if there was one."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        status: int = 0,
        tool_code: ToolErrorCode = "EXECUTION_FAILED",
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.status = status
        self.tool_code: ToolErrorCode = tool_code


class SessionLost(Exception):  # noqa: N818  not a failure yet: a new session mends it
    """The server does not know our session any more, and has not looked at the request."""


def unavailable(
    message: str, *, hint: str = "", status: int = 0, tool_code: ToolErrorCode = "EXECUTION_FAILED"
) -> ServerFault:
    code = "EXECUTION.MCP_SERVER.UNAVAILABLE"
    return ServerFault(code, message, hint=hint, status=status, tool_code=tool_code)


def denied(message: str, *, hint: str = "", status: int = 0) -> ServerFault:
    code = "EXECUTION.MCP_SERVER.DENIED"
    return ServerFault(code, message, hint=hint, status=status, tool_code="PERMISSION_DENIED")


def nonsense(message: str, *, hint: str = "", status: int = 0) -> ServerFault:
    return ServerFault("EXECUTION.MCP_SERVER.PROTOCOL", message, hint=hint, status=status)


def stopped(message: str, *, hint: str = "") -> ServerFault:
    """Its sandbox ended it."""
    return ServerFault("EXECUTION.SANDBOX.STOPPED", message, hint=hint, tool_code="SANDBOX_VIOLATION")
