"""The SQLite file: opened with care, brought up to date under a lock. Several processes have it open (WAL).

Texts are read as bytes: what somebody has damaged need not be text any more, and has to be looked at all the same.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from awf.domain.audit_chain import GENESIS
from awf.domain.errors import AwfError
from awf.infrastructure.audit_store.failures import DAMAGE, RESTORE, unavailable, unusable
from awf.infrastructure.audit_store.keys import Keys
from awf.infrastructure.audit_store.noted_head import NotedHead
from awf.infrastructure.sqlite_files import Layout, alone, make_private

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Database"]

_BUSY_SECONDS = 5.0
_PAGE = 16384  # bytes; records are long and only ever added, so that larger pages take a third less time
_MIGRATION_BUSY_MS = 60_000
_LOOKS, _LOOK_SECONDS = 40, 0.025  # for a head that somebody may be noting
_LAYOUT = Layout(os.path.join(os.path.dirname(__file__), "migrations"))


class Database:
    def __init__(self, folder: str, *, is_begun: bool = False) -> None:
        """`is_begun`: somebody has it open, so what is not there was taken away."""
        self.folder = folder
        self._is_begun = is_begun
        self.path = os.path.join(folder, "audit.db")
        self._open_folder()
        try:
            with alone(f"{self.path}.lock"):
                self._refuse_loss()
                self.connection = self._connect()
                self._prepare()
        except DAMAGE as error:
            raise unusable(self.path, error) from error
        except OSError as error:
            raise unavailable(self.path, error.strerror or str(error)) from error
        self._file = self._identity()

    def _prepare(self) -> None:
        try:
            self._bring_up_to_date()
            self.origin = self._origin()
            is_new = self._is_new()
            self.keys = Keys(self.folder, is_new=is_new)
            self.noted_head = NotedHead(self.folder, self.keys)
            if not is_new:
                self.keys.mark_used()
            elif not self.keys.are_used() and self.noted_head.read() is None:
                self.noted_head.note(0, GENESIS)  # so that a missing one always means something
        except BaseException:
            self.connection.close()
            raise

    def _open_folder(self) -> None:
        if self._is_begun:
            return
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise unavailable(self.folder, error.strerror or str(error)) from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise unavailable(self.folder, "it is not writable")

    def _refuse_loss(self) -> None:
        """A log that was taken away is not begun anew as if nothing had been."""
        if os.path.exists(self.path):
            return
        if self._is_begun:
            raise unavailable(self.path, "it is gone")
        if Keys.exist(self.folder):
            raise unavailable(self.path, "it is gone, and its keys are still there", RESTORE)

    def _connect(self) -> sqlite3.Connection:
        make_private(self.path)
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = bytes
        try:
            self._refuse_newer(connection)
            connection.execute(f"PRAGMA page_size={_PAGE}")  # of a new one
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
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
        if os.path.exists(self.path) and not os.access(self.path, os.W_OK):
            raise unavailable(self.path, "it is read-only")

    def _bring_up_to_date(self) -> None:
        if _LAYOUT.of(self.connection) == _LAYOUT.newest:
            return
        self.connection.execute(f"PRAGMA busy_timeout={_MIGRATION_BUSY_MS}")
        _LAYOUT.bring_up_to_date(self.connection)
        self.connection.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")

    def _origin(self) -> str:
        row = self.connection.execute("SELECT origin FROM log").fetchone()
        if row is None:
            made = f"awf-audit/{os.urandom(16).hex()}"
            self.connection.execute("INSERT INTO log VALUES (?)", (made,))
            return made
        return bytes(row[0]).decode("utf-8", "replace")

    def _is_new(self) -> bool:
        """Whether nothing was ever recorded."""
        found = self.connection.execute("SELECT 1 FROM records UNION SELECT 1 FROM head LIMIT 1").fetchone()
        return found is None

    def _identity(self) -> tuple[int, int]:
        status = os.stat(self.path)
        return status.st_dev, status.st_ino

    def assure(self) -> None:
        """That the file is still the one that was opened: to write to one that was taken away would tell nobody."""
        try:
            same = self._identity() == self._file
        except OSError as error:
            raise unavailable(self.path, "it is gone") from error
        if not same:
            self.connection.close()
            self.noted_head.close()
            self.connection = self._connect()
            self._prepare()  # it is another log, and has keys of its own
            self._file = self._identity()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Alone among all writers; all of it or nothing."""
        self.assure()
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """What is there now, whatever is written meanwhile."""
        self.connection.execute("BEGIN")
        try:
            yield self.connection
        finally:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def noted(self) -> tuple[int, str] | None:
        """The head that is noted. Whoever merges notes it after the commit, and may be at it right now: then it is looked at again."""
        for _ in range(_LOOKS):
            noted = self.noted_head.read()
            if noted is not None or not self._has_records():
                return noted
            time.sleep(_LOOK_SECONDS)
        return None

    def _has_records(self) -> bool:
        with self.snapshot() as connection:
            return connection.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None

    def close(self) -> None:
        self.noted_head.close()
        self.connection.close()
