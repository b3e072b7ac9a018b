# ruff: noqa: S608  the names of columns are ours
from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.approval import Approval
from awf.infrastructure.stores.postgres.gate.keeping import MOVING_SECONDS, asked
from awf.infrastructure.stores.postgres.gate.texts import kept, taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.infrastructure.stores.postgres.gate.keeping import Keeping
    from awf.infrastructure.stores.postgres.gate.lines import Attempt, Connection

__all__ = ["PostgresApprovals"]

_NAMES = Approval.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_MARKS = ", ".join(["%s"] * (len(_NAMES) + 2))
_ADD = f"INSERT INTO awf.approvals ({_COLUMNS}, about, nonce) VALUES ({_MARKS})"
_CLAIM = f"{_ADD} ON CONFLICT DO NOTHING RETURNING 1"
# One that was copied before and has ended since, has ended there as well.
_COPY = (
    f"{_ADD} ON CONFLICT (approval_id) DO UPDATE SET status = excluded.status, decided_at = excluded.decided_at,"
    " decided_by = excluded.decided_by WHERE awf.approvals.status IN ('pending', 'granted')"
    " AND excluded.status IN ('used', 'denied', 'expired') RETURNING 1"
)
_FIND = f"SELECT {_COLUMNS} FROM awf.approvals WHERE approval_id = %s"
_OURS = f"{_FIND} AND nonce = %s"
_EXPIRED = f"SELECT {_COLUMNS} FROM awf.approvals WHERE status = 'expired' AND nonce = %s ORDER BY place"
_MATCHING = (
    f"SELECT {_COLUMNS} FROM awf.approvals WHERE about = %s AND tool_id = %s AND arguments_hash = %s AND context = %s"
    " AND status IN ('pending', 'granted') AND expires_at > %s ORDER BY place DESC LIMIT 1"
)
_ALONE = "SELECT pg_advisory_xact_lock(%s)"
_DECIDE = (
    "UPDATE awf.approvals SET status = %s, decided_at = %s, decided_by = %s, nonce = %s"
    f" WHERE approval_id = %s AND status = 'pending' AND expires_at > %s RETURNING {_COLUMNS}"
)
_USE = (
    "UPDATE awf.approvals SET status = 'used', nonce = %s"
    " WHERE approval_id = %s AND status = 'granted' AND expires_at > %s RETURNING 1"
)
_OPEN = f"SELECT {_COLUMNS} FROM awf.approvals WHERE status = 'pending' AND expires_at > %s ORDER BY asked_at, place"
_EXPIRE = (
    "UPDATE awf.approvals SET status = 'expired', nonce = %s WHERE status = 'pending' AND expires_at <= %s"
)
_FORGET = "DELETE FROM awf.approvals WHERE expires_at < %s RETURNING 1"


class PostgresApprovals:
    """Implements the `ApprovalStore` port. A change is one statement that says from which state it leads."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping

    def version(self) -> int:
        return self._keeping.version("approvals")

    async def ask(self, approval: Approval) -> Approval:
        """Those that ask the same stand in line: whoever comes second sees what the first has asked."""
        number = _about(approval.tool_id, approval.arguments_hash, approval.context)
        matching = (number, approval.tool_id, approval.arguments_hash, approval.context, approval.asked_at)

        async def work(connection: Connection, attempt: Attempt) -> tuple[Approval, bool]:
            async with connection.transaction():
                await asked(connection, _ALONE, (number,))
                rows = await asked(connection, _MATCHING, matching)
                if rows:
                    return _approval(rows[0]), False
                await asked(connection, _ADD, (*_values(approval), attempt.word))
            return approval, True

        return await self._keeping.change("approvals", work)

    async def claim(self, approval: Approval) -> bool:
        async def work(connection: Connection, attempt: Attempt) -> tuple[bool, bool]:
            new = bool(await asked(connection, _CLAIM, (*_values(approval), attempt.word)))
            ours = new or await _is_ours(connection, approval.approval_id, attempt)
            return ours, ours

        return await self._keeping.change("approvals", work)

    async def find(self, approval_id: str) -> Approval | None:
        return await self._first(_FIND, approval_id)

    async def decide(self, approval_id: str, *, granted: bool, by: str, now: float) -> Approval | None:
        status = "granted" if granted else "denied"

        async def work(connection: Connection, attempt: Attempt) -> tuple[Approval | None, bool]:
            values = (status, now, by, attempt.word, approval_id, now)
            rows = await asked(connection, _DECIDE, values)
            if not rows and attempt.again:
                rows = await asked(connection, _OURS, (approval_id, attempt.word))
            return (_approval(rows[0]) if rows else None), bool(rows)

        return await self._keeping.change("approvals", work)

    async def use(self, approval_id: str, now: float) -> bool:
        async def work(connection: Connection, attempt: Attempt) -> tuple[bool, bool]:
            done = bool(await asked(connection, _USE, (attempt.word, approval_id, now)))
            ours = done or await _is_ours(connection, approval_id, attempt)
            return ours, ours

        return await self._keeping.change("approvals", work)

    async def matching(self, tool_id: str, arguments_hash: str, context: str, now: float) -> Approval | None:
        about = (tool_id, arguments_hash, context)
        return await self._first(_MATCHING, _about(*about), *about, now)

    async def open_ones(self, now: float) -> list[Approval]:
        return [_approval(row) for row in await self._keeping.rows(_OPEN, (now,))]

    async def expire(self, now: float) -> list[Approval]:
        async def work(connection: Connection, attempt: Attempt) -> tuple[list[Approval], bool]:
            cursor = await connection.execute(_EXPIRE.encode(), (attempt.word, now))
            if not cursor.rowcount and not attempt.again:
                return [], False
            rows = await asked(connection, _EXPIRED, (attempt.word,))
            return [_approval(row) for row in rows], bool(rows)

        return await self._keeping.change("approvals", work)

    async def forget(self, before: float) -> int:
        async def work(connection: Connection, _attempt: Attempt) -> tuple[int, bool]:
            gone = len(await asked(connection, _FORGET, (before,)))
            return gone, gone > 0

        return await self._keeping.change("approvals", work)

    async def take_in(self, approvals: Sequence[Approval]) -> int:
        """Copies of another store's; how many of them changed anything here."""

        async def work(connection: Connection, attempt: Attempt) -> tuple[int, bool]:
            async with connection.transaction():
                new = [await asked(connection, _COPY, (*_values(one), attempt.word)) for one in approvals]
            return sum(map(len, new)), True

        return await self._keeping.change("approvals", work, seconds=MOVING_SECONDS)

    async def _first(self, sql: str, *values: Any) -> Approval | None:
        row = await self._keeping.row(sql, values)
        return _approval(row) if row is not None else None


async def _is_ours(connection: Connection, approval_id: str, attempt: Attempt) -> bool:
    """Whether an attempt whose answer was lost has done it."""
    return attempt.again and bool(await asked(connection, _OURS, (approval_id, attempt.word)))


def _about(tool_id: str, arguments_hash: str, context: str) -> int:
    text = "\n".join(str(len(one)) + ":" + kept(one) for one in (tool_id, arguments_hash, context))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def _values(approval: Approval) -> tuple[Any, ...]:
    number = _about(approval.tool_id, approval.arguments_hash, approval.context)
    return (*msgspec.structs.astuple(approval), number)


def _approval(row: tuple[Any, ...]) -> Approval:
    return Approval(**dict(zip(_NAMES, map(taken, row), strict=True)))
