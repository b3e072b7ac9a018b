"""The one thread of a process that writes to the chain.

Whatever came while the last transaction was under way goes into the next one together. Its connection holds a lock by which
others see that this process lives. An entry that cannot be written is tried again for some seconds; then whoever waits is told,
and until the database is back everyone else is told at once.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import select
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from awf.domain.audit import AuditUnavailable
from awf.infrastructure.audit_store.postgres.batch import Batch, OpenCall, Promise, keep
from awf.infrastructure.audit_store.postgres.server import be_brief, words_of

if TYPE_CHECKING:
    import asyncio

    from awf.infrastructure.audit_store.postgres.chain import Chain
    from awf.infrastructure.audit_store.postgres.server import Connection, Server

__all__ = ["PATIENCE_SECONDS", "Writer"]

PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = (0.05, 0.5)
_TOGETHER = 1000  # entries in one transaction
_ROOM = 16 * 1024 * 1024  # bytes that may wait
_SHARE = 4 * 1024 * 1024  # bytes in one transaction
# What was told to be safe must be there after a crash.
_SAFE = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
# A lock or a statement took too long, or we were too long in a transaction.
_BUSY = ("55P03", "57014", "25P03", "25P04")
_log = logging.getLogger("awf.audit")


class Writer:
    def __init__(self, server: Server, chain: Chain, patience: float) -> None:
        self._server = server
        self._chain = chain
        self._patience = patience
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._line: deque[Promise] = deque()
        self._waiting = 0  # bytes
        self._number = 1
        self._doubtful: list[Batch] = []  # given up; perhaps they are in the chain all the same
        self._dropped: list[OpenCall] = []  # their owners were told that nothing was recorded, and it was
        self._down = ""
        self._tended = self._settled = 0.0  # when all was looked after, and when the chain was last held
        self._ear, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._thread: threading.Thread | None = None
        self._closed = False

    # -- any thread, any event loop --------------------------------------------------------------------------------------

    def put(self, data: bytes) -> asyncio.Future[None]:
        """Done when it is in the chain. Nothing: when everything before it has been tried. Raises `AuditUnavailable`."""
        if self._closed:
            raise AuditUnavailable("the audit is closed")
        if self._down and data:
            raise AuditUnavailable(self._down)
        promise = Promise(data, self._patience, self._late)
        with self._lock:
            if self._waiting + len(data) > _ROOM:
                promise.timer.cancel()
                raise AuditUnavailable("too much waits for the audit's database")
            self._waiting += len(data)
            self._line.append(promise)
            is_first = len(self._line) == 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="awf-audit", daemon=True)
                self._thread.start()
        if is_first:
            self._ring()
        return promise.future

    def _late(self, promise: Promise) -> None:
        """The thread hangs somewhere: in the network, in a database that does not answer."""
        self._is_down(self._down or "the database does not answer")
        promise.fail(self._down)
        self._ring()  # should it only have been slow, it finds out that all is well

    def _ring(self) -> None:
        with contextlib.suppress(OSError):  # full of rings already, or closed
            os.write(self._bell, b"!")

    @property
    def has_begun(self) -> bool:
        return self._thread is not None

    def close(self) -> None:
        """What waits is written first, as far as that works."""
        if self._closed:
            return
        self._closed = True
        self._ring()
        if self._thread is not None:
            self._thread.join(self._patience * 2)
        if self._thread is None or not self._thread.is_alive():
            handles = self._ear, self._bell
            self._ear = self._bell = -1  # whoever comes late must not ring at another file
            for handle in handles:
                os.close(handle)

    # -- the thread ------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            batch = self._next()
            is_idle = not (batch.promises or batch)
            if is_idle and self._closed:
                break
            self._carry(batch)
            moment = self._moment()
            if moment <= 0:  # however much others want meanwhile
                self._tend()
            elif is_idle:
                self._rest(moment)
        self._leave()

    def _next(self) -> Batch:
        """Everything that has come meanwhile."""
        taken: list[Promise] = []
        size = 0
        with self._lock:
            while self._line and len(taken) < _TOGETHER and size < _SHARE:
                promise = self._line.popleft()
                self._waiting -= len(promise.data)
                if not promise.is_late:
                    size += len(promise.data)
                    taken.append(promise)
        dropped, self._dropped = self._dropped, []
        try:
            batch = Batch(taken, self._number, dropped)
        except Exception as error:  # noqa: BLE001  a mistake of ours must not end the thread
            _log.exception("entries of the audit cannot be read")
            keep(taken, words_of(error))
            batch = Batch()
        self._number += len(batch.numbers)
        return batch

    def _carry(self, batch: Batch) -> None:
        pause = _PAUSE_SECONDS[0]
        while batch:
            try:
                self._added(batch)
                break
            except Exception as error:  # noqa: BLE001  whoever waits must get an answer
                self._after(error)
                if not self._may_pass(error):
                    self._give_up(batch, error, for_all=False)
                    return
                if self._down or time.monotonic() + pause > batch.deadline:
                    self._give_up(batch, error, for_all=True)
                    return
            time.sleep(pause)
            pause = min(pause * 2, _PAUSE_SECONDS[1])
        keep(batch.promises)
        self._drop_missed(batch)

    def _added(self, batch: Batch) -> None:
        connection = self._connected()
        self._resolve(connection)
        self._chain.add(connection, batch)
        self._settled = time.monotonic()
        self._is_back()

    def _is_down(self, reason: str) -> None:
        if not self._down:
            _log.error("the audit's database %s cannot be written: %s", self._server.place, reason)
        self._down = reason

    def _is_back(self) -> None:
        if self._down:
            self._down = ""
            _log.warning("the audit's database is back")

    def _give_up(self, batch: Batch, error: Exception, *, for_all: bool) -> None:
        reason = words_of(error)
        if batch.was_tried:
            self._doubtful.append(batch)
        failed = list(batch.promises)
        if for_all:
            self._is_down(reason)
            with self._lock:
                failed += self._line
                self._line.clear()
                self._waiting = 0
        keep(failed, reason)

    def _may_pass(self, error: Exception) -> bool:
        return self._server.is_passing(error) or getattr(error, "sqlstate", None) in _BUSY

    def _resolve(self, connection: Connection) -> None:
        """Whether what was given up is in the chain."""
        while self._doubtful:
            batch = self._doubtful[0]
            if self._chain.was_added(connection, batch):
                self._drop_missed(batch)
            self._doubtful.pop(0)

    def _drop_missed(self, batch: Batch) -> None:
        """Decisions that are recorded, while their owners were told that they are not: no effect will follow."""
        for request in batch.missed:
            calls = self._chain.open_calls.get(request)
            if calls:
                self._dropped.append(OpenCall(calls[-1], request))

    # -- when there is nothing to write ------------------------------------------------------------------------------------

    def _rest(self, moment: float) -> None:
        connection = self._connection
        heard = select.poll()
        heard.register(self._ear, select.POLLIN)
        if connection is not None and not connection.closed:
            heard.register(connection.fileno(), select.POLLIN)
        ready = [handle for handle, _ in heard.poll(None if moment == math.inf else moment * 1000)]
        if self._ear in ready:
            os.read(self._ear, 4096)
        elif ready and connection is not None:  # what it says unasked is mostly farewell
            try:
                connection.execute("SELECT 1")
            except Exception as error:  # noqa: BLE001  it is made anew
                self._after(error)

    def _moment(self) -> float:
        """How long there is nothing to do but to wait."""
        now = time.monotonic()
        if self._down or (self._connection is None and self._chain.open_calls):
            return self._tended + _PAUSE_SECONDS[1] - now
        due = self._chain.due_in()
        return math.inf if due is None else max(self._settled + due, self._tended + _PAUSE_SECONDS[0]) - now

    def _tend(self) -> None:
        """The lock is held as long as we live, a database that was away is looked for, and a checkpoint is signed in time."""
        self._tended = time.monotonic()
        try:
            connection = self._connected()
            self._resolve(connection)
            self._chain.add(connection, Batch())
        except Exception as error:  # noqa: BLE001  it is tried again
            self._after(error)
        else:
            self._settled = time.monotonic()
            self._is_back()

    # -- the connection ----------------------------------------------------------------------------------------------------

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            made = self._server.connect()
            try:
                be_brief(made)
                made.execute(_SAFE)
                # Shared: one of ours that the server has not yet found dead may still hold it.
                key = self._server.lock_key("audit", self._chain.writer)
                made.execute("SELECT pg_advisory_lock_shared(%s)", (key,))
            except BaseException:
                made.close()
                raise
            self._connection = made
        return self._connection

    def _after(self, error: Exception) -> None:
        """What the server only refused leaves the connection as it is; our lock stays held."""
        connection = self._connection
        if connection is None:
            return
        if getattr(error, "sqlstate", None) is not None and not connection.closed:
            with contextlib.suppress(Exception):
                connection.execute("ROLLBACK")
                return
        with contextlib.suppress(Exception):
            connection.close()
        self._connection = None

    def _leave(self) -> None:
        """Of calls that are open still nobody will say what came of them."""
        own = [OpenCall(one, request) for request, calls in self._chain.open_calls.items() for one in calls]
        with contextlib.suppress(Exception):
            if own and not self._down:
                self._chain.add(self._connected(), Batch((), self._number, own))
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
        self._chain.close()
