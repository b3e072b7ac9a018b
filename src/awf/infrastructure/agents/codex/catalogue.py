"""The models that Codex knows, less what gives them tools of their own.

Which tools a model gets depends on its entry in a list inside the program; features that are switched off are not
enough. So the program is asked for that list, and given back an edited one. It is the same for each version of the
program and is kept, for the list is long.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure
from awf.infrastructure.agents.cli.shapes import version_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["catalogue_file", "without_tools"]

_TOOLLESS: dict[str, Any] = {
    "shell_type": "disabled",
    "apply_patch_tool_type": None,
    "tool_mode": None,
    "supports_search_tool": False,
    "multi_agent_version": None,
    "experimental_supported_tools": [],
}
_EDITION = 1  # raised when what is edited changes, so that an older file is not taken for it
_NEWER = "Install a current Codex: npm install -g @openai/codex"


async def catalogue_file(task: Task, ask: Callable[[Sequence[str]], Awaitable[bytes]], cache: str) -> str:
    """The path of the edited list; made when it is not there yet."""
    kept = os.path.join(cache, f"codex-models-{version_text(task.version)}-{_EDITION}.json")
    if task.version and os.path.exists(kept):
        return kept
    text = without_tools(await _asked(ask))
    if task.version:
        with contextlib.suppress(OSError):
            _put(kept, text)
            return kept
    once = os.path.join(task.folder, "codex-models.json")  # a version unknown, or nowhere to keep it
    _put(once, text)
    return once


def without_tools(said: bytes) -> str:
    """The list as the program prints it, edited."""
    try:
        listed = json.loads(said)
        models = [{**model, **_TOOLLESS} for model in listed["models"]]
    except (ValueError, TypeError, KeyError) as error:
        message = f"The list of models that codex prints is not in the form known: {error}."
        raise AgentFailure(message, retryable=False, hint=_NEWER) from error
    return json.dumps({**listed, "models": models})


async def _asked(ask: Callable[[Sequence[str]], Awaitable[bytes]]) -> bytes:
    try:
        return await ask(["debug", "models", "--bundled"])
    except AgentFailure as failure:
        raise AgentFailure(
            f"Codex cannot be kept to the tools of AWF: {failure.message}", retryable=False, hint=_NEWER
        ) from failure


def _put(path: str, text: str) -> None:
    """All of it or nothing: others may read it at the same time."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.{id(text)}"
    try:
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
