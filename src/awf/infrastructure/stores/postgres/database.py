"""One PostgreSQL database: read from any process; written, owned and listened to from an event loop."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from awf.domain.errors import AwfError
from awf.infrastructure.stores.postgres.connecting import (
    describe,
    is_passing,
    lock_key,
    open_connection,
    unavailable,
    write_failed,
)
from awf.infrastructure.stores.postgres.migrating import checked_layout, migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import psycopg

    from awf.infrastructure.stores.postgres.gate import PostgresGateStore
    from awf.infrastructure.stores.postgres.link import Link
    from awf.infrastructure.stores.writing import Statement

__all__ = ["DatabaseFacts", "PostgresDatabase", "look_at"]

T = TypeVar("T")
_PATIENCE_SECONDS = 15.0  # how long a look waits for a database that restarts
_PAUSE_SECONDS = 0.2
_HEARING_SECONDS = 3.0


class DatabaseFacts(NamedTuple):
    place: str
    layout: int  # 0: nothing of ours is there yet
    size: int
    skew: float
    hears: bool  # whether what one connection says arrives at another


def look_at(url: str) -> DatabaseFacts:
    """What is there, without changing anything."""
    connection = open_connection(url)
    try:
        before = time.time()
        ((there, size),) = connection.execute(
            "SELECT extract(epoch FROM clock_timestamp())::float8, pg_database_size(current_database())"
        ).fetchall()
        skew = float(there) - (before + time.time()) / 2
        layout = checked_layout(connection, url)
        return DatabaseFacts(describe(url), layout, int(size), skew, _hears(connection, url))
    except Exception as error:
        raise error if isinstance(error, AwfError) else unavailable(url, error) from error
    finally:
        connection.close()


def _hears(connection: psycopg.Connection[tuple[Any, ...]], url: str) -> bool:
    """A pooler that hands a connection on after each transaction loses what others say, and nobody is told."""
    channel = f"awf:doctor:{secrets.token_hex(8)}"
    connection.execute(f'LISTEN "{channel}"'.encode())
    other = open_connection(url)
    try:
        other.execute("SELECT pg_notify(%s, '')", (channel,))
        return any(True for _ in connection.notifies(timeout=_HEARING_SECONDS, stop_after=1))
    finally:
        other.close()


class PostgresDatabase:
    def __init__(self, url: str, folder: str) -> None:
        """`folder`: where output too big for a value lies on this machine."""
        self.url = url
        self.folder = folder
        self._link: Link | None = None
        self._gate: PostgresGateStore | None = None
        self.patience = _PATIENCE_SECONDS
        self._reader: psycopg.Connection[tuple[Any, ...]] | None = open_connection(url)
        try:
            self.layout = migrate(self._reader, url)
            self.skew = self._measured_skew()
        except Exception as error:
            self.close()
            raise error if isinstance(error, AwfError) else unavailable(url, error) from error

    def clock(self) -> float:
        """The time of the database: all machines agree on it, whatever their own clocks say."""
        return time.time() + self.skew

    def _measured_skew(self) -> float:
        before = time.time()
        ((there,),) = self.rows("SELECT extract(epoch FROM clock_timestamp())::float8")
        between = (before + time.time()) / 2
        skew = float(there) - between
        return skew if abs(skew) > time.time() - before else 0.0  # not more than the way there and back

    # -- reading ---------------------------------------------------------------------------------------------------

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._patiently(lambda connection: connection.execute(sql.encode(), values).fetchall())

    def row(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        found = self.rows(sql, values)
        return found[0] if found else None

    def write_now(self, statements: Sequence[Statement]) -> list[int]:
        """Write in one transaction from a process that has no event loop; how many rows each statement changed."""

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> list[int]:
            with connection.transaction():
                return [connection.execute(sql.encode(), values).rowcount for sql, values in statements]

        return self._patiently(work, writing=True)

    def _patiently(
        self, work: Callable[[psycopg.Connection[tuple[Any, ...]]], T], *, writing: bool = False
    ) -> T:
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return work(self.reader())
            except Exception as error:
                if not is_passing(error) or time.monotonic() > deadline:
                    if isinstance(error, AwfError):
                        raise
                    raise (write_failed if writing else unavailable)(self.url, error) from error
                self._drop_reader()
                time.sleep(_PAUSE_SECONDS)

    def reader(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._reader is None or self._reader.closed:
            self._reader = open_connection(self.url)
        return self._reader

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def is_held(self, kind: str, name: str) -> bool:
        """Whether a living process holds this lock."""
        key = lock_key(kind, name)
        sql = (
            "SELECT 1 FROM pg_locks WHERE locktype='advisory' AND granted AND objsubid=1"
            " AND database=(SELECT oid FROM pg_database WHERE datname=current_database())"
            " AND classid=%s::bigint::oid AND objid=%s::bigint::oid"
        )
        return self.row(sql, ((key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF)) is not None

    # -- the event loop's side -------------------------------------------------------------------------------------

    @property
    def link(self) -> Link:
        if self._link is None:
            from awf.infrastructure.stores.postgres.link import Link

            self._link = Link(self.url)
        return self._link

    @property
    def gate(self) -> PostgresGateStore:
        """What the gate remembers; one for all that share this database in a process."""
        if self._gate is None:
            from awf.infrastructure.stores.postgres.gate import PostgresGateStore

            self._gate = PostgresGateStore(self)
        return self._gate

    async def leave(self) -> None:
        """Write what waits, and give everything back."""
        if self._gate is not None:
            await self._gate.close()
            self._gate = None
        if self._link is not None:
            await self._link.close()
            self._link = None
        self.close()

    def close(self) -> None:
        self._drop_reader()
