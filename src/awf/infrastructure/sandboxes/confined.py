"""One program inside its walls, whichever they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from awf.infrastructure.folder_removal import remove_folder
from awf.infrastructure.sandboxes.limits import breach_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.ports.command_runner import Command, CommandOutcome
    from awf.domain.sandbox import SandboxRules
    from awf.infrastructure.sandboxes.cgroups import Cell

__all__ = ["ConfinedCommand"]


class ConfinedCommand:
    def __init__(
        self, command: Command, rules: SandboxRules, cell: Cell | None, fds: Sequence[int], folder: str = ""
    ) -> None:
        """`folder`: its own, which goes with it."""
        self.command = command
        self._rules = rules
        self._cell = cell
        self._fds = list(fds)
        self._folder = folder

    def started(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()

    def breach(self, outcome: CommandOutcome) -> str:
        return breach_of(self._rules, outcome, self._cell)

    def close(self) -> None:
        self.started()
        if self._cell is not None:
            self._cell.release()
            self._cell = None
        if self._folder:
            remove_folder(self._folder)
            self._folder = ""
