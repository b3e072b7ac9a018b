from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.bootstrap.app import App
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.tool_provider import ToolProvider
    from awf.domain.problem import Problem

__all__ = ["RELAY", "ToolSources"]

# What an agent starts to reach its tools: one file, run without looking at anything that is installed.
RELAY = (
    sys.executable,
    "-I",
    "-S",
    os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "interfaces", "mcp", "relay.py"
    ),
    "mcp-serve",
)


class ToolSources:
    """Which adapter gives which tools."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._spool = ""
        self._told: set[Problem] = set()

    def builtin(self, root: str, environment: Mapping[str, str]) -> ToolProvider:
        from awf.infrastructure.builtin_tools import BuiltinTools

        walls = self._app.walls
        shell = walls.runner(walls.settings.bash, root)
        environment = walls.environment(walls.settings.bash, environment)
        return BuiltinTools(
            root, self._app.runner, environment=environment, spool=self._spool_folder, shell=shell
        )

    def _spool_folder(self) -> str:
        if not self._spool:
            self._spool = self._app.runner.scratch()
        return self._spool

    def plugin(self, name: str, operations: Sequence[str]) -> ToolProvider:
        from awf.infrastructure.plugins.tools import PluginTools

        self._app.declared_plugin(name)
        return PluginTools(self._app.plugins, name, operations)

    def server(self, name: str, server: McpServer, environment: Mapping[str, str]) -> ToolProvider:
        from awf.infrastructure.upstreams import open_server

        app = self._app
        confined = server.command is not None
        runner = app.walls.runner("", app.cwd) if confined else app.runner
        environment = app.walls.environment("", environment)
        on_token = functools.partial(app.masker.renew, f"mcp.{name}.oauth.token")
        publishing = app.publishing
        server = server.working_in(app.cwd)
        return open_server(
            name, server, runner, environment, http=app.http, on_token=on_token, publishing=publishing
        )

    def gateway(self, profile: str, warn: Callable[[Problem], None]) -> ToolProvider:
        from awf.application.gateway.step_tools import GatewayTools
        from awf.bootstrap.gateways import GatewayHouse, gateway_path

        house = GatewayHouse(self._app, gateway_path(self._app))
        house.warn = functools.partial(self._warn_once, warn)
        return GatewayTools(house.open(gated=False), profile, house.located)

    def look_at_names(self, warn: Callable[[Problem], None]) -> None:
        from awf.bootstrap.gateway_import import GATEWAY_FILE

        file = self._app.project_file
        if file is not None:
            path = os.path.join(self._app.cwd, GATEWAY_FILE)
            for one in self._app.unknown_names(file, {}, path):
                self._warn_once(warn, one)

    def _warn_once(self, warn: Callable[[Problem], None], problem: Problem) -> None:
        """Steps may be many."""
        if problem not in self._told:
            self._told.add(problem)
            warn(problem)
