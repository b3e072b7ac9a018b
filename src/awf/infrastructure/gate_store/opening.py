"""A connection to `gate.db`: the file is made private, refused if it is not ours, and brought up to date under a lock."""

from __future__ import annotations

import os
import sqlite3

from awf.infrastructure.gate_store.trouble import newer, unavailable
from awf.infrastructure.sqlite_files import Layout, alone, make_private

__all__ = ["BUSY_SECONDS", "open_connection", "open_folder"]

BUSY_SECONDS = 20.0  # how long other processes may keep us from writing
_LAYOUT = Layout(os.path.join(os.path.dirname(__file__), "migrations"))


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
        with alone(f"{path}.lock"):
            make_private(path)
            if not os.access(path, os.W_OK):
                raise unavailable(path, "it is not writable")
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
        _LAYOUT.bring_up_to_date(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_newer(connection: sqlite3.Connection, path: str) -> None:
    """Before anything is changed in a file whose layout we do not know."""
    current, known = _LAYOUT.of(connection), _LAYOUT.newest
    if current > known:
        raise newer(path, current, known)
