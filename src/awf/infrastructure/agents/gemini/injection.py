"""How Gemini CLI is given the tools of a proxy."""

from __future__ import annotations

import json
import os.path
from typing import TYPE_CHECKING, Any

from awf.domain.ports.tools import PROXY_NAME
from awf.infrastructure.agents.gemini.home import own_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["ROLE_FILE", "injection", "merged"]

ROLE_FILE = "AWF.md"  # no project has instructions of this name by chance
_CALL_MILLISECONDS = 24 * 60 * 60 * 1000  # the step's own time limit is the one that counts

# Whatever is not ours is denied. Admin policies come before those of the user.
_POLICY = f"""\
[[rule]]
toolName = "*"
decision = "deny"
priority = 900

[[rule]]
mcpName = "{PROXY_NAME}"
toolName = "*"
decision = "allow"
priority = 950
"""


def injection(task: Task, users: Mapping[str, Any], auth: str) -> tuple[list[str], dict[str, str]]:
    """Arguments and files."""
    own = own_folder(task)
    theirs = {} if task.intercepts else users
    settings = merged(theirs, _settings(task, theirs, auth))
    files = {os.path.join(own, "settings.json"): json.dumps(settings)}
    if task.system_prompt:
        files[os.path.join(own, ROLE_FILE)] = task.system_prompt
    if not task.intercepts:
        return _permissions(task), files
    policy = os.path.join(task.folder, "policy.toml")
    argv = ["--admin-policy", policy, "--allowed-mcp-server-names", PROXY_NAME, "-e", "none"]
    return argv, {**files, policy: _POLICY}


def _settings(task: Task, users: Mapping[str, Any], auth: str) -> dict[str, Any]:
    options = task.options
    general: dict[str, Any] = {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}
    if options.max_attempts is not None:
        general["maxAttempts"] = options.max_attempts
    settings: dict[str, Any] = {
        "general": general,
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "context": {"fileName": _instruction_files(users)},
    }
    if auth:
        settings["security"] = {"auth": {"selectedType": auth}}
    if options.max_turns is not None:
        settings["model"] = {"maxSessionTurns": options.max_turns}
    if task.intercepts:
        settings |= {"hooksConfig": {"enabled": False}, "skills": {"enabled": False}}
        # Otherwise it puts a list of the project's files into the prompt, and looks for files the prompt may mean.
        settings["context"] |= {
            "includeDirectoryTree": False,
            "fileFiltering": {"enableRecursiveFileSearch": False},
        }
    if task.endpoint is not None:
        settings["mcpServers"] = {PROXY_NAME: _server(task.endpoint.command)}
    return settings


def _instruction_files(users: Mapping[str, Any]) -> list[str]:
    """What a step says of itself is read as instructions in the home are, so the agent's own prompt stays."""
    context = users.get("context")
    named = context.get("fileName") if isinstance(context, dict) else None
    theirs = [named] if isinstance(named, str) else named
    return [*(theirs if isinstance(theirs, list) else ["GEMINI.md"]), ROLE_FILE]


def _server(command: tuple[str, ...]) -> dict[str, Any]:
    program, *arguments = command
    return {"command": program, "args": arguments, "trust": True, "timeout": _CALL_MILLISECONDS}


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which the second ones win, key by key."""
    result = dict(under)
    for key, value in over.items():
        beneath = result.get(key)
        both = isinstance(value, dict) and isinstance(beneath, dict)
        result[key] = merged(beneath, value) if both and beneath is not None else value
    return result


def _permissions(task: Task) -> list[str]:
    options = task.options
    argv = ["--approval-mode", options.approval_mode] if options.approval_mode else []
    if options.allowed_tools:
        argv += ["--allowed-tools", ",".join(options.allowed_tools)]
    for folder in options.include_directories:
        argv += ["--include-directories", folder]
    return argv
