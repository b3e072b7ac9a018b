"""`gate.db` for an event loop: one thread works on it, in transactions.

Changes are few (a grant, an answer, a label that rises) and each waits for the disk, so they do not belong on the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from awf.domain.errors import AwfError
from awf.infrastructure.gate_store.opening import open_connection, open_folder
from awf.infrastructure.gate_store.trouble import UNAVAILABLE, Standing, unavailable
from awf.infrastructure.gate_store.watch import ChangeWatch

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GateDatabase"]

T = TypeVar("T")


class GateDatabase:
    def __init__(self, folder: str) -> None:
        open_folder(folder)
        self.path = os.path.join(folder, "gate.db")
        self._connection = open_connection(self.path)
        self._standing = Standing(self.path)
        self._watch = ChangeWatch(self.path, self._standing)
        self.version, self.changes = self._watch.version, self._watch.changes
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="awf-gate")
        self._closed = False

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._done(self._guarded, work)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """In one transaction that is safe on the disk when this returns. Others' writing is waited for."""
        return await self._done(self._transaction, work)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._thread.shutdown()
        self._watch.close()
        self._connection.close()

    async def _done(
        self, way: Callable[[Callable[[sqlite3.Connection], T]], T], work: Callable[[sqlite3.Connection], T]
    ) -> T:
        if self._closed:
            raise unavailable(self.path, "it was closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, way, work)

    def _guarded(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._connection)
        except sqlite3.Error as error:
            raise unavailable(self.path, error) from error

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            result = self._guarded(lambda connection: _in_transaction(connection, work))
        except AwfError as error:
            if error.code == UNAVAILABLE:
                self._standing.lost("written", error)
            raise
        finally:
            self._watch.changed()
        self._standing.found("written")
        return result


def _in_transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return result
