"""How OpenCode is given its configuration and, where they are to be its only ones, our tools."""

from __future__ import annotations

import json
import os.path
from typing import TYPE_CHECKING, Any

from awf.infrastructure.agents.opencode.configuration import AGENT, configuration, with_earlier
from awf.infrastructure.agents.opencode.sessions import database_file

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["foreign_settings", "injection"]

_CONTENT = "OPENCODE_CONFIG_CONTENT"
# Ways in which the user's environment could change what we configure.
_FOREIGN = {
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "OPENCODE_PERMISSION",
    "OPENCODE_EXPERIMENTAL_CODE_MODE",
}


def injection(task: Task) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Arguments, variables and files."""
    instructions, files = _instructions(task)
    files.update(_empty_configuration(task))
    settings = configuration(task, instructions)
    if not task.intercepts:
        settings = with_earlier(_given(task), settings)
    variables = {_CONTENT: json.dumps(settings), **_quiet(task), **_places(task)}
    return _flags(task), variables, files


def foreign_settings(task: Task) -> frozenset[str]:
    """Variables that the program must not inherit."""
    return frozenset(_FOREIGN - set(task.options.env)) if task.intercepts else frozenset()


def _flags(task: Task) -> list[str]:
    if task.intercepts:
        return ["--agent", AGENT, "--pure"]
    options = task.options
    agent = ["--agent", options.agent] if options.agent else []
    return [*agent, *(["--auto"] if options.auto_approve else [])]


def _instructions(task: Task) -> tuple[str, dict[str, str]]:
    """The system prompt, after OpenCode's own. A file, for a variable has room for 128 KiB only."""
    if not task.system_prompt:
        return "", {}
    path = os.path.join(task.folder, "instructions.md")
    return path, {path: task.system_prompt}


def _is_unconfigured(task: Task) -> bool:
    """Whether it must not see the user's configuration: the MCP servers in it would be started."""
    return task.intercepts and not task.options.user_config


def _empty_configuration(task: Task) -> dict[str, str]:
    """A folder for its configuration that looks as if plugins could be used: else it installs a package for them."""
    if not _is_unconfigured(task):
        return {}
    folder = os.path.join(task.folder, "config", "opencode")
    package = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    return {
        os.path.join(folder, "node_modules", ".empty"): "",
        os.path.join(folder, "package-lock.json"): json.dumps(package),
    }


def _given(task: Task) -> dict[str, Any]:
    try:
        given = json.loads(task.env.get(_CONTENT) or "{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _quiet(task: Task) -> dict[str, str]:
    quiet = ["AUTOUPDATE", "LSP_DOWNLOAD"]
    if task.options.base_url:  # the user's own logins need the list of models and the plugins for logins
        quiet += ["MODELS_FETCH", "DEFAULT_PLUGINS"]
    if task.intercepts:  # plugins and agents of the project run code
        quiet.append("PROJECT_CONFIG")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in quiet}


def _places(task: Task) -> dict[str, str]:
    """Its own tools hand these on to other programs, so they are changed only where it has none."""
    database = database_file(task)
    places = {"OPENCODE_DB": database} if database else {}
    if _is_unconfigured(task):
        places["XDG_CONFIG_HOME"] = os.path.join(task.folder, "config")
    if task.intercepts and task.options.base_url:  # else the user's login is needed
        places["XDG_DATA_HOME"] = os.path.join(task.state, "data")
        places["XDG_STATE_HOME"] = os.path.join(task.state, "state")
    return places
