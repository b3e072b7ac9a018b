# ruff: noqa: S608  the names of columns are ours
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant, GrantScope
from awf.infrastructure.gate_store.texts import kept, taken

if TYPE_CHECKING:
    import sqlite3

    from awf.infrastructure.gate_store.database import GateDatabase

__all__ = ["SqliteGrants"]

_COLUMNS = "grant_id, capability, issued_at, expires_at, workspace, user, session, approval_id, issued_by, revoked_at"
_ADD = f"INSERT INTO grants ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FIND = f"SELECT {_COLUMNS} FROM grants WHERE grant_id = ?"
_ALL = f"SELECT {_COLUMNS} FROM grants ORDER BY issued_at, place"
_REVOKE = "UPDATE grants SET revoked_at = ? WHERE grant_id = ? AND revoked_at IS NULL"
_FORGET = "DELETE FROM grants WHERE expires_at < ? OR revoked_at < ?"


class SqliteGrants:
    """Implements the `GrantStore` port."""

    def __init__(self, database: GateDatabase) -> None:
        self._database = database
        self.version = partial(database.version, "grants")

    async def add(self, grant: CapabilityGrant) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(_FIND, (kept(grant.grant_id),)).fetchone() is not None:
                raise AwfError(
                    "USER.GRANT.DUPLICATE",
                    f"There is a grant '{grant.grant_id}' already.",
                    hint="`awf grant list` shows it; leave the id out to get a new one.",
                )
            connection.execute(_ADD, _values(grant))

        await self._database.write(work)

    async def revoke(self, grant_id: str, now: float) -> CapabilityGrant | None:
        def work(connection: sqlite3.Connection) -> CapabilityGrant | None:
            connection.execute(_REVOKE, (now, kept(grant_id)))
            row = connection.execute(_FIND, (kept(grant_id),)).fetchone()
            return _grant(row) if row is not None else None

        return await self._database.write(work)

    async def grants(self) -> list[CapabilityGrant]:
        return await self._database.read(
            lambda connection: [_grant(row) for row in connection.execute(_ALL).fetchall()]
        )

    async def forget(self, before: float) -> int:
        return await self._database.write(
            lambda connection: connection.execute(_FORGET, (before, before)).rowcount
        )


def _values(grant: CapabilityGrant) -> tuple[Any, ...]:
    scope = grant.scope
    return tuple(
        map(
            kept,
            (
                grant.grant_id, grant.capability, grant.issued_at, grant.expires_at, scope.workspace, scope.user,
                scope.session, grant.approval_id, grant.issued_by, grant.revoked_at,
            ),
        )
    )  # fmt: skip


def _grant(row: tuple[Any, ...]) -> CapabilityGrant:
    id_, capability, issued, expires, workspace, user, session, approval, by, revoked = map(taken, row)
    return CapabilityGrant(
        grant_id=id_,
        capability=capability,
        issued_at=issued,
        expires_at=expires,
        scope=GrantScope(workspace, user, session),
        approval_id=approval,
        issued_by=by,
        revoked_at=revoked,
    )
