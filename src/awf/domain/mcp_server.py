"""Another MCP server whose tools an agent may use, as configuration files describe it."""

import re
from typing import Annotated, Literal, Self

import msgspec

from awf.domain.shape import Duration, Record, Template

__all__ = ["McpOAuth", "McpServer", "Transport", "Trouble", "problems_with", "transport_of"]

Transport = Literal["stdio", "http", "sse", "websocket"]
Trouble = tuple[str, str, str]  # the field, what is wrong with it, what to do

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESOURCE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s#\0]+")
_LINE_BREAK = re.compile(r"[\r\n\0]")
# The connection itself decides these; a value from a file could only break it.
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding"}
    | {"accept", "accept-encoding", "te", "upgrade", "expect", "last-event-id"}
    | {"mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"}
)


class McpOAuth(Record, frozen=True, kw_only=True):
    """Credentials of our own, for which a token server gives tokens (OAuth client credentials)."""

    token_url: Annotated[Template, "Where tokens are given out: the token endpoint."]
    client_id: Annotated[Template, "Who we are there."]
    client_secret: Annotated[Template, "The secret that proves it."]
    scope: Annotated[Template, "What to ask for, separated by spaces."] = ""
    resource: Annotated[
        Template, "The address of the server the tokens are for, where that has to be said."
    ] = ""


class McpServer(Record, frozen=True, kw_only=True):
    """An MCP server: a program that is started and spoken to on its standard input, or an address."""

    command: Annotated[Template | None, "The program to start. Its arguments go under `args`."] = None
    args: Annotated[list[Template], "The program's arguments."] = []
    env: Annotated[dict[str, Template], "Environment variables for the program, beside those of awf."] = {}
    cwd: Annotated[
        Template | None,
        "The directory in which the program runs; without it, and where it is relative, that of the project.",
    ] = None
    url: Annotated[
        Template | None, "The address of a server that already runs: http://, https://, ws:// or wss://."
    ] = None
    headers: Annotated[dict[str, Template], "HTTP headers to send along, such as Authorization."] = {}
    transport: Annotated[
        Literal["stdio", "streamableHttp", "http", "sse", "websocket"] | None,
        "How to speak to it; `http` means `streamableHttp`, `sse` is the older way over HTTP. "
        "Follows from `command` or `url` when left out.",
    ] = None
    oauth: Annotated[McpOAuth | None, "Get tokens for it, instead of an Authorization header."] = None
    timeout: Annotated[Duration, "How long its start, and each call, may take."] = 60.0
    enabled: Annotated[bool, "Whether its tools are offered at all."] = True
    tools: Annotated[list[str] | None, "Only these tools, by name or with * and ?."] = None

    @property
    def folders(self) -> tuple[str, ...]:
        """Where relative paths of its calls start, if not in the project."""
        return (self.cwd,) if self.cwd else ()

    def working_in(self, folder: str) -> Self:
        """Its program in a folder of its own that this one is above, or in this one."""
        cwd = self.cwd or ""
        if self.command is None or cwd.startswith("/"):
            return self
        return msgspec.structs.replace(self, cwd=f"{folder}/{cwd}".rstrip("/") or "/")


def problems_with(server: McpServer) -> list[Trouble]:
    """Everything that can be said without starting it. Values that hold placeholders are taken on trust."""
    return [
        *_which_door(server),
        *_program(server),
        *_address(server),
        *_credentials(server),
        *_limits(server),
    ]


def transport_of(server: McpServer) -> Transport:
    """How it is spoken to, also where that is not said."""
    if server.command is not None:
        return "stdio"
    if server.transport in {"sse", "websocket"}:
        return server.transport
    follows = server.transport is None and (server.url or "").lower().startswith(("ws://", "wss://"))
    return "websocket" if follows else "http"


def _which_door(server: McpServer) -> list[Trouble]:
    if server.command is not None and server.url is not None:
        return [("url", "A server has either a `command` or a `url`.", "Remove one of the two.")]
    if server.command is None and server.url is None:
        return [("command", "The server has neither a `command` nor a `url`.", "Add one of the two.")]
    if server.transport == "stdio" and server.command is None:
        return [("transport", "The transport `stdio` needs a `command`.", "Remove `transport`.")]
    if server.transport not in {None, "stdio"} and server.url is None:
        return [("transport", f"The transport `{server.transport}` needs a `url`.", "Remove `transport`.")]
    return []


