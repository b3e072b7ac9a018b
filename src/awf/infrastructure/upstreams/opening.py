"""From a server's configuration to its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.mcp_server import problems_with, transport_of
from awf.domain.ports.command_runner import Command
from awf.infrastructure.upstreams.client import McpClient
from awf.infrastructure.upstreams.restarts import Restarts
from awf.infrastructure.upstreams.server_tools import McpServerTools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.http_client import HttpClient
    from awf.infrastructure.upstreams.channel import Channel
    from awf.infrastructure.upstreams.correlation import Correlation

    Authorization = Callable[[bool], Awaitable[str]]

__all__ = ["open_server"]


def open_server(
    name: str,
    server: McpServer,
    runner: CommandRunner,
    environment: Mapping[str, str],
    on_change: Callable[[], None] | None = None,
    *,
    http: Callable[[], HttpClient] | None = None,
) -> McpServerTools:
    """Starts nothing yet. Placeholders and references have been resolved; `environment` is what its program inherits.

    `http` makes the client of a server at an address, and is needed only for those.

    Raises `AwfError` USER.MCP_PROXY.INVALID_SERVER for a configuration that cannot work.
    """
    for field, message, hint in problems_with(server):
        text = f'MCP server "{name}", `{field}`: {message}'
        raise AwfError("USER.MCP_PROXY.INVALID_SERVER", text, hint=hint)

    def connect(on_notification: Callable[[dict[str, Any]], None]) -> McpClient:
        if server.command is not None:
            return _as_program(name, server, runner, environment, on_notification)
        if http is None:
            raise TypeError("a server at an address needs `http`")
        return _at_address(name, server, http(), on_notification)

    return McpServerTools(name, server, connect, on_change)


def _as_program(
    name: str,
    server: McpServer,
    runner: CommandRunner,
    environment: Mapping[str, str],
    on_notification: Callable[[dict[str, Any]], None],
) -> McpClient:
    from awf.infrastructure.upstreams.stdio import StdioChannel

    argv = (server.command or "", *server.args)
    command = Command(argv=argv, cwd=server.cwd or "", env={**environment, **server.env})

    def open_channel(correlation: Correlation) -> Channel:
        return StdioChannel(name, command, runner, correlation)

    return McpClient(
        name, open_channel, timeout=server.timeout, on_notification=on_notification, restarts=Restarts()
    )


def _at_address(
    name: str, server: McpServer, http: HttpClient, on_notification: Callable[[dict[str, Any]], None]
) -> McpClient:
    way = transport_of(server)
    authorization = _authorization(name, server, http)

    def open_channel(correlation: Correlation) -> Channel:
        return _channel(way, name, server, http, correlation, authorization)

    return McpClient(
        name,
        open_channel,
        timeout=server.timeout,
        on_notification=on_notification,
        release=http.close,
        legacy=way == "sse",
    )


def _channel(
    way: str,
    name: str,
    server: McpServer,
    http: HttpClient,
    correlation: Correlation,
    authorization: Authorization | None,
) -> Channel:
    url, headers = server.url or "", server.headers
    if way == "websocket":
        from awf.infrastructure.upstreams.websocket import WebSocketChannel

        return WebSocketChannel(name, url, headers, correlation, authorization=authorization)
    if way == "sse":
        from awf.infrastructure.upstreams.sse import SseChannel

        return SseChannel(name, http, url, headers, correlation, authorization=authorization)
    from awf.infrastructure.upstreams.http import HttpChannel

    return HttpChannel(name, http, url, headers, correlation, authorization=authorization)


def _authorization(name: str, server: McpServer, http: HttpClient) -> Authorization | None:
    """Outlives a connection, so that a token is fetched when it is needed and not with each of them."""
    given = server.oauth
    if given is None:
        return None
    from awf.infrastructure.upstreams.oauth import ClientCredentials

    return ClientCredentials(
        http, given.token_url, given.client_id, given.client_secret, given.scope, given.resource, name=name
    ).authorization
