"""The layout of the database: numbered steps, taken under a lock."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.infrastructure.stores.postgres.connecting import describe, lock_key

if TYPE_CHECKING:
    import psycopg

__all__ = ["checked_layout", "layout_of", "migrate"]


def layout_of(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """The number of the last step that was taken; 0 where there is nothing yet."""
    ((known,),) = connection.execute("SELECT to_regclass('awf.layout') IS NOT NULL").fetchall()
    if not known:
        return 0
    ((number,),) = connection.execute("SELECT coalesce(max(number), 0) FROM awf.layout").fetchall()
    return int(number)


def migrate(connection: psycopg.Connection[tuple[Any, ...]], url: str) -> int:
    """Bring the database up to date; the layout that it then has."""
    steps = _steps()
    newest = max(steps)
    if checked_layout(connection, url) < newest:
        _take(connection, steps)
    return newest


def checked_layout(connection: psycopg.Connection[tuple[Any, ...]], url: str) -> int:
    """The layout that the database has. Raises when it is newer than all that we know."""
    newest, current = max(_steps()), layout_of(connection)
    if current > newest:
        raise AwfError(
            "SYSTEM.STORE.NEWER",
            f"{describe(url)} has layout {current}; this version knows {newest}.",
            hint="Upgrade awf on this machine.",
        )
    return current


def _take(connection: psycopg.Connection[tuple[Any, ...]], steps: dict[int, str]) -> None:
    """The lock comes before the transaction: one that was begun earlier would not see what another process has made."""
    key = (lock_key("store", "layout"),)
    connection.execute("SELECT pg_advisory_lock(%s)", key)
    try:
        with connection.transaction():
            _take_missing(connection, steps)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", key)


def _take_missing(connection: psycopg.Connection[tuple[Any, ...]], steps: dict[int, str]) -> None:
    current = layout_of(connection)  # another process may have been quicker
    if not current:
        connection.execute("CREATE SCHEMA IF NOT EXISTS awf")
        connection.execute("CREATE TABLE awf.layout (number INTEGER PRIMARY KEY)")
    for number, path in sorted(steps.items()):
        if number > current:
            with open(path, "rb") as stream:
                connection.execute(stream.read())
            connection.execute("INSERT INTO awf.layout VALUES (%s)", (number,))


def _steps() -> dict[int, str]:
    folder = os.path.join(os.path.dirname(__file__), "migrations")
    return {int(name[:4]): os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".sql")}