def _program(server: McpServer) -> list[Trouble]:
    if server.command is None:
        given = {"args": server.args, "env": server.env, "cwd": server.cwd}
        return [
            (field, f"`{field}` has no effect without a `command`.", "Remove it.")
            for field, value in given.items()
            if value
        ]
    found: list[Trouble] = []
    if not server.command.strip():
        found.append(("command", "The command is empty.", "Name the program to start."))
    found += [
        (f"env.{name}", f'"{name}" cannot be the name of an environment variable.', "Use A-Z, 0-9 and _.")
        for name in server.env
        if not _ENV_NAME.fullmatch(name)
    ]
    return found


def _address(server: McpServer) -> list[Trouble]:
    if server.url is None:
        return (
            [("headers", "`headers` have no effect without a `url`.", "Remove them.")]
            if server.headers
            else []
        )
    schemes = ("ws", "wss") if transport_of(server) == "websocket" else ("http", "https")
    found = [] if _is_template(server.url) else _url(server.url, "url", schemes)
    for name, value in server.headers.items():
        found += _header(name, value)
    return found


def _url(url: str, field: str, schemes: tuple[str, str]) -> list[Trouble]:
    from urllib.parse import urlsplit  # late: every command that reads workflows loads this module

    form = f"Write it as {schemes[0]}://HOST:PORT/PATH."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as reason:
        return [(field, f'"{url}" is not an address: {reason}.', form)]
    if parts.scheme not in schemes or not host or re.search(r"[\s\0]", url):
        kind = "an HTTP address" if "http" in schemes else "the address of a WebSocket"
        return [(field, f'"{url}" is not {kind}.', form)]
    if parts.username is not None or parts.password is not None:
        hint = "Send them as a header: headers: {Authorization: …}."
        return [(field, "The address holds a user name or password, which logs would show.", hint)]
    return []


def _credentials(server: McpServer) -> list[Trouble]:
    given = server.oauth
    if given is None:
        return []
    if server.url is None:
        return [("oauth", "`oauth` has no effect without a `url`.", "Remove it.")]
    found: list[Trouble] = []
    if any(name.lower() == "authorization" for name in server.headers):
        found.append(
            ("oauth", "`oauth` and the header Authorization exclude each other.", "Remove one of the two.")
        )
    if not _is_template(given.token_url):
        found += _url(given.token_url, "oauth.token_url", ("http", "https"))
    for field, value in (("client_id", given.client_id), ("client_secret", given.client_secret)):
        if not value.strip():
            found.append(
                (f"oauth.{field}", f"The `{field}` is empty.", "Write what the token server gave you.")
            )
    if given.resource and not _is_template(given.resource) and not _RESOURCE.fullmatch(given.resource):
        hint = "Write the server's address, without a # part."
        found.append(("oauth.resource", f'"{given.resource}" is not the address of a resource.', hint))
    return found


def _header(name: str, value: str) -> list[Trouble]:
    field = f"headers.{name}"
    if not _HEADER_NAME.fullmatch(name):
        return [(field, f'"{name}" cannot be the name of a header.', "Use letters, digits and -.")]
    if name.lower() in _OWN_HEADERS or name.lower().startswith(("mcp-param-", "sec-websocket-")):
        return [(field, f"The header {name} is set by the connection itself.", "Remove it.")]
    if _LINE_BREAK.search(value):
        return [(field, f"The value of the header {name} has a line break in it.", "Write it on one line.")]
    return []


def _limits(server: McpServer) -> list[Trouble]:
    found: list[Trouble] = []
    if server.timeout <= 0:
        found.append(("timeout", "The timeout must be more than nothing.", "Write it as 30s or 2m."))
    if server.tools is not None and not all(server.tools):
        found.append(("tools", "The name of a tool is empty.", "Remove it, or write * for all tools."))
    return found


def _is_template(text: str) -> bool:
    return "{{" in text or "{%" in text or "${" in text
