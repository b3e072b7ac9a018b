"""From a server's configuration to its tools, or to ways of speaking to it."""

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
    from awf.domain.ports.turn import Turn
    from awf.domain.ports.upstream import Guise, Hearer
    from awf.domain.redaction.publishing import Publishing
    from awf.infrastructure.upstreams.channel import Channel
    from awf.infrastructure.upstreams.correlation import Correlation

    Authorization = Callable[[bool], Awaitable[str]]

__all__ = ["ServerWays", "open_server"]


def open_server(
    name: str,
    server: McpServer,
    runner: CommandRunner,
    environment: Mapping[str, str],
    on_change: Callable[[], None] | None = None,
    *,
    http: Callable[[], HttpClient] | None = None,
    on_token: Callable[[str], None] | None = None,
    publishing: Publishing | None = None,
) -> McpServerTools:
    """Starts nothing yet. Placeholders and references have been resolved; `environment` is what its program inherits.

    `http` makes the client of a server at an address, and is needed only for those. `on_token` hears of OAuth tokens.
    `publishing`: what may be seen of what it tells of itself.

    Raises `AwfError` USER.MCP_PROXY.INVALID_SERVER for a configuration that cannot work.
    """
    for field, message, hint in problems_with(server):
        text = f'MCP server "{name}", `{field}`: {message}'
        raise AwfError("USER.MCP_PROXY.INVALID_SERVER", text, hint=hint)

    def connect(on_notification: Callable[[dict[str, Any], object], None]) -> McpClient:
        client = http() if http is not None and server.url is not None else None
        open_channel = _channels(name, server, runner, environment, client, on_token)
        release: dict[str, Any] = {"release": client.close} if client is not None else {}
        options = {"on_notification": on_notification, "publishing": publishing, **release}
        return _client(name, server, open_channel, **options)

    return McpServerTools(name, server, connect, on_change)


class ServerWays:
    """Ways to one server, which share connections that are kept by origin, and tokens. An `Upstreams`."""

    def __init__(
        self,
        name: str,
        server: McpServer,
        runner: CommandRunner,
        environment: Mapping[str, str],
        http: Callable[[], HttpClient],
        on_token: Callable[[str], None] | None = None,
        turn: Turn | None = None,
        publishing: Publishing | None = None,
    ) -> None:
        """`turn`: of the loop; what is begun at its end is sent together. `publishing`: what may be seen of what it
        tells of itself.
        """
        self._publishing = publishing
        self._name = name
        self._server = server
        self._http = http() if server.url is not None else None
        self._open_channel = _channels(name, server, runner, environment, self._http, on_token, turn)

    def open(self, guise: Guise, hearer: Hearer) -> McpClient:
        client = _client(
            self._name,
            self._server,
            self._open_channel,
            on_notification=hearer.notified,
            on_request=hearer.asked,
            on_pause=hearer.paused,
            capabilities=guise.capabilities,
            client_info=guise.client_info,
            legacy=guise.legacy,
            listening=True,
            version=guise.version,
            publishing=self._publishing,
        )
        client.era = guise.era
        return client

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()


def _client(
    name: str,
    server: McpServer,
    open_channel: Callable[[Correlation], Channel],
    *,
    legacy: bool = False,
    **options: Any,
) -> McpClient:
    restarts = Restarts() if server.command is not None else None
    only_legacy = legacy or transport_of(server) == "sse"
    return McpClient(
        name, open_channel, timeout=server.timeout, restarts=restarts, legacy=only_legacy, **options
    )


def _channels(
    name: str,
    server: McpServer,
    runner: CommandRunner,
    environment: Mapping[str, str],
    http: HttpClient | None,
    on_token: Callable[[str], None] | None,
    turn: Turn | None = None,
) -> Callable[[Correlation], Channel]:
    if server.command is not None:
        from awf.infrastructure.upstreams.stdio import StdioChannel

        argv = (server.command, *server.args)
        command = Command(argv=argv, cwd=server.cwd or "", env={**environment, **server.env})
        return lambda correlation: StdioChannel(name, command, runner, correlation, turn)
    if http is None:
        raise TypeError("a server at an address needs `http`")
    way, authorization = transport_of(server), _authorization(name, server, http, on_token)
    return lambda correlation: _channel(way, name, server, http, correlation, authorization)


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


def _authorization(
    name: str, server: McpServer, http: HttpClient, on_token: Callable[[str], None] | None
) -> Authorization | None:
    """Outlives a connection, so that a token is fetched when it is needed and not with each of them."""
    given = server.oauth
    if given is None:
        return None
    from awf.infrastructure.upstreams.oauth import ClientCredentials

    client = given.client_id, given.client_secret, given.scope, given.resource
    return ClientCredentials(http, given.token_url, *client, name=name, on_token=on_token).authorization
