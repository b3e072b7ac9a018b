"""The configuration that OpenCode is given, all of it in one variable. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure
from awf.domain.ports.tools import PROXY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.agents.cli.shapes import Task
    from awf.infrastructure.agents.opencode.options import OpenCodeOptions

__all__ = ["AGENT", "configuration", "model_name", "with_earlier"]

AGENT = "awf-only"  # a name that nobody else uses: rules of an agent of the user's would come after ours
_PROVIDER = "awf"
_PATIENCE = 600_000  # milliseconds for one call; its own limit is a minute
_WIRES = {
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
    "anthropic": "@ai-sdk/anthropic",
}
_LONGEST_ANSWER = 32_000  # tokens; what OpenCode itself asks for at most


def configuration(task: Task, instructions: str) -> dict[str, Any]:
    """`instructions` is the file with the system prompt, if there is one."""
    return {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,  # copies of the workspace, for an undo that nobody can ask for
        **_endpoint(task.options),
        **_server(task),
        **_permissions(task),
        **({"instructions": [instructions]} if instructions else {}),
    }


def model_name(options: OpenCodeOptions) -> str:
    """As `--model` wants it; empty for OpenCode's own choice."""
    if not options.base_url:
        return options.model or ""
    if not options.model:
        raise _unusable("With `base_url`, opencode must be told the model.", "Give the option `model`, too.")
    return f"{_PROVIDER}/{options.model}"


def with_earlier(earlier: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Ours over what the user already gives in the same variable."""
    merged = dict(earlier)
    for key, value in ours.items():
        here = merged.get(key)
        deeper = isinstance(here, dict) and isinstance(value, dict)
        merged[key] = with_earlier(here or {}, value) if deeper else value
    return merged


def _endpoint(options: OpenCodeOptions) -> dict[str, Any]:
    name = model_name(options)
    if options.base_url:
        # Without a key the adapters look for variables of their vendors, and fail.
        access = {"baseURL": options.base_url, "apiKey": options.api_key or "none"}
        limit = {"limit": _limit(options.context_window)} if options.context_window else {}
        entry = {
            "name": "AWF",
            "npm": _WIRES[options.wire],
            "options": access,
            "models": {options.model: {"name": options.model, **limit}},
        }
        return {"model": name, "small_model": name, "provider": {_PROVIDER: entry}}
    if options.api_key:
        vendor, slash, _ = name.partition("/")
        if not slash:
            raise _unusable(
                "With `api_key`, opencode must be told whose key it is.",
                "Give the option `model`, written as provider/model.",
            )
        return {"provider": {vendor: {"options": {"apiKey": options.api_key}}}}
    return {}


def _limit(window: int) -> dict[str, int]:
    return {"context": window, "output": min(_LONGEST_ANSWER, max(1, window // 4))}


def _server(task: Task) -> dict[str, Any]:
    if task.endpoint is None:
        return {}
    server = {"type": "local", "command": list(task.endpoint.command), "enabled": True, "timeout": _PATIENCE}
    return {"mcp": {PROXY_NAME: server}}


def _permissions(task: Task) -> dict[str, Any]:
    if not task.intercepts:
        return {"permission": dict(task.options.permission)} if task.options.permission else {}
    closed = {"*": "deny", f"{PROXY_NAME}_*": "allow"}  # the last rule that matches counts
    agent = {"mode": "primary", "description": "Works with the tools of AWF.", "permission": closed}
    return {"agent": {AGENT: agent}, "permission": closed}


def _unusable(message: str, hint: str) -> AgentFailure:
    return AgentFailure(message, code="WORKFLOW.VALIDATION.INVALID_OPTIONS", retryable=False, hint=hint)
