"""The audit on PostgreSQL; implements the `AuditLog` port.

`record` is done when its entry is committed there; nothing is kept on this machine, whose disk may vanish with it. What is read
is read over a connection of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from awf.domain.audit import AuditUnavailable
from awf.domain.errors import AwfError
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store.checkpoints import WitnessFile
from awf.infrastructure.audit_store.failures import unavailable
from awf.infrastructure.audit_store.packing import packed
from awf.infrastructure.audit_store.postgres.batch import Batch
from awf.infrastructure.audit_store.postgres.chain import Chain, noted_head
from awf.infrastructure.audit_store.postgres.evidence import PostgresEvidence
from awf.infrastructure.audit_store.postgres.reading import (
    living_writers,
    read_checkpoints,
    read_records,
    writers_of_open_calls,
)
from awf.infrastructure.audit_store.postgres.server import at_leisure, be_brief, words_of
from awf.infrastructure.audit_store.postgres.writer import PATIENCE_SECONDS, Writer
from awf.infrastructure.audit_store.verifying import verified

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.domain.audit import AuditCheckpoint, AuditEntry, AuditFilter, AuditRecord, AuditReport
    from awf.domain.ports.audit_log import CallForm, Ready
    from awf.infrastructure.audit_store.keys import SharedKeys
    from awf.infrastructure.audit_store.postgres.server import Connection, Server

__all__ = ["PostgresAudit"]

T = TypeVar("T")
_PAUSE_SECONDS = 0.2
_DEATH_SECONDS = 1.0  # a lock that is free for so long belongs to nobody any more
_TIDY_SECONDS = 5.0


class PostgresAudit:
    is_immediate = False

    def __init__(
        self,
        server: Server,
        folder: str,
        *,
        key_file: str,
        settings: Audit | None = None,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`folder`: where this machine notes how far the chain has come. Raises `AwfError` when it cannot be reached."""
        self.folder = folder
        self._server = server
        self._patience = patience
        self._key_file = key_file
        made = settings or Audit()
        name = os.urandom(8).hex()
        self._chain = Chain(name, key_file, folder, made, clock)  # of those who look
        self._writing = Chain(name, key_file, folder, made, clock)
        self._looking = threading.Lock()
        self._connection: Connection | None = None
        self._tidied = 0.0
        self._closed = False
        if os.path.exists(key_file):
            self._writing.keys  # noqa: B018  one that is damaged shows now
        try:
            self._origin = self._looked(_origin, patient=False)
        except BaseException:
            self._let_go()
            raise
        self._writer = Writer(server, self._writing, patience)

    @property
    def origin(self) -> str:
        return self._origin

    @property
    def public_key(self) -> str:
        """For those who check signatures elsewhere; in base 64."""
        return self._chain.keys.public

    @property
    def keys(self) -> SharedKeys:
        return self._chain.keys

    def follow(self, settings: Audit) -> None:
        """Other settings from now on."""
        self._chain.settings = self._writing.settings = settings

    # -- writing -----------------------------------------------------------------------------------------------------------

    def record(self, entry: AuditEntry) -> Awaitable[None]:
        return self._writer.put(packed(entry))

    def form(self, entry: AuditEntry) -> CallForm:
        raise NotImplementedError("only a log that is immediate has forms")

    def add(self, made: Sequence[str]) -> None:
        raise NotImplementedError("only a log that is immediate has forms")

    def add_ready(self, made: Ready) -> None:
        raise NotImplementedError("only a log that is immediate has forms")

    def complete(self, whole: str) -> None:
        raise NotImplementedError("only a log that is immediate has forms")

    async def checkpoint(self) -> AuditCheckpoint | None:
        """Sign the log as it is now; None when it is empty."""

        def sign(connection: Connection) -> list[AuditCheckpoint]:
            self._add(connection, sign=True)
            head = self._chain.head
            return read_checkpoints(connection, self._origin, head.signed - 1 if head else 0, 1)

        found = await self._read(sign)
        return found[0] if found else None

    # -- reading -----------------------------------------------------------------------------------------------------------

    async def records(
        self,
        *,
        after: int = 0,
        before: int = 0,
        limit: int = 1000,
        where: AuditFilter | None = None,
        newest_first: bool = False,
    ) -> list[AuditRecord]:
        if time.monotonic() - self._tidied > _TIDY_SECONDS:
            await self._bury()
        return await self._read(
            lambda connection: read_records(
                connection, after, before, limit, where, newest_first=newest_first
            )
        )

    async def open_calls(self) -> frozenset[int]:
        await self._bury()
        return await self._read(
            lambda connection: frozenset(
                one for (one,) in connection.execute("SELECT sequence FROM awf.audit_open_calls")
            )
        )

    async def _bury(self) -> None:
        """Calls of writers that live no more get an effect that says so. One may only have lost its connection: look twice."""
        self._tidied = time.monotonic()
        dead = await self._read(self._dead)
        if dead:
            await asyncio.sleep(_DEATH_SECONDS)
            dead &= await self._read(self._dead)
        if dead:
            gone = sorted(dead)
            # Who may only look, or comes while somebody holds the chain, sees them open.
            with contextlib.suppress(AwfError):
                await self._read(lambda connection: self._add(connection, ended=gone))

    def _add(self, connection: Connection, *, ended: Sequence[str] = (), sign: bool = False) -> None:
        be_brief(connection)
        try:
            self._chain.add(connection, Batch(), ended=ended, sign=sign)
        except BaseException:
            connection.close()
            raise
        at_leisure(connection)

    def _dead(self, connection: Connection) -> set[str]:
        found = writers_of_open_calls(connection) - {self._chain.writer}
        if not found:
            return set()
        keys = {self._server.lock_key("audit", one): one for one in found}
        return found - {keys[one] for one in living_writers(connection) if one in keys}

    async def checkpoints(self, *, after: int = 0, limit: int = 1000) -> list[AuditCheckpoint]:
        return await self._read(lambda connection: read_checkpoints(connection, self._origin, after, limit))

    async def verify(self, *, public_key: str = "", witness: str = "") -> AuditReport:
        """Looks at every record. With a key every checkpoint has to be signed with that one."""
        return await self._read(lambda connection: self._verified(connection, public_key, witness))

    def _verified(self, connection: Connection, public_key: str, witness: str) -> AuditReport:
        keys = self._chain.keys if os.path.exists(self._key_file) else None
        # Before the look at the database: others may add to the log meanwhile.
        kept = WitnessFile(witness or self._chain.settings.witness)
        noted = noted_head(self.folder, keys, self._origin).read() if keys is not None else None
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return verified(PostgresEvidence(connection, keys, public_key, noted), kept)

    def looked(self, look: Callable[[Connection], T]) -> T:
        """What somebody does with the database that this log is in. From a thread that may wait."""
        return self._looked(look)

    def adopt(self) -> None:
        """The log has become another one."""
        self._origin = self._looked(_origin)

    async def _read(self, look: Callable[[Connection], T]) -> T:
        """After what this process has recorded so far."""
        if self._closed:
            raise unavailable(self._server.place, "it is closed", "awf doctor")
        if self._writer.has_begun:
            with contextlib.suppress(AuditUnavailable):  # whoever recorded it was told
                await self._writer.put(b"")
        return await asyncio.to_thread(self._looked, look)

    def _looked(self, look: Callable[[Connection], T], *, patient: bool = True) -> T:
        deadline = time.monotonic() + (self._patience if patient else 0.0)
        with self._looking:
            while True:
                try:
                    return look(self._reader())
                except AwfError as error:
                    if not self._server.is_passing(error) or time.monotonic() > deadline:
                        raise
                except Exception as error:
                    if not self._server.is_passing(error) or time.monotonic() > deadline:
                        raise unavailable(self._server.place, words_of(error), "awf doctor") from error
                finally:
                    self._tidy()
                time.sleep(_PAUSE_SECONDS)

    def _reader(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._server.connect()
        return self._connection

    def _tidy(self) -> None:
        """A connection on which something went wrong is not used again."""
        connection = self._connection
        if connection is not None and (connection.closed or connection.info.transaction_status != 0):
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None

    async def close(self) -> None:
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        with self._looking:
            self._chain.close()
            self._let_go()


def _origin(connection: Connection) -> str:
    row = connection.execute("SELECT origin FROM awf.audit_head").fetchone()
    return str(row[0]) if row else "awf-audit/"
