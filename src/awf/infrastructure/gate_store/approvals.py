# ruff: noqa: S608  the names of columns are ours
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.approval import Approval
from awf.infrastructure.gate_store.texts import kept, taken

if TYPE_CHECKING:
    import sqlite3

    from awf.infrastructure.gate_store.database import GateDatabase

__all__ = ["SqliteApprovals"]

_NAMES = Approval.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_ADD = f"INSERT INTO approvals ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"
_CLAIM = _ADD.replace("INSERT INTO", "INSERT OR IGNORE INTO", 1)
_FIND = f"SELECT {_COLUMNS} FROM approvals WHERE approval_id = ?"
_ALL = f"SELECT {_COLUMNS} FROM approvals ORDER BY place"
_MATCHING = (
    f"SELECT {_COLUMNS} FROM approvals WHERE tool_id = ? AND arguments_hash = ? AND context = ?"
    " AND status IN ('pending', 'granted') AND expires_at > ? ORDER BY place DESC LIMIT 1"
)
_DECIDE = (
    "UPDATE approvals SET status = ?, decided_at = ?, decided_by = ?"
    " WHERE approval_id = ? AND status = 'pending' AND expires_at > ?"
)
_USE = "UPDATE approvals SET status = 'used' WHERE approval_id = ? AND status = 'granted' AND expires_at > ?"
_OPEN = (
    f"SELECT {_COLUMNS} FROM approvals WHERE status = 'pending' AND expires_at > ? ORDER BY asked_at, place"
)
_OVERDUE = f"SELECT {_COLUMNS} FROM approvals WHERE status = 'pending' AND expires_at <= ? ORDER BY place"
_EXPIRE = "UPDATE approvals SET status = 'expired' WHERE status = 'pending' AND expires_at <= ?"
_FORGET = "DELETE FROM approvals WHERE expires_at < ?"


class SqliteApprovals:
    """Implements the `ApprovalStore` port. A change is one statement that says from which state it leads."""

    def __init__(self, database: GateDatabase) -> None:
        self._database = database

    def version(self) -> int:
        return self._database.version("approvals")

    async def ask(self, approval: Approval) -> Approval:
        about = (approval.tool_id, approval.arguments_hash, approval.context, approval.asked_at)

        def work(connection: sqlite3.Connection) -> Approval:
            row = connection.execute(_MATCHING, tuple(map(kept, about))).fetchone()
            if row is not None:
                return _approval(row)
            connection.execute(_ADD, tuple(map(kept, msgspec.structs.astuple(approval))))
            return approval

        return await self._database.write(work)

    async def claim(self, approval: Approval) -> bool:
        values = tuple(map(kept, msgspec.structs.astuple(approval)))
        return await self._database.write(lambda connection: connection.execute(_CLAIM, values).rowcount == 1)

    async def find(self, approval_id: str) -> Approval | None:
        return await self._first(_FIND, approval_id)

    async def decide(self, approval_id: str, *, granted: bool, by: str, now: float) -> Approval | None:
        status = "granted" if granted else "denied"

        def work(connection: sqlite3.Connection) -> Approval | None:
            values = (status, now, kept(by), kept(approval_id), now)
            if connection.execute(_DECIDE, values).rowcount == 0:
                return None
            return _approval(connection.execute(_FIND, (kept(approval_id),)).fetchone())

        return await self._database.write(work)

    async def use(self, approval_id: str, now: float) -> bool:
        return await self._database.write(
            lambda connection: connection.execute(_USE, (kept(approval_id), now)).rowcount == 1
        )

    async def matching(self, tool_id: str, arguments_hash: str, context: str, now: float) -> Approval | None:
        return await self._first(_MATCHING, tool_id, arguments_hash, context, now)

    async def open_ones(self, now: float) -> list[Approval]:
        return await self._database.read(
            lambda connection: [_approval(row) for row in connection.execute(_OPEN, (now,)).fetchall()]
        )

    async def expire(self, now: float) -> list[Approval]:
        def work(connection: sqlite3.Connection) -> list[Approval]:
            rows = connection.execute(_OVERDUE, (now,)).fetchall()
            if rows:
                connection.execute(_EXPIRE, (now,))
            return [msgspec.structs.replace(_approval(row), status="expired") for row in rows]

        return await self._database.write(work)

    async def approvals(self) -> list[Approval]:
        """All of them, in the order in which they were asked; for whoever moves them."""
        return await self._database.read(
            lambda connection: [_approval(row) for row in connection.execute(_ALL).fetchall()]
        )

    async def forget(self, before: float) -> int:
        return await self._database.write(lambda connection: connection.execute(_FORGET, (before,)).rowcount)

    async def _first(self, sql: str, *values: Any) -> Approval | None:
        def work(connection: sqlite3.Connection) -> Approval | None:
            row = connection.execute(sql, tuple(map(kept, values))).fetchone()
            return _approval(row) if row is not None else None

        return await self._database.read(work)


def _approval(row: tuple[Any, ...]) -> Approval:
    return Approval(**dict(zip(_NAMES, map(taken, row), strict=True)))
