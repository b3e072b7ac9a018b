"""Codex, as the shared provider wants to know it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from awf.infrastructure.agents.codex.argv import invocation
from awf.infrastructure.agents.codex.catalogue import catalogue_file
from awf.infrastructure.agents.codex.failures import explained
from awf.infrastructure.agents.codex.home import home_of, records_of, spent_before
from awf.infrastructure.agents.codex.options import CodexOptions
from awf.infrastructure.agents.codex.role import is_told
from awf.infrastructure.agents.codex.stream import CodexReader, own_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.infrastructure.agents.cli.shapes import Invocation, Task, Trouble

__all__ = ["Codex"]


class Codex:
    name = "codex"
    program = "codex"
    install_hint = "npm install -g @openai/codex"
    options = CodexOptions
    proven = (
        (0, 166, 0),
        (0, 166, 0),
    )  # its tools are switched off one by one: a newer version may have more

    async def prepare(
        self, task: Task, ask: Callable[[Sequence[str]], Awaitable[bytes]], cache: str
    ) -> dict[str, Any]:
        catalogue = await catalogue_file(task, ask, cache) if task.intercepts else ""
        return {"catalogue": catalogue, "role_is_told": _role_is_told(task)}

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        return invocation(task, prepared["catalogue"], role_is_told=prepared["role_is_told"])

    def reader(self, task: Task) -> CodexReader:
        return CodexReader(f"{task.new_session[:8]}.", spent_before(home_of(task), task.session))

    def own_tool(self, name: str) -> str | None:
        return own_tool(name)

    def explain(self, trouble: Trouble, exit_code: int) -> Trouble:
        del exit_code
        return explained(trouble)


def _role_is_told(task: Task) -> bool:
    if not task.session or not task.system_prompt:
        return False
    for path in records_of(home_of(task), task.session):
        with contextlib.suppress(OSError), open(path, "rb") as stream:
            return is_told(task.system_prompt, stream.read())
    return False
