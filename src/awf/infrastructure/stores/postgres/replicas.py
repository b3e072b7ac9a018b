"""Gateways that share a database, as rows of it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from awf.domain.errors import AwfError
from awf.domain.ports.replicas import Replica
from awf.infrastructure.stores.postgres.connecting import open_connection, open_waiting, unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import psycopg

    Connection = psycopg.AsyncConnection[tuple[Any, ...]]

__all__ = ["PostgresReplicas", "living_replicas"]

T = TypeVar("T")
_SECONDS = 4.0
_BEAT = (
    "INSERT INTO awf.replicas (id, url) VALUES (%s, %s)"
    " ON CONFLICT (id) DO UPDATE SET url=excluded.url, beats=awf.replicas.beats+1, seen=now()"
)
# One that is really gone is noticed long before.
_FORGET = "DELETE FROM awf.replicas WHERE seen < now() - interval '5 minutes'"
_LIST = "SELECT id, url, beats FROM awf.replicas WHERE seen >= now() - interval '5 minutes' ORDER BY id"
_LIVING = "SELECT id, url, beats FROM awf.replicas WHERE seen >= now() - interval '30 seconds' ORDER BY id"


class PostgresReplicas:
    """A `ReplicaRegister`, over a connection of its own: it is never waited for longer than a moment, also in the end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()

    async def beat(self, own: Replica) -> list[Replica]:
        async def work(connection: Connection) -> list[Replica]:
            await connection.execute(_BEAT.encode(), (own.id, own.url))
            await connection.execute(_FORGET.encode())
            return await _listed(connection)

        return await self._do(work)

    async def listed(self) -> list[Replica]:
        return await self._do(_listed)

    async def leave(self, replica_id: str) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute("DELETE FROM awf.replicas WHERE id=%s", (replica_id,))

        await self._do(work)

    async def seen_from(self) -> str:
        async def work(connection: Connection) -> str:
            row = await (await connection.execute("SELECT host(inet_client_addr())")).fetchone()
            return str(row[0]) if row and row[0] else ""

        return await self._do(work)

    async def close(self) -> None:
        async with self._turn:
            await self._drop()

    async def _do(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """All of it may be done twice. A connection that was kept may have broken meanwhile: that says nothing."""
        async with self._turn:
            kept = self._connection is not None
            try:
                return await self._tried(work)
            except AwfError:
                if not kept:
                    raise
            return await self._tried(work)

    async def _tried(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(_SECONDS):
                if self._connection is None:
                    self._connection = await open_waiting(self._url)
                return await work(self._connection)
        except asyncio.CancelledError:
            await self._drop()  # who knows what is still to come over it
            raise
        except AwfError:
            await self._drop()
            raise
        except Exception as error:
            await self._drop()
            reason = TimeoutError("it does not answer") if isinstance(error, TimeoutError) else error
            raise unavailable(self._url, reason) from error

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                await connection.close()


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
