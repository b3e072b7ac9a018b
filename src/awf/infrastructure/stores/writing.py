"""Writing to SQLite from an event loop.

Statements that come together in one turn of the loop are committed in one transaction, so that many parallel branches
cost one commit, and callers wait for *their* commit. There is no thread: in WAL mode a commit takes some tens of
microseconds, handing it to a thread and back took ten times that. When another process is writing, the loop is not
blocked: the transaction is tried again a little later.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

__all__ = ["GroupWriter", "Statement"]

Statement = tuple[str, tuple[Any, ...]]
_SOON_SECONDS = 0.02  # how long an event may wait for company
_RETRY_SECONDS = 0.01
_BUSY_SECONDS = 60.0  # how long another process may hold the file


class GroupWriter:
    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._waiting: list[Statement] = []
        self._promises: list[tuple[int, int, asyncio.Future[list[int]]]] = []
        self._timer: asyncio.Handle | None = None
        self._busy_since = 0.0
        self._owners: set[str] = set()  # whose statements are waiting
        self._failed: dict[str, AwfError] = {}

    def write(self, statements: Sequence[Statement], owner: str = "") -> None:
        """Write in order, within a moment; a failure shows at the owner's next `commit`."""
        if owner in self._failed:
            return
        self._owners.add(owner)
        self._waiting += statements
        if self._timer is None:
            self._timer = _loop().call_later(_SOON_SECONDS, self._turn)

    def commit(self, statements: Sequence[Statement], owner: str = "") -> asyncio.Future[list[int]]:
        """Write in order; the future gives the row counts, one per statement, once they are safe.

        An owner for whom something could not be written gets nothing written any more: its record has a gap.
        """
        loop = _loop()
        done: asyncio.Future[list[int]] = loop.create_future()
        if owner in self._failed:
            done.set_exception(self._failed[owner])
            return done
        self._owners.add(owner)
        start = len(self._waiting)
        self._waiting += statements
        if not self._promises:
            self._again(loop.call_soon(self._turn))
        self._promises.append((start, len(self._waiting), done))
        return done

    def forget(self, owner: str) -> None:
        """It has let go; whoever takes over begins afresh."""
        self._failed.pop(owner, None)

    def write_now(self, statements: Sequence[Statement]) -> list[int]:
        """Write from a process that has no event loop, waiting for others if need be."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return _transaction(self._connection, statements)
            except sqlite3.Error as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise _write_failed(self._path, error) from error
                time.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        """Write what is still waiting."""
        self._again(None)
        if self._waiting:
            with contextlib.suppress(AwfError):
                self.write_now(self._waiting)
        self._waiting = []

    def _again(self, timer: asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _turn(self) -> None:
        self._timer = None
        counts: list[int] = []
        failure: AwfError | None = None
        try:
            counts = _transaction(self._connection, self._waiting)
        except Exception as error:  # noqa: BLE001  whoever waits must get an answer
            if _is_busy(error) and self._may_wait():
                self._timer = _loop().call_later(_RETRY_SECONDS, self._turn)
                return
            failure = _write_failed(self._path, error)
            self._failed |= dict.fromkeys(self._owners - {""}, failure)
        self._busy_since = 0.0
        promises, self._promises, self._waiting = self._promises, [], []
        self._owners.clear()
        for start, end, done in promises:
            _settle(done, counts[start:end], failure)

    def _may_wait(self) -> bool:
        now = time.monotonic()
        self._busy_since = self._busy_since or now
        return now - self._busy_since < _BUSY_SECONDS


def _loop() -> asyncio.AbstractEventLoop:
    import asyncio  # late: a process that only looks at runs does not need it

    return asyncio.get_running_loop()


def _settle(done: asyncio.Future[list[int]], counts: list[int], failure: AwfError | None) -> None:
    if done.done():  # whoever waited was cancelled
        return
    if failure is not None:
        done.set_exception(failure)
    else:
        done.set_result(counts)


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _transaction(connection: sqlite3.Connection, statements: Sequence[Statement]) -> list[int]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        counts = [connection.execute(sql, values).rowcount for sql, values in statements]
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return counts


def _write_failed(path: str, error: Exception) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.WRITE_FAILED",
        f"The run store {path} cannot be written: {error}.",
        hint="Free some space or restore write access, then try again.",
    )
