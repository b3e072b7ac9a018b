from __future__ import annotations

import sqlite3

from awf.domain.errors import AwfError

__all__ = ["DAMAGE", "is_busy", "unavailable"]

# What a damaged file can come to: also messages of SQLite that are no text, and values of other types than were written.
DAMAGE = (sqlite3.Error, UnicodeDecodeError, TypeError, ValueError)


def is_busy(error: BaseException) -> bool:
    """Whether another process is writing: that passes."""
    return (
        isinstance(error, sqlite3.Error)
        and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    )


def unavailable(path: str, why: str, hint: str = "") -> AwfError:
    return AwfError(
        "SYSTEM.AUDIT.UNAVAILABLE",
        f"The audit {path} cannot be used: {why}.",
        hint=hint or "Check its permissions, or choose another directory with --storage DIR or AWF_STORAGE.",
    )
