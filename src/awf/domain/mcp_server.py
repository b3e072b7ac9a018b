"""Another MCP server whose tools an agent may use, as configuration files describe it."""

import re
from typing import Annotated, Literal

from awf.domain.shape import Duration, Record, Template

__all__ = ["McpServer", "Trouble", "problems_with"]

Trouble = tuple[str, str, str]  # the field, what is wrong with it, what to do

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_BREAK = re.compile(r"[\r\n\0]")
# The connection itself decides these; a value from a file could only break it.
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding"}
    | {"accept", "accept-encoding", "te", "upgrade", "expect", "last-event-id"}
    | {"mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"}
)


class McpServer(Record, frozen=True, kw_only=True):
    """An MCP server: a program that is started and spoken to on its standard input, or an address."""

    command: Annotated[Template | None, "The program to start. Its arguments go under `args`."] = None
    args: Annotated[list[Template], "The program's arguments."] = []
    env: Annotated[dict[str, Template], "Environment variables for the program, beside those of awf."] = {}
    cwd: Annotated[Template | None, "The directory in which the program runs."] = None
    url: Annotated[Template | None, "The address of a server that already runs: http:// or https://."] = None
    headers: Annotated[dict[str, Template], "HTTP headers to send along, such as Authorization."] = {}
    transport: Annotated[
        Literal["stdio", "streamableHttp", "http"] | None,
        "How to speak to it; `http` means `streamableHttp`. Follows from `command` or `url` when left out.",
    ] = None
    timeout: Annotated[Duration, "How long its start, and each call, may take."] = 60.0
    enabled: Annotated[bool, "Whether its tools are offered at all."] = True
    tools: Annotated[list[str] | None, "Only these tools, by name or with * and ?."] = None


def problems_with(server: McpServer) -> list[Trouble]:
    """Everything that can be said without starting it. Values that hold placeholders are taken on trust."""
    return [*_which_door(server), *_program(server), *_address(server), *_limits(server)]


def _which_door(server: McpServer) -> list[Trouble]:
    if server.command is not None and server.url is not None:
        return [("url", "A server has either a `command` or a `url`.", "Remove one of the two.")]
    if server.command is None and server.url is None:
        return [("command", "The server has neither a `command` nor a `url`.", "Add one of the two.")]
    if server.transport == "stdio" and server.command is None:
        return [("transport", "The transport `stdio` needs a `command`.", "Remove `transport`.")]
    if server.transport in {"streamableHttp", "http"} and server.url is None:
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
    found = [] if _is_template(server.url) else _url(server.url)
    for name, value in server.headers.items():
        found += _header(name, value)
    return found


def _url(url: str) -> list[Trouble]:
    from urllib.parse import urlsplit  # late: every command that reads workflows loads this module

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as reason:
        return [("url", f'"{url}" is not an address: {reason}.', "Write it as http://HOST:PORT/PATH.")]
    if parts.scheme not in {"http", "https"} or not host or re.search(r"[\s\0]", url):
        return [("url", f'"{url}" is not an HTTP address.', "Write it as http://HOST:PORT/PATH.")]
    if parts.username is not None or parts.password is not None:
        hint = "Send them as a header: headers: {Authorization: …}."
        return [("url", "The address holds a user name or password, which logs would show.", hint)]
    return []


def _header(name: str, value: str) -> list[Trouble]:
    field = f"headers.{name}"
    if not _HEADER_NAME.fullmatch(name):
        return [(field, f'"{name}" cannot be the name of a header.', "Use letters, digits and -.")]
    if name.lower() in _OWN_HEADERS or name.lower().startswith("mcp-param-"):
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
