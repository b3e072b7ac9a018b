from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from awf.domain.ports.command_runner import Command, CommandOutcome
    from awf.domain.sandbox import Abilities, SandboxRules

__all__ = ["Confined", "Grounds", "Sandbox"]


class Grounds(msgspec.Struct, frozen=True, kw_only=True):
    """Where a confined program is at home."""

    root: str  # the project's folder
    shared: tuple[str, ...] = ()  # folders that it and we both write, such as one for a socket
    # What governs us, and it may read and not change, also inside `root`: folders, and files with the folders they are in.
    protected: tuple[str, ...] = ()
    protected_files: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()  # what no place that it is shown may hold: the audit, its keys, grants
    home: str = ""  # hidden from it, with an empty one in its place


class Confined(Protocol):
    """One program inside its walls. `close` it when it has ended, or could not be started."""

    command: Command  # what to start in place of the one that was given

    def started(self) -> None:
        """It runs, or failed to: what was held open for its start is let go."""
        ...

    def breach(self, outcome: CommandOutcome) -> str:
        """Which limit ended it, in words that fit behind “stopped by”; empty when none did."""
        ...

    def close(self) -> None: ...


class Sandbox(Protocol):
    """Walls around programs."""

    def abilities(self) -> Abilities:
        """What is enforced on this machine, found by trying."""
        ...

    def prepare(self, command: Command, rules: SandboxRules, grounds: Grounds) -> Confined:
        """Starts nothing. Raises `AwfError` when the program or its folder would be hidden from itself."""
        ...

    def close(self) -> None:
        """All that was started in it has ended."""
        ...
