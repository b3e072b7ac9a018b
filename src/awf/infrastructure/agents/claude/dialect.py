"""Claude Code, as the shared provider wants to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.tools import PROXY_NAME
from awf.infrastructure.agents.claude.argv import invocation
from awf.infrastructure.agents.claude.options import ClaudeOptions
from awf.infrastructure.agents.claude.stream import ClaudeReader

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Invocation, Task

__all__ = ["Claude"]

_OURS = f"mcp__{PROXY_NAME}__"


class Claude:
    name = "claude"
    program = "claude"
    install_hint = "npm install -g @anthropic-ai/claude-code"
    options = ClaudeOptions
    proven = ((2, 1, 153), (2, 1, 325))  # 2.1.0 was seen to warm up helpers that have native tools

    async def prepare(self, *_: Any) -> dict[str, Any]:
        return {}

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        del prepared
        return invocation(task)

    def reader(self, task: Task) -> ClaudeReader:
        del task
        return ClaudeReader()

    def own_tool(self, name: str) -> str | None:
        return name.removeprefix(_OURS) if name.startswith(_OURS) else None
