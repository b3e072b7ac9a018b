"""How GitHub Copilot CLI is given the tools of a proxy, and the role it plays."""

from __future__ import annotations

import json
import os.path
from typing import TYPE_CHECKING

from awf.domain.ports.tools import PROXY_NAME

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["injection", "role"]

_CALL_MILLISECONDS = 24 * 60 * 60 * 1000  # the step's own time limit is the one that counts
_PLUGIN = "awf"
_AGENT = "role"


def injection(task: Task) -> tuple[list[str], dict[str, str]]:
    """Arguments and files."""
    if task.endpoint is None:
        return _permissions(task), {}
    command, *arguments = task.endpoint.command
    path = os.path.join(task.folder, "mcp.json")
    server = {"type": "local", "command": command, "args": arguments, "tools": ["*"]}
    servers = {"mcpServers": {PROXY_NAME: {**server, "timeout": _CALL_MILLISECONDS}}}
    argv = ["--additional-mcp-config", f"@{path}", f"--allow-tool={PROXY_NAME}"]
    if task.intercepts:
        # The name of the server: a pattern would match nothing, and an empty list would hide nothing.
        argv += [f"--available-tools={PROXY_NAME}", "--disable-builtin-mcps", "--no-custom-instructions"]
    else:
        argv += _permissions(task)
    return argv, {path: json.dumps(servers)}


def _permissions(task: Task) -> list[str]:
    options = task.options
    argv = ["--allow-all-tools"] if options.allow_all_tools else []
    argv += [f"--allow-tool={tool}" for tool in options.allowed_tools]
    argv += [f"--deny-tool={tool}" for tool in options.denied_tools]
    for folder in options.add_dir:
        argv += ["--add-dir", folder]
    return argv


def role(task: Task) -> tuple[list[str], dict[str, str]]:
    """It has no flag for a system prompt, but takes an agent from a plugin: its text is added to its own prompt."""
    if not task.system_prompt:
        return [], {}
    folder = os.path.join(task.folder, "plugin")
    described = {"name": _PLUGIN, "version": "1.0.0", "description": "The role of this step."}
    agent = f"---\nname: {_AGENT}\ndescription: The role of this step.\n---\n\n{task.system_prompt}\n"
    files = {
        os.path.join(folder, "plugin.json"): json.dumps({**described, "agents": ["agents/"]}),
        os.path.join(folder, "agents", f"{_AGENT}.agent.md"): agent,
    }
    return ["--plugin-dir", folder, "--agent", f"{_PLUGIN}:{_AGENT}"], files
