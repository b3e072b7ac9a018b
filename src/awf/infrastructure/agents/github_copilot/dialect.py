"""GitHub Copilot CLI, as the shared provider wants to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.tools import PROXY_NAME
from awf.infrastructure.agents.github_copilot.argv import invocation
from awf.infrastructure.agents.github_copilot.options import CopilotOptions
from awf.infrastructure.agents.github_copilot.stream import CopilotReader, signed_out

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Invocation, Task, Trouble

__all__ = ["Copilot"]

_OURS = f"{PROXY_NAME}-"


class Copilot:
    name = "github_copilot"
    program = "copilot"
    install_hint = "npm install -g @github/copilot"
    options = CopilotOptions
    home_variable = "COPILOT_HOME"
    proven = ((1, 0, 102), (1, 0, 102))

    async def prepare(self, *_: Any) -> dict[str, Any]:
        return {}

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        del prepared
        return invocation(task)

    def reader(self, task: Task) -> CopilotReader:
        return CopilotReader(continued=bool(task.session))

    def own_tool(self, name: str) -> str | None:
        return name.removeprefix(_OURS) if name.startswith(_OURS) else None

    def explain(self, trouble: Trouble, exit_code: int) -> Trouble:
        del exit_code  # it is 1, whatever happened
        return signed_out(trouble)
