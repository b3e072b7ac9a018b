"""One SQLite file: opened with care, and brought up to date under a lock. Several processes may have it open (WAL)."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.infrastructure.sqlite_files import Layout, alone, make_private
from awf.infrastructure.stores.writing import GroupWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Database"]

_BUSY_MS = 50  # the writer tries again by itself
_OPENING_SECONDS = (
    60.0  # another process may be about to let go of the file, or to take it in hand after a crash
)
_LAYOUT = Layout(os.path.join(os.path.dirname(__file__), "migrations"))


class Database:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, "awf.db")
        self._open_folder()
        self.reader = self._connect()
        self.writer = GroupWriter(self.reader, self.path)

    def _open_folder(self) -> None:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise _unavailable(self.folder, error.strerror or str(error)) from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise _unavailable(self.folder, "it is not writable")

    def _connect(self) -> sqlite3.Connection:
        """Several processes may do this at once, also with a file that is not there yet."""
        try:
            with alone(f"{self.path}.lock"):
                make_private(self.path)
                return self._prepared()
        except (sqlite3.Error, OSError) as error:
            raise _unavailable(self.path, str(error)) from error

    def _prepared(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_OPENING_SECONDS, isolation_level=None)
        try:
            self._refuse_newer(connection)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            _LAYOUT.bring_up_to_date(connection)
            connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_newer(self, connection: sqlite3.Connection) -> None:
        """Before anything is changed in a file whose layout we do not know."""
        current, newest = _LAYOUT.of(connection), _LAYOUT.newest
        if current > newest:
            raise AwfError(
                "SYSTEM.STORE.NEWER",
                f"{self.path} has layout {current}; this version knows {newest}.",
                hint="Upgrade awf, or pass --storage DIR.",
            )

    # -- reading ---------------------------------------------------------------------------------------------------

    def each(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows, as far as they are asked for."""
        try:
            yield from self.reader.execute(sql, values)
        except sqlite3.Error as error:  # the file was damaged or taken away under our feet
            raise _unavailable(self.path, str(error)) from error

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self.reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise _unavailable(self.path, str(error)) from error

    def row(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        found = self.rows(sql, values)
        return found[0] if found else None

    def close(self) -> None:
        self.writer.close()
        self.reader.close()


def _unavailable(path: str, why: str) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.UNAVAILABLE",
        f"The run store {path} cannot be used: {why}.",
        hint="Check its permissions, or choose another directory with --storage DIR or AWF_STORAGE.",
    )
