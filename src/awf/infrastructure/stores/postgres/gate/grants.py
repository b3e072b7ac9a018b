# ruff: noqa: S608  the names of columns are ours
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant, GrantScope
from awf.infrastructure.stores.postgres.gate.keeping import MOVING_SECONDS, asked
from awf.infrastructure.stores.postgres.gate.texts import taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.infrastructure.stores.postgres.gate.keeping import Keeping
    from awf.infrastructure.stores.postgres.gate.lines import Attempt, Connection

__all__ = ["PostgresGrants"]

_COLUMNS = "grant_id, capability, issued_at, expires_at, workspace, holder, session, approval_id, issued_by, revoked_at"
_ADD = f"INSERT INTO awf.grants ({_COLUMNS}, nonce) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_ADD_NEW = f"{_ADD} ON CONFLICT DO NOTHING RETURNING 1"
_OURS = "SELECT 1 FROM awf.grants WHERE grant_id = %s AND nonce = %s"
# One that was copied before and revoked since is revoked there as well.
_COPY = (
    f"{_ADD} ON CONFLICT (grant_id) DO UPDATE SET revoked_at = excluded.revoked_at"
    " WHERE awf.grants.revoked_at IS NULL AND excluded.revoked_at IS NOT NULL RETURNING 1"
)
_FIND = f"SELECT {_COLUMNS} FROM awf.grants WHERE grant_id = %s"
_ALL = f"SELECT {_COLUMNS} FROM awf.grants ORDER BY issued_at, place"
_REVOKE = "UPDATE awf.grants SET revoked_at = %s WHERE grant_id = %s AND revoked_at IS NULL RETURNING 1"
_FORGET = "DELETE FROM awf.grants WHERE expires_at < %s OR revoked_at < %s RETURNING 1"


class PostgresGrants:
    """Implements the `GrantStore` port."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping

    def version(self) -> int:
        return self._keeping.version("grants")

    async def add(self, grant: CapabilityGrant) -> None:
        async def work(connection: Connection, attempt: Attempt) -> tuple[None, bool]:
            if not await asked(connection, _ADD_NEW, (*_values(grant), attempt.word)):
                ours = attempt.again and await asked(connection, _OURS, (grant.grant_id, attempt.word))
                if not ours:
                    raise AwfError(
                        "USER.GRANT.DUPLICATE",
                        f"There is a grant '{grant.grant_id}' already.",
                        hint="`awf grant list` shows it; leave the id out to get a new one.",
                    )
            return None, True

        await self._keeping.change("grants", work)

    async def revoke(self, grant_id: str, now: float) -> CapabilityGrant | None:
        async def work(connection: Connection, _attempt: Attempt) -> tuple[CapabilityGrant | None, bool]:
            changed = await asked(connection, _REVOKE, (now, grant_id))
            rows = await asked(connection, _FIND, (grant_id,))
            return (_grant(rows[0]) if rows else None), bool(changed)

        return await self._keeping.change("grants", work)

    async def grants(self) -> list[CapabilityGrant]:
        return [_grant(row) for row in await self._keeping.rows(_ALL)]

    async def forget(self, before: float) -> int:
        async def work(connection: Connection, _attempt: Attempt) -> tuple[int, bool]:
            gone = len(await asked(connection, _FORGET, (before, before)))
            return gone, gone > 0

        return await self._keeping.change("grants", work)

    async def take_in(self, grants: Sequence[CapabilityGrant]) -> int:
        """Copies of another store's; how many of them changed anything here."""

        async def work(connection: Connection, attempt: Attempt) -> tuple[int, bool]:
            async with connection.transaction():
                new = [await asked(connection, _COPY, (*_values(one), attempt.word)) for one in grants]
            return sum(map(len, new)), True

        return await self._keeping.change("grants", work, seconds=MOVING_SECONDS)


def _values(grant: CapabilityGrant) -> tuple[Any, ...]:
    scope = grant.scope
    return (
        grant.grant_id, grant.capability, grant.issued_at, grant.expires_at, scope.workspace, scope.user,
        scope.session, grant.approval_id, grant.issued_by, grant.revoked_at,
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
