"""How often the tables were changed, asked on the event loop.

SQLite tells a connection in some microseconds whether any other one has written. Only then the counters are read.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Literal

from awf.infrastructure.gate_store.trouble import unavailable

__all__ = ["ChangeWatch", "Table"]

Table = Literal["grants", "approvals", "contexts"]


class ChangeWatch:
    """It has a connection of its own: changes made through the same one would not show."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise unavailable(path, error) from error
        self._file = _identity(path)
        self._seen: int | None = None
        self._counts: dict[str, int] = {}
        self._unsure = 0

    def version(self, table: Table) -> int:
        """Raises `AwfError` when the file is damaged or closed, or another one lies in its place.

        Then changes would go to a file that we do not see, revocations among them.
        """
        if _identity(self._path) != self._file:
            raise unavailable(self._path, "it was moved or replaced while it was in use")
        try:
            seen = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if seen != self._seen:
                self._counts = dict(self._connection.execute("SELECT what, count FROM changes").fetchall())
                self._seen = seen
            return self._counts[table]
        except (sqlite3.Error, KeyError) as error:
            if isinstance(error, sqlite3.Error) and _is_busy(error):
                self._unsure -= 1  # a number that was never there: whoever compares looks for himself
                return self._unsure
            raise unavailable(self._path, error) from error

    def close(self) -> None:
        self._connection.close()


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0)  # misuse of a closed connection has none
    return code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
