"""The processes that belong to a command, seen through its process group alone."""

from __future__ import annotations

import contextlib
import os
from typing import Protocol

__all__ = ["Kin", "ProcessGroup"]


class Kin(Protocol):
    """Everything a command started that may still be there."""

    def any_left(self) -> bool:
        """Cheap; asked after every command. Only meaningful once the main process is reaped."""
        ...

    def signal_group(self, *signals: int) -> None: ...

    def signal_escaped(self, *signals: int) -> int:
        """Those outside the group; how many there were."""
        ...

    def signal_newcomers(self, *signals: int) -> int:
        """Those outside the group that were not seen when the others were signalled."""
        ...

    def signal_all(self, *signals: int) -> int: ...


class ProcessGroup:
    """Works on every POSIX system, and cannot see who left the group or how many are in it."""

    def __init__(self, pgid: int) -> None:
        self.pgid = pgid

    def any_left(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self.pgid, os.WNOHANG)[0]:
                pass
        return self._reaches(0)

    def signal_group(self, *signals: int) -> None:
        for number in signals:
            self._reaches(number)

    def signal_escaped(self, *_signals: int) -> int:
        return 0

    def signal_newcomers(self, *_signals: int) -> int:
        return 0

    def signal_all(self, *signals: int) -> int:
        first, *_ = [self._reaches(number) for number in signals]
        return int(first)

    def _reaches(self, number: int) -> bool:
        # PermissionError: only zombies (macOS) or another user's processes; nothing that could be ended.
        try:
            os.killpg(self.pgid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
