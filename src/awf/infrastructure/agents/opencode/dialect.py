"""OpenCode, as the shared provider wants to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.tools import PROXY_NAME
from awf.infrastructure.agents.opencode.argv import invocation
from awf.infrastructure.agents.opencode.failures import explained
from awf.infrastructure.agents.opencode.options import OpenCodeOptions
from awf.infrastructure.agents.opencode.sessions import database_of
from awf.infrastructure.agents.opencode.stream import OpenCodeReader

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Invocation, Task, Trouble

__all__ = ["OpenCode"]

_OURS = f"{PROXY_NAME}_"


class OpenCode:
    name = "opencode"
    program = "opencode"
    install_hint = "npm install -g opencode-ai"
    options = OpenCodeOptions
    proven = ((1, 18, 0), (1, 18, 33))

    async def prepare(self, *_: Any) -> dict[str, Any]:
        return {}

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        del prepared
        return invocation(task)

    def reader(self, task: Task) -> OpenCodeReader:
        return OpenCodeReader(database_of(task))

    def own_tool(self, name: str) -> str | None:
        return name.removeprefix(_OURS) if name.startswith(_OURS) else None

    def explain(self, trouble: Trouble, exit_code: int) -> Trouble:
        del exit_code
        return explained(trouble)
