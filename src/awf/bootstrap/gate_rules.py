"""The rules of a gateway's file, prepared for tools of every source."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from awf.application.gate.deciding import ToolRules
    from awf.application.gateway.view import PublishedTool
    from awf.bootstrap.app import App
    from awf.domain.gateway_file import GatewayFile

__all__ = ["GateRules"]


class GateRules:
    def __init__(self, app: App, file: GatewayFile) -> None:
        from awf.application.gate.deciding import Decider
        from awf.domain.policy import Policy
        from awf.infrastructure.real_paths import RealPaths

        self._file = file
        self._cwd = app.cwd
        self._home = app.environment.get("HOME", "")
        around = RealPaths(app.cwd, self._home)
        self.decider = Decider(file.policy or Policy(), app.expressions, around)

    def served(self, tool: PublishedTool, original: dict[str, Any]) -> ToolRules:
        """For a tool of a server; `original` is its definition as the server sent it."""
        from awf.application.gate.tool_facts import tool_facts
        from awf.infrastructure.real_paths import RealPaths

        override = self._file.overrides.get(tool.id)
        facts = tool_facts(
            tool.id,
            tool.definition["name"],
            f"mcp:{tool.server}",
            original.get("annotations"),
            original.get("_meta"),
            override,
            self._file,
        )
        folder = os.path.join(self._cwd, self._file.servers[tool.server].cwd or "")
        return self.decider.prepare(facts, tool.definition.get("inputSchema"), RealPaths(folder, self._home))

    def builtin(self, name: str, *, networked: bool = True) -> ToolRules | None:
        """None: there is no such tool. `networked`: whether the commands of Bash reach a network."""
        from awf.application.gate.tool_facts import tool_facts
        from awf.infrastructure.builtin_tools.definitions import DEFINITIONS

        tool = next((one for one in DEFINITIONS if one.name == name), None)
        if tool is None:
            return None
        tool_id = f"builtin:{name}"
        override = self._file.overrides.get(tool_id)
        facts = tool_facts(
            tool_id, name, "builtin", tool.annotations, {}, override, self._file, networked=networked
        )
        return self.decider.prepare(facts, tool.input_schema)

    def builtin_names(self) -> list[str]:
        from awf.infrastructure.builtin_tools.definitions import DEFINITIONS

        return [one.name for one in DEFINITIONS]
