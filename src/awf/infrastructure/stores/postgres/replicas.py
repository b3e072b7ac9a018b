"""Gateways that share a database, as rows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.replicas import Replica
from awf.infrastructure.stores.postgres.connecting import open_connection, unavailable

if TYPE_CHECKING:
    import psycopg

    from awf.infrastructure.stores.postgres.database import PostgresDatabase

    Connection = psycopg.AsyncConnection[tuple[Any, ...]]

__all__ = ["PostgresReplicas", "living_replicas"]

_BEAT = (
    "INSERT INTO awf.replicas (id, url) VALUES (%s, %s)"
    " ON CONFLICT (id) DO UPDATE SET url=excluded.url, beats=awf.replicas.beats+1, seen=now()"
)
# One that is really gone is noticed long before.
_FORGET = "DELETE FROM awf.replicas WHERE seen < now() - interval '5 minutes'"
_LIST = "SELECT id, url, beats FROM awf.replicas WHERE seen >= now() - interval '5 minutes' ORDER BY id"
_LIVING = "SELECT id, url, beats FROM awf.replicas WHERE seen >= now() - interval '30 seconds' ORDER BY id"


class PostgresReplicas:
    """A `ReplicaRegister`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def beat(self, own: Replica) -> list[Replica]:
        async def work(connection: Connection) -> list[Replica]:
            await connection.execute(_BEAT.encode(), (own.id, own.url))
            await connection.execute(_FORGET.encode())
            return await _listed(connection)

        return await self._database.link.do(work)

    async def listed(self) -> list[Replica]:
        return await self._database.link.do(_listed)

    async def leave(self, replica_id: str) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute("DELETE FROM awf.replicas WHERE id=%s", (replica_id,))

        await self._database.link.do(work)

    async def seen_from(self) -> str:
        async def work(connection: Connection) -> str:
            row = await (await connection.execute("SELECT host(inet_client_addr())")).fetchone()
            return str(row[0]) if row and row[0] else ""

        return await self._database.link.do(work)


async def _listed(connection: Connection) -> list[Replica]:
    return [Replica(*row) for row in await (await connection.execute(_LIST.encode())).fetchall()]


def living_replicas(url: str) -> list[Replica]:
    """Those that were heard of just now, for a look from elsewhere. Raises `AwfError`."""
    import psycopg

    connection = open_connection(url)
    try:
        ((known,),) = connection.execute("SELECT to_regclass('awf.replicas') IS NOT NULL").fetchall()
        return [Replica(*row) for row in connection.execute(_LIVING.encode()).fetchall()] if known else []
    except psycopg.Error as error:
        raise unavailable(url, error) from error
    finally:
        connection.close()
