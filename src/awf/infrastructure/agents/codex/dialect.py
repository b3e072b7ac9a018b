"""Codex, as the shared provider wants to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.infrastructure.agents.codex.argv import invocation
from awf.infrastructure.agents.codex.catalogue import catalogue_file
from awf.infrastructure.agents.codex.home import home_of, spent_before
from awf.infrastructure.agents.codex.options import CodexOptions
from awf.infrastructure.agents.codex.stream import CodexReader, own_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.infrastructure.agents.cli.shapes import Invocation, Task

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
        return {"catalogue": await catalogue_file(task, ask, cache)} if task.intercepts else {}

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        return invocation(task, prepared.get("catalogue", ""))

    def reader(self, task: Task) -> CodexReader:
        return CodexReader(f"{task.new_session[:8]}.", spent_before(home_of(task), task.session))

    def own_tool(self, name: str) -> str | None:
        return own_tool(name)
