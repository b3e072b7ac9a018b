"""How often the tables were changed, asked on the event loop.

Whoever writes changes a mark that all processes see (`Stamp`). Where it is another one, and now and then in any case, SQLite
is asked whether any other connection has written. Only then the counters are read.
"""

from __future__ import annotations

import os
import sqlite3
from math import inf
from time import monotonic
from typing import Literal

from awf.infrastructure.gate_store.stamp import Stamp
from awf.infrastructure.gate_store.trouble import unavailable

__all__ = ["ChangeWatch", "Table"]

Table = Literal["grants", "approvals", "contexts"]

_LOOK_SECONDS = 0.025  # how long the mark alone counts


class ChangeWatch:
    """It has a connection of its own: changes made through the same one would not show."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            self._stamp = Stamp(f"{path}.stamp")
        except (sqlite3.Error, OSError) as error:
            raise unavailable(path, error) from error
        self._file = _identity(path)
        self._mark = b""
        self._until = -inf
        self._seen: int | None = None
        self._counts: dict[str, int] = {}
        self._unsure = 0

    def changed(self) -> None:
        """Something was written and is safe."""
        self._stamp.change()

    def version(self, table: Table) -> int:
        """Raises `AwfError` when the file is damaged or closed, or another one lies in its place.

        Then changes would go to a file that we do not see, revocations among them.
        """
        try:
            mark = self._stamp.look()  # first: what is changed meanwhile shows the next time
        except ValueError as error:
            raise unavailable(self._path, "it was closed") from error
        if mark == self._mark and monotonic() < self._until:
            return self._counts[table]
        if _identity(self._path) != self._file:
            raise unavailable(self._path, "it was moved or replaced while it was in use")
        try:
            seen = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if seen != self._seen:
                self._counts = dict(self._connection.execute("SELECT what, count FROM changes").fetchall())
                self._seen = seen
            self._mark, self._until = mark, monotonic() + _LOOK_SECONDS
            return self._counts[table]
        except (sqlite3.Error, KeyError) as error:
            if isinstance(error, sqlite3.Error) and _is_busy(error):
                self._unsure -= 1  # a number that was never there: whoever compares looks for himself
                return self._unsure
            raise unavailable(self._path, error) from error

    def close(self) -> None:
        self._until = -inf
        self._connection.close()
        self._stamp.close()


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0)  # misuse of a closed connection has none
    return code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
