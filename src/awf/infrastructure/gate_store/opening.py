"""A connection to `gate.db`: the file is made private, refused if it is not ours, and brought up to date under a lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from typing import TYPE_CHECKING

from awf.infrastructure.gate_store.trouble import newer, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BUSY_SECONDS", "locked", "open_connection", "open_folder"]

BUSY_SECONDS = 20.0  # how long other processes may keep us from writing


def open_folder(folder: str) -> None:
    """It is private, and so is the storage directory around it if that is made here."""
    try:
        os.makedirs(os.path.dirname(folder) or ".", mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise unavailable(folder, error.strerror or error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unavailable(folder, "it is not writable")


def open_connection(path: str) -> sqlite3.Connection:
    """Several processes may do this at once, also with a file that is not there yet."""
    try:
        with locked(f"{path}.lock"):
            _make_private(path)
            return _prepared(path)
    except (sqlite3.Error, OSError) as error:
        raise unavailable(path, error) from error


def _prepared(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _refuse_newer(connection, path)
        connection.execute("PRAGMA journal_mode=WAL")
        # An approval that was used, or a label that rose, must not come back with the power.
        connection.execute("PRAGMA synchronous=FULL")
        _bring_up_to_date(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: str) -> None:
    """Nobody else reads it; SQLite gives the files beside it the same mode. One that exists is never opened here:
    closing it would drop the locks that this process has on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    if not os.access(path, os.W_OK):
        raise unavailable(path, "it is not writable")


def _refuse_newer(connection: sqlite3.Connection, path: str) -> None:
    """Before anything is changed in a file whose layout we do not know."""
    current, known = _version(connection), max(_migrations())
    if current > known:
        raise newer(path, current, known)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    current = _version(connection)
    for number, item in sorted(_migrations().items()):
        if number > current:
            with open(item, encoding="utf-8") as stream:
                script = stream.read()
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version={number};\nCOMMIT;")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrations() -> dict[int, str]:
    """The numbered steps from one layout to the next: number → file."""
    folder = os.path.join(os.path.dirname(__file__), "migrations")
    return {int(name[:4]): os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".sql")}


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
