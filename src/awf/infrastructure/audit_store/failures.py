from __future__ import annotations

import sqlite3

from awf.domain.errors import AwfError

__all__ = ["DAMAGE", "RESTORE", "Translated", "is_outside", "unavailable", "unusable"]

RESTORE = "Restore audit.db from a copy; or remove the whole folder, to begin a new log."
_MORE_ROOM = "Make room on its disk, or choose another directory with --storage DIR or AWF_STORAGE."
_LET_GO = (
    "Another process has locked it: try again when that one is done, or end it. `fuser {}` tells which it is."
)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_OUTSIDE = frozenset({
    *_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
})  # fmt: skip

# What a damaged file can come to: also messages of SQLite that are no text, and values of other types than were written.
DAMAGE = (sqlite3.Error, UnicodeDecodeError, TypeError, ValueError, OverflowError)


def is_outside(error: BaseException | None) -> bool:
    """Whether it says nothing about what lies in the file: another process is writing, the disk is full or cannot be read."""
    return isinstance(error, sqlite3.Error) and _code(error) in _OUTSIDE


def _code(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def unusable(path: str, error: BaseException) -> AwfError:
    """What a database file has come to. A damaged one, or one that is locked, is not mended by permissions."""
    code = _code(error)
    hint = ""
    if code in _CORRUPT:
        hint = RESTORE
    elif code in _BUSY:
        hint = _LET_GO.format(path)
    elif code == sqlite3.SQLITE_FULL:
        hint = _MORE_ROOM
    return unavailable(path, str(error), hint)


def unavailable(path: str, why: str, hint: str = "") -> AwfError:
    return AwfError(
        "SYSTEM.AUDIT.UNAVAILABLE",
        f"The audit {path} cannot be used: {why}.",
        hint=hint or "Check its permissions, or choose another directory with --storage DIR or AWF_STORAGE.",
    )


class Translated:
    """What SQLite says of a damaged file, as an error of ours."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DAMAGE):
            raise unusable(self._path, error) from error
