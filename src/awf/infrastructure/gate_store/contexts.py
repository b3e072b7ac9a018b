# ruff: noqa: S608  the names of columns are ours
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.label import PLAIN, Label, joined
from awf.domain.security_context import SecurityContext
from awf.infrastructure.gate_store.texts import kept, taken

if TYPE_CHECKING:
    import sqlite3

    from awf.infrastructure.gate_store.database import GateDatabase

__all__ = ["SqliteContexts"]

_COLUMNS = "context_id, confidentiality, integrity, parent, minted, created_at, raised_at, raised_by, resets"
_ADD = f"INSERT INTO contexts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FIND = f"SELECT {_COLUMNS} FROM contexts WHERE context_id = ?"
_ALL = f"SELECT {_COLUMNS} FROM contexts ORDER BY created_at, place"
_RAISE = "UPDATE contexts SET confidentiality = ?, integrity = ?, raised_at = ?, raised_by = ? WHERE context_id = ?"
_RESET = (
    "UPDATE contexts SET confidentiality = 'public', integrity = 'trusted', raised_at = NULL, raised_by = '',"
    " resets = resets + 1 WHERE context_id = ?"
)


class SqliteContexts:
    """Implements the `ContextStore` port. Whoever mixes a label in has read the one that was there under the write lock."""

    at_once = True

    def __init__(self, database: GateDatabase) -> None:
        self._database = database

    def version(self) -> int:
        return self._database.version("contexts")

    async def find(self, context_id: str) -> SecurityContext | None:
        return await self._database.read(lambda connection: _found(connection, context_id))

    async def add(self, context: SecurityContext) -> SecurityContext:
        def work(connection: sqlite3.Connection) -> SecurityContext:
            parent = _found(connection, context.parent) if context.parent else None
            label = joined(context.label, parent.label) if parent is not None else context.label
            earlier = _found(connection, context.context_id)
            if earlier is not None:
                return _raised(connection, earlier, label, context.raised_by, context.created_at)
            return _added(connection, msgspec.structs.replace(context, label=label))

        return await self._database.write(work)

    async def raise_label(self, context_id: str, label: Label, by: str, now: float) -> SecurityContext:
        def work(connection: sqlite3.Connection) -> SecurityContext:
            context = _found(connection, context_id)
            if context is None:
                context = _added(connection, SecurityContext(context_id=context_id, created_at=now))
            return _raised(connection, context, label, by, now)

        return await self._database.write(work)

    async def reset(self, context_id: str) -> SecurityContext | None:
        def work(connection: sqlite3.Connection) -> SecurityContext | None:
            connection.execute(_RESET, (kept(context_id),))
            return _found(connection, context_id)

        return await self._database.write(work)

    async def contexts(self) -> list[SecurityContext]:
        return await self._database.read(
            lambda connection: [_context(row) for row in connection.execute(_ALL).fetchall()]
        )


def _found(connection: sqlite3.Connection, context_id: str) -> SecurityContext | None:
    row = connection.execute(_FIND, (kept(context_id),)).fetchone()
    return _context(row) if row is not None else None


def _added(connection: sqlite3.Connection, context: SecurityContext) -> SecurityContext:
    label = context.label
    values = (
        context.context_id, label.confidentiality, label.integrity, context.parent, context.minted,
        context.created_at, context.raised_at, context.raised_by, context.resets,
    )  # fmt: skip
    connection.execute(_ADD, tuple(map(kept, values)))
    return context


def _raised(
    connection: sqlite3.Connection, context: SecurityContext, label: Label, by: str, now: float
) -> SecurityContext:
    if context.label.covers(label):
        return context
    mixed = joined(context.label, label)
    values = (mixed.confidentiality, mixed.integrity, now, kept(by), kept(context.context_id))
    connection.execute(_RAISE, values)
    return msgspec.structs.replace(context, label=mixed, raised_at=now, raised_by=by)


def _context(row: tuple[Any, ...]) -> SecurityContext:
    id_, secret, trust, parent, minted, created, raised, by, resets = map(taken, row)
    return SecurityContext(
        context_id=id_,
        label=Label(secret, trust) if (secret, trust) != ("public", "trusted") else PLAIN,
        parent=parent,
        minted=bool(minted),
        created_at=created,
        raised_at=raised,
        raised_by=by,
        resets=resets,
    )
