"""How Gemini CLI is started."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from awf.infrastructure.agents.cli.shapes import Invocation
from awf.infrastructure.agents.gemini.home import own_folder
from awf.infrastructure.agents.gemini.injection import injection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.agents.cli.shapes import Task
    from awf.infrastructure.agents.gemini.options import GeminiOptions

__all__ = ["auth_type", "has_key", "invocation"]

_OTHER_LOGINS = frozenset({"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_API_KEY"})

# It loads a file `.env` of the project, which sets what is not set yet. With these the project could replace the whole
# system prompt, send the key elsewhere, or run code of its own in our server.
_PINNED = {
    "GEMINI_SYSTEM_MD": "false",
    "GEMINI_WRITE_SYSTEM_MD": "false",
    **dict.fromkeys(("GOOGLE_GEMINI_BASE_URL", "NODE_OPTIONS", "BASH_ENV"), ""),
    **dict.fromkeys(("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"), ""),
}


def invocation(task: Task, prepared: Mapping[str, Any]) -> Invocation:
    options: GeminiOptions = task.options
    argv = [task.program, "-o", "stream-json", "--skip-trust"]
    if options.model:
        argv += ["-m", options.model]
    argv += ["--resume", task.session] if task.session else ["--session-id", task.new_session]
    users = prepared["settings"]
    more, files = injection(task, users, auth_type(task, users))
    return Invocation(
        argv=[*argv, *more, *options.extra_args],
        env={
            **(_pinned(task) if task.intercepts else {}),
            "GEMINI_CLI_HOME": os.path.dirname(own_folder(task)),
            **_endpoint(options),
        },
        without=_OTHER_LOGINS if options.api_key else frozenset(),
        stdin=prepared["prompt"],
        files=files,
    )


def has_key(task: Task) -> bool:
    """Whether the step brings its own key, so that the user's login is not needed."""
    return bool(task.options.api_key or task.env.get("GEMINI_API_KEY"))


def auth_type(task: Task, users: Mapping[str, Any]) -> str:
    """How the agent signs in; empty where its environment decides."""
    if task.options.api_key:
        return "gemini-api-key"
    if any(task.env.get(name) == "true" for name in _OTHER_LOGINS):
        return ""
    if task.env.get("GEMINI_API_KEY"):
        return "gemini-api-key"
    security = users.get("security")
    auth = security.get("auth") if isinstance(security, dict) else None
    chosen = auth.get("selectedType") if isinstance(auth, dict) else None
    return chosen if isinstance(chosen, str) else ""


def _pinned(task: Task) -> dict[str, str]:
    return {name: value for name, value in _PINNED.items() if name not in task.env}


def _endpoint(options: GeminiOptions) -> dict[str, str]:
    found = {"GOOGLE_GEMINI_BASE_URL": options.base_url, "GEMINI_API_KEY": options.api_key}
    return {name: value for name, value in found.items() if value}
