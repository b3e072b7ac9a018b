from __future__ import annotations

import sqlite3

from awf.domain.errors import AwfError

__all__ = ["DAMAGE", "RESTORE", "Translated", "is_busy", "unavailable", "unusable"]

RESTORE = "Restore audit.db from a copy; or remove the whole folder, to begin a new log."
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

# What a damaged file can come to: also messages of SQLite that are no text, and values of other types than were written.
DAMAGE = (sqlite3.Error, UnicodeDecodeError, TypeError, ValueError, OverflowError)


def is_busy(error: BaseException) -> bool:
    """Whether another process is writing: that passes."""
    return (
        isinstance(error, sqlite3.Error)
        and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    )


def unusable(path: str, error: BaseException) -> AwfError:
    """What a database file has come to. A damaged one is not mended by permissions."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return unavailable(path, str(error), RESTORE if code in _CORRUPT else "")


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
