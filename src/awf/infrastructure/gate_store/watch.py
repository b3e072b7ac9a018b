"""How often the tables were changed, asked on the event loop.

Whoever writes changes a mark that all processes see (`Stamp`). Where it is another one, and now and then in any case, SQLite
is asked whether any other connection has written. Only then the counters are read.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Literal, get_args

from awf.domain.errors import AwfError
from awf.infrastructure.gate_store.stamp import NO_MARK, Stamp
from awf.infrastructure.gate_store.trouble import unavailable

if TYPE_CHECKING:
    from awf.infrastructure.gate_store.trouble import Standing

__all__ = ["ChangeWatch", "Table"]

Table = Literal["grants", "approvals", "contexts"]

TABLES: tuple[Table, ...] = get_args(Table)
_LOOK_SECONDS = 0.025  # how long the mark alone counts


class ChangeWatch:
    """It has a connection of its own: changes made through the same one would not show."""

    def __init__(self, path: str, standing: Standing) -> None:
        self._path = path
        self._standing = standing
        try:
            self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            self._stamp = Stamp(f"{path}.stamp")
        except (sqlite3.Error, OSError) as error:
            raise unavailable(path, error) from error
        self._file = _identity(path)
        self._mark = NO_MARK
        self._changes = 0
        self._until = -inf
        self._seen: int | None = None
        self._counts: dict[Table, int] = {}
        self._unsure = 0

    def changed(self) -> None:
        """Something was written and is safe."""
        self._stamp.change()

    def changes(self) -> int:
        """Another number as soon as anything has changed. Raises as `version` does."""
        try:
            mark = self._stamp.look()  # first: what is changed meanwhile shows the next time
        except ValueError as error:
            raise unavailable(self._path, "it was closed") from error
        if mark != self._mark or monotonic() >= self._until:
            self._look(mark)
        return self._changes

    def version(self, table: Table) -> int:
        """Raises `AwfError` when the file is damaged or closed, or another one lies in its place.

        Then changes would go to a file that we do not see, revocations among them.
        """
        self.changes()
        return self._counts[table]

    def _look(self, mark: bytes) -> None:
        try:
            self._look_up(mark)
        except AwfError as error:
            self._standing.lost("looked at", error)
            raise
        self._standing.found("looked at")

    def _look_up(self, mark: bytes) -> None:
        if _identity(self._path) != self._file:
            raise unavailable(self._path, "it was moved or replaced while it was in use")
        with contextlib.suppress(OSError):
            if self._stamp.renewed():
                mark = self._stamp.look()  # that of the other file says nothing about this one
        try:
            seen = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if seen != self._seen:
                counts = self._connection.execute("SELECT what, count FROM changes").fetchall()
                self._counts = dict.fromkeys(TABLES, 0) | dict(counts)
                self._changes += 1
                self._seen = seen
        except sqlite3.Error as error:
            if not _is_busy(error):
                raise unavailable(self._path, error) from error
            # Numbers that were never there: whoever compares looks for himself.
            self._unsure -= 1
            self._counts = dict.fromkeys(TABLES, self._unsure)
            self._changes += 1
            self._seen = None
            return
        self._mark = mark
        self._until = -inf if mark == NO_MARK else monotonic() + _LOOK_SECONDS

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
