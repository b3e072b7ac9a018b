"""How Codex is given the tools of a proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.tools import PROXY_NAME

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task
    from awf.infrastructure.agents.codex.options import CodexOptions

__all__ = ["injection"]

# Features that put tools before the model, or talk to the network. Set one by one as settings, for those accept
# names that a version does not know; the flag `--disable` does not.
_FEATURES = (
    "apps",
    "browser_use",
    "code_mode",
    "code_mode_only",
    "computer_use",
    "goals",
    "hooks",
    "image_generation",
    "memories",
    "multi_agent",
    "multi_agent_v2",
    "plugins",
    "request_permissions_tool",
    "shell_tool",
    "skill_search",
    "sleep_tool",
    "standalone_web_search",
    "tool_suggest",
    "unified_exec",
    "view_image",
)
_PATIENCE = 600  # seconds for one call
_START = 60


def injection(task: Task, catalogue: str) -> tuple[list[str], dict[str, Any]]:
    """Flags and settings."""
    settings = _server(task)
    if task.intercepts:
        return ["--ignore-user-config", "--ignore-rules"], {**settings, **_no_own_tools(catalogue)}
    return [], {**settings, **_own_tools(task.options)}


def _server(task: Task) -> dict[str, Any]:
    if task.endpoint is None:
        return {}
    command, *arguments = task.endpoint.command
    server = f"mcp_servers.{PROXY_NAME}"
    shown = {} if task.intercepts else {f"{server}.omit_tools_from": ["deferred", "code_mode"]}
    return {
        f"{server}.command": command,
        f"{server}.args": arguments,
        f"{server}.required": True,
        f"{server}.default_tools_approval_mode": "approve",
        f"{server}.startup_timeout_sec": _START,
        f"{server}.tool_timeout_sec": _PATIENCE,
        **shown,
    }


def _no_own_tools(catalogue: str) -> dict[str, Any]:
    return {
        "web_search": "disabled",
        "tools.experimental_request_user_input.enabled": False,
        "tools.update_plan.enabled": False,
        "model_catalog_json": catalogue,
        # Of its own skills the model would read that it has tools to use them with.
        "skills.include_instructions": False,
        "skills.bundled.enabled": False,
        **{f"features.{name}": False for name in _FEATURES},
    }


def _own_tools(options: CodexOptions) -> dict[str, Any]:
    workspace = "sandbox_workspace_write"
    found = {
        "sandbox_mode": options.sandbox,
        f"{workspace}.network_access": options.network,
        f"{workspace}.writable_roots": options.add_dir or None,
        "web_search": options.web_search,
    }
    return {name: value for name, value in found.items() if value is not None}
