"""Gemini CLI, as the shared provider wants to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.tools import PROXY_NAME
from awf.infrastructure.agents.gemini.argv import has_key, invocation
from awf.infrastructure.agents.gemini.endings import explained
from awf.infrastructure.agents.gemini.home import furnish, user_settings
from awf.infrastructure.agents.gemini.mentions import exists_below, plain
from awf.infrastructure.agents.gemini.options import GeminiOptions
from awf.infrastructure.agents.gemini.stream import GeminiReader

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Invocation, Task, Trouble

__all__ = ["Gemini"]

_OURS = f"mcp_{PROXY_NAME}_"


class Gemini:
    name = "gemini"
    program = "gemini"
    install_hint = "npm install -g @google/gemini-cli"
    options = GeminiOptions
    home_variable = "GEMINI_CLI_HOME"
    proven = ((0, 61, 0), (0, 61, 0))

    async def prepare(self, task: Task, *_: Any) -> dict[str, Any]:
        """Its home is made here, with what is the user's own linked into it."""
        furnish(task, login=not has_key(task))
        prompt = plain(task.prompt, exists_below([task.cwd])) if task.intercepts else task.prompt
        return {"settings": user_settings(task.env), "prompt": prompt}

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        return invocation(task, prepared)

    def reader(self, task: Task) -> GeminiReader:
        del task
        return GeminiReader()

    def own_tool(self, name: str) -> str | None:
        return name.removeprefix(_OURS) if name.startswith(_OURS) else None

    def explain(self, trouble: Trouble, exit_code: int) -> Trouble:
        return explained(trouble, exit_code)
