"""What is said when the file cannot be used."""

from __future__ import annotations

import logging
import threading

from awf.domain.errors import AwfError

__all__ = ["UNAVAILABLE", "Standing", "newer", "unavailable"]

UNAVAILABLE = "SYSTEM.GATE_STORE.UNAVAILABLE"
_log = logging.getLogger("awf.gate")


class Standing:
    """Whether the file can be used, told to the log when that changes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._troubles: set[str] = set()  # it may be writable no more, and still be looked at
        self._telling = threading.Lock()

    def lost(self, what: str, error: AwfError) -> None:
        with self._telling:
            if not self._troubles:
                _log.error("calls are refused: %s", error.message)
            self._troubles.add(what)

    def found(self, what: str) -> None:
        if what not in self._troubles:
            return
        with self._telling:
            self._troubles.discard(what)
            if not self._troubles:
                _log.warning("the gate's store %s can be used again", self._path)


def unavailable(path: str, why: object) -> AwfError:
    return AwfError(
        UNAVAILABLE,
        f"The gate's store {path} cannot be used: {why}.",
        hint="Check its permissions and the free space, or choose another directory with AWF_STORAGE.",
    )


def newer(path: str, current: int, known: int) -> AwfError:
    return AwfError(
        "SYSTEM.GATE_STORE.NEWER",
        f"{path} has layout {current}; this version knows {known}.",
        hint="Upgrade awf, or choose another directory with AWF_STORAGE.",
    )
