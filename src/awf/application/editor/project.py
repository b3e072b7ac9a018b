"""What sessions need of the folder they work in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.editor.commands import FoundWorkflow, Offered, command_list, offered_commands

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from awf.application.running.service import ExecutionService
    from awf.application.running.services import RunServices
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.ports.person import Person
    from awf.domain.ports.run_store import RunStore
    from awf.domain.program import Program, WorkflowHead, WorkflowLoader
    from awf.domain.redaction import Masker

__all__ = ["EditorProject", "Workflows"]


class EditorProject(msgspec.Struct, frozen=True, kw_only=True):
    """The services of one folder. Nothing of it is made before it is needed."""

    cwd: str
    masker: Masker
    workflows: Workflows
    execution: Callable[[], ExecutionService]
    store: Callable[[], RunStore]
    services: Callable[[Person, Mapping[str, McpServer], str], RunServices]  # the last: a security context
    definition: Callable[[str], Awaitable[Program]]  # of an earlier run
    listeners: Callable[[], Sequence[EventListener]]
    close: Callable[[], Awaitable[None]]


class Workflows:
    """The workflows of a folder as commands, kept up to date."""

    def __init__(self, loader: Callable[[], WorkflowLoader]) -> None:
        self._loader = loader
        self._heads: Sequence[WorkflowHead] | None = None
        self.offered: list[Offered] = []
        self.broken: list[WorkflowHead] = []
        self._commands: dict[bool, list[dict[str, Any]]] = {}

    def commands(self, *, parked: bool) -> list[dict[str, Any]]:
        """As editors are told of them. One list for all sessions, made once for every change of the files."""
        if parked not in self._commands:
            self._commands[parked] = command_list(self.offered, parked=parked)
        return self._commands[parked]

    def names(self) -> list[str]:
        """Quick: no file is read."""
        return [name for name, _, _ in self._loader().names()]

    async def refresh(self) -> bool:
        """Look again; whether anything has changed. Files are read in a thread: there may be hundreds."""
        heads = await asyncio.to_thread(lambda: self._loader().heads())
        if heads == self._heads:
            return False
        self._heads = heads
        self._commands.clear()
        self.broken = [head for head in heads if head.problem]
        self.offered = offered_commands(
            [
                FoundWorkflow(name=head.name, description=head.description, inputs=head.inputs)
                for head in heads
                if not head.problem
            ]
        )
        return True
