"""How Claude Code is given the tools of a proxy."""

from __future__ import annotations

import json
import os.path
from typing import TYPE_CHECKING

from awf.domain.ports.tools import PROXY_NAME

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["injection"]


def injection(task: Task) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Arguments, variables and files."""
    if task.endpoint is None:
        return _permissions(task, []), {}, {}
    command, *arguments = task.endpoint.command
    path = os.path.join(task.folder, "mcp.json")
    servers = {"mcpServers": {PROXY_NAME: {"command": command, "args": arguments}}}
    argv = ["--mcp-config", path]
    if task.intercepts:
        argv += ["--strict-mcp-config", "--tools", "", "--disable-slash-commands"]
        if not task.options.user_settings:
            argv += ["--setting-sources", ""]  # hooks in settings files run shell commands
    argv += _permissions(task, [f"mcp__{PROXY_NAME}"])
    # Otherwise the model sees our tools only after it has searched for them.
    return argv, {"ENABLE_TOOL_SEARCH": "false"}, {path: json.dumps(servers)}


def _permissions(task: Task, ours: list[str]) -> list[str]:
    options = task.options
    allowed = ours if task.intercepts else [*ours, *options.allowed_tools]
    argv = ["--allowedTools", ",".join(allowed)] if allowed else []
    if options.disallowed_tools and not task.intercepts:
        argv += ["--disallowedTools", ",".join(options.disallowed_tools)]
    if options.permission_mode and not task.intercepts:
        argv += ["--permission-mode", options.permission_mode]
    for folder in options.add_dir:
        argv += ["--add-dir", folder]
    return argv
