"""The MCP servers that an editor hands over with a session.

What the editor writes is meant literally: `{{ x }}` or `${env:X}` in it is text. Templates are filled in where a
workflow's own servers are read (`offered_tools`); these servers are joined after that, so nothing is ever rendered.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.mcp_server import McpServer, problems_with
from awf.domain.redaction import looks_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["ServersGiven", "servers_from"]

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_CREDENTIAL_HEADERS = {"authorization", "proxy-authorization", "cookie"}
_SHORT = 8  # a header such as `X-Trace: true` must not black out that word everywhere


class ServersGiven(msgspec.Struct, frozen=True):
    servers: dict[str, McpServer] = {}
    secrets: dict[str, str] = {}
    problems: tuple[str, ...] = ()


def servers_from(entries: Sequence[Mapping[str, Any]], *, cwd: str = "") -> ServersGiven:
    """The servers by a name that tools can carry, what to mask, and a sentence for all that cannot be used."""
    problems: list[str] = []
    read: dict[str, McpServer] = {}
    secrets: dict[str, str] = {}
    for entry in entries:
        name = str(entry.get("name") or "")
        for label, value in _secrets(entry):
            secrets[_free(f"mcp:{name}:{label}", secrets)] = value
        server = _server(entry, cwd, problems)
        if server is None:
            continue
        if name in read:
            problems.append(f"The editor gives two MCP servers called '{name}'; the last one counts.")
            del read[name]
        read[name] = server
    return ServersGiven(_fit_names(read), secrets, tuple(problems))


def _server(entry: Mapping[str, Any], cwd: str, problems: list[str]) -> McpServer | None:
    kind = entry.get("type") or "stdio"
    name = entry.get("name") or ""
    if kind == "stdio":
        return _usable(name, _program(entry, cwd), problems)
    if kind == "http":
        return _usable(name, _address(entry), problems)
    what = "SSE, which is outdated" if kind == "sse" else f"'{kind}'"
    problems.append(f"The MCP server '{name}' is left out: it speaks {what}; awf speaks stdio and http.")
    return None


def _program(entry: Mapping[str, Any], cwd: str) -> McpServer:
    return McpServer(
        command=entry.get("command") or "",
        args=list(entry.get("args") or ()),
        env=dict(_pairs(entry, "env")),
        cwd=cwd or None,
    )


def _address(entry: Mapping[str, Any]) -> McpServer:
    headers: dict[str, tuple[str, str]] = {}
    for name, value in _pairs(entry, "headers"):
        headers[name.lower()] = (name, value)
    return McpServer(url=entry.get("url") or "", headers=dict(headers.values()))


def _pairs(entry: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
    for pair in entry.get(key) or ():
        yield pair["name"], pair["value"]


def _usable(name: str, server: McpServer, problems: list[str]) -> McpServer | None:
    """The server without what cannot be sent; none where it cannot be reached at all."""
    env, headers = dict(server.env), dict(server.headers)
    for field, message, _ in problems_with(_taken_at_its_word(server)):
        group, _, key = field.partition(".")
        if not key:
            problems.append(f"The MCP server '{name}' is left out. {message}")
            return None
        (env if group == "env" else headers).pop(key, None)
        problems.append(f"The MCP server '{name}' goes without it: {message}")
    texts = (server.command or "", *server.args, *env.values())
    if any("\0" in text for text in texts):
        problems.append(f"The MCP server '{name}' is left out. Its command line holds a NUL character.")
        return None
    return msgspec.structs.replace(server, env=env, headers=headers)


def _taken_at_its_word(server: McpServer) -> McpServer:
    """For the check alone: an address that looks like a template would be taken on trust."""
    url = server.url and server.url.replace("{", "%7B")
    return msgspec.structs.replace(server, url=url)


def _secrets(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Headers, variables whose names look secret, and what an address gives away."""
    for name, value in _pairs(entry, "env"):
        if value and looks_secret(name):
            yield name, value
    for name, value in _pairs(entry, "headers"):
        credential = name.lower() in _CREDENTIAL_HEADERS or looks_secret(name)
        if credential or len(value) >= _SHORT:
            yield name, value
        scheme, _, token = value.partition(" ")
        if name.lower() in _CREDENTIAL_HEADERS and scheme.isalpha() and token.strip():
            yield f"{name} {scheme}", token.strip()
    yield from _secrets_of_address(entry.get("url") or "")


def _secrets_of_address(url: str) -> Iterator[tuple[str, str]]:
    for name, value in re.findall(r"[?&]([^=&#]+)=([^&#]+)", url):
        if looks_secret(name):
            yield name, value
    for password in re.findall(r"://[^/@:]*:([^/@]+)@", url):
        yield "password", password


def _fit_names(read: Mapping[str, McpServer]) -> dict[str, McpServer]:
    """Names that can stand before those of tools. Those that are fit already are never changed."""
    fit: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(read, key=lambda one: (_legal(one) != one, one)):
        fit[name] = _free(_legal(name), taken, fold=True)
        taken.add(_folded(fit[name]))
    return {fit[name]: server for name, server in read.items()}


def _legal(name: str) -> str:
    legal = _ILLEGAL.sub("_", name) or "server"
    return legal if legal[0].isalpha() or legal[0] == "_" else f"_{legal}"


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")  # as the names of tools are compared


def _free(wanted: str, taken: Mapping[str, Any] | set[str], *, fold: bool = False) -> str:
    name, number = wanted, 1
    while (_folded(name) if fold else name) in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
