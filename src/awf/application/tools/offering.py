"""From the `mcp_proxy` block of a state to what is offered, everything filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.tools.proxy import OfferedTools
from awf.domain.errors import AwfError
from awf.domain.mcp_server import problems_with
from awf.domain.own_variables import handed_on
from awf.domain.workflow import plugin_and_member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.mcp_proxy import McpProxy, ToolServerFile
    from awf.domain.mcp_server import McpServer

__all__ = ["offered_tools", "tools_of_file"]


_ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def offered_tools(
    proxy: McpProxy,
    render: Callable[[str], str],
    *,
    root: str,
    environment: Mapping[str, str],
    short_names: dict[str, str],
) -> OfferedTools:
    plugins = [
        msgspec.structs.replace(one, plugin=plugin_and_member(one.plugin, short_names)[0])
        for one in proxy.plugin_tools
    ]
    return OfferedTools(
        root=root,
        environment=environment,
        builtins=proxy.intercept_builtins,
        plugins=plugins,
        servers={
            name: _filled(server, render) for name, server in proxy.mcp_servers.items() if server.enabled
        },
        gateway=proxy.gateway,
    )


def tools_of_file(file: ToolServerFile, root: str, environment: Mapping[str, str]) -> OfferedTools:
    """What a tool server of its own offers; `${env:NAME}` in its file stands for a variable."""

    def render(text: str) -> str:
        return _ENVIRONMENT.sub(lambda found: _variable(found.group(1), environment), text)

    servers = {name: server for name, server in file.mcp_servers.items() if server.enabled}
    exposes = any(one.expose for one in file.plugin_tools)
    if not (file.intercept_builtins or exposes or servers or file.gateway):
        raise AwfError(
            "USER.MCP_PROXY.EMPTY_PROXY",
            "The file offers nothing: no built-in tools, no plugin tools, no MCP servers, no gateway.",
            hint="Set intercept_builtins to true, or add plugin_tools, mcp_servers or gateway.",
        )
    for name, server in servers.items():
        for field, message, hint in problems_with(server):
            raise AwfError("USER.CONFIG.INVALID", f"mcp_servers.{name}.{field}: {message}", hint=hint)
    return OfferedTools(
        root=root,
        environment=handed_on(environment),
        builtins=file.intercept_builtins,
        plugins=file.plugin_tools,
        servers={name: _filled(server, render) for name, server in servers.items()},
        gateway=file.gateway,
    )


def _variable(name: str, environment: Mapping[str, str]) -> str:
    if name not in environment:
        raise AwfError("USER.INPUT.MISSING_ENV", f"The variable {name} is not set.", hint=f"export {name}=…")
    return environment[name]


def _filled(server: McpServer, render: Callable[[str], str]) -> McpServer:
    texts = {name: getattr(server, name) for name in ("command", "cwd", "url")}
    filled: dict[str, Any] = {name: render(text) for name, text in texts.items() if text is not None}
    filled["args"] = [render(argument) for argument in server.args]
    filled["env"] = {name: render(value) for name, value in server.env.items()}
    filled["headers"] = {name: render(value) for name, value in server.headers.items()}
    if server.oauth is not None:
        given = {name: render(value) for name, value in msgspec.structs.asdict(server.oauth).items()}
        filled["oauth"] = msgspec.structs.replace(server.oauth, **given)
    return msgspec.structs.replace(server, **filled)
