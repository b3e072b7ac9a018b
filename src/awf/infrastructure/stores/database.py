"""One SQLite file: opened with care, brought up to date under a lock, written by one thread per process.

Writers of several processes take turns (WAL, immediate transactions). The thread commits whatever has piled up in one
transaction, so that many parallel branches cost one disk flush, and callers wait for *their* commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.resources.abc import Traversable

__all__ = ["Database", "Statement"]

Statement = tuple[str, tuple[Any, ...]]
_BUSY_SECONDS = 60.0


class _Batch(NamedTuple):
    statements: Sequence[Statement]
    done: asyncio.Future[list[int]] | None


class Database:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, "awf.db")
        self._open_folder()
        self._migrations = _migrations()
        self.reader = self._connect()
        self._migrate()
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.failure: AwfError | None = None

    def _open_folder(self) -> None:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise _unavailable(self.folder, error.strerror or str(error)) from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise _unavailable(self.folder, "it is not writable")

    def _connect(self) -> sqlite3.Connection:
        try:
            with _private_files():
                connection = sqlite3.connect(
                    self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
                )
                self._refuse_newer(connection)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error as error:
            raise _unavailable(self.path, str(error)) from error
        return connection

    def _refuse_newer(self, connection: sqlite3.Connection) -> None:
        """Before anything is changed in a file whose layout we do not know."""
        current, newest = _version(connection), max(self._migrations)
        if current > newest:
            connection.close()
            raise AwfError(
                "SYSTEM.STORE.NEWER",
                f"{self.path} has layout {current}; this version knows {newest}.",
                hint="Upgrade awf, or pass --storage DIR.",
            )

    def _migrate(self) -> None:
        try:
            if _version(self.reader) < max(self._migrations):
                with _flock(f"{self.path}.lock"):
                    self._bring_up_to_date()
        except (sqlite3.Error, OSError) as error:
            raise _unavailable(self.path, str(error)) from error

    def _bring_up_to_date(self) -> None:
        current = _version(self.reader)
        for number, item in sorted(self._migrations.items()):
            if number > current:
                script = item.read_text(encoding="utf-8")
                self.reader.executescript(
                    f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version={number};\nCOMMIT;"
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

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, statements: Sequence[Statement]) -> None:
        """Write in order, some time soon; a failure shows at the next `commit`."""
        self._put(_Batch(statements, None))

    def commit(self, statements: Sequence[Statement]) -> asyncio.Future[list[int]]:
        """Write in order; the future gives the row counts, one per statement, once they are safe."""
        done: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        if self.failure is not None:
            done.set_exception(self.failure)
        else:
            self._put(_Batch(statements, done))
        return done

    def write_now(self, statements: Sequence[Statement]) -> list[int]:
        """Write from a process that has no run of its own."""
        try:
            return _transaction(self.reader, statements)
        except sqlite3.Error as error:
            raise _write_failed(self.path, error) from error

    def _put(self, batch: _Batch) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="awf-store", daemon=True)
            self._thread.start()
        self._queue.put(batch)

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect()
        except AwfError as error:
            self.failure = error
        ended = False
        while not ended:
            batches = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    batches.append(self._queue.get_nowait())
            ended = None in batches
            self._write_batches(connection, [batch for batch in batches if batch is not None])
        if connection is not None:
            connection.close()

    def _write_batches(self, connection: sqlite3.Connection | None, batches: list[_Batch]) -> None:
        counts: list[int] = []
        if batches and connection is not None and self.failure is None:
            try:
                counts = _transaction(
                    connection, [statement for batch in batches for statement in batch.statements]
                )
            except sqlite3.Error as error:
                self.failure = _write_failed(self.path, error)
        start = 0
        for batch in batches:
            end = start + len(batch.statements)
            if batch.done is not None:
                with contextlib.suppress(RuntimeError):  # the loop has gone, and with it whoever waited
                    batch.done.get_loop().call_soon_threadsafe(
                        _settle, batch.done, counts[start:end], self.failure
                    )
            start = end

    def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self.reader.close()


def _migrations() -> dict[int, Traversable]:
    """The numbered steps from one layout to the next."""
    folder = resources.files(__package__).joinpath("migrations")
    return {int(item.name[:4]): item for item in folder.iterdir() if item.name.endswith(".sql")}


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _settle(done: asyncio.Future[list[int]], counts: list[int], failure: AwfError | None) -> None:
    if done.done():
        return
    if failure is not None:
        done.set_exception(failure)
    else:
        done.set_result(counts)


def _transaction(connection: sqlite3.Connection, statements: Sequence[Statement]) -> list[int]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        counts = [connection.execute(sql, values).rowcount for sql, values in statements]
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return counts


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Files made meanwhile can be read by nobody else."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def _flock(path: str) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _unavailable(path: str, why: str) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.UNAVAILABLE",
        f"The run store {path} cannot be used: {why}.",
        hint="Check its permissions, or choose another directory with --storage DIR or AWF_STORAGE.",
    )


def _write_failed(path: str, error: sqlite3.Error) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.WRITE_FAILED",
        f"The run store {path} cannot be written: {error}.",
        hint="Free some space or restore write access, then try again.",
    )
