"""One process' side of a database, on its event loop: what is written, which locks are held, what is heard.

Everything that uses the connection stands in one line, so that a caller that is cancelled never leaves a half-done
exchange behind. Statements that stand there together are committed together. When the connection breaks, it is made
anew, the locks are taken again, and what was not answered is written once more: every statement may be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from awf.domain.errors import AwfError
from awf.infrastructure.stores.postgres.connecting import is_passing, lock_key, open_waiting, write_failed
from awf.infrastructure.stores.postgres.ear import Ear

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import psycopg

    from awf.infrastructure.stores.writing import Statement

    Connection = psycopg.AsyncConnection[tuple[Any, ...]]

__all__ = ["Claim", "EventRow", "Link", "StepRow", "Writing"]

StepRow = tuple[str, str, int, bytes]
EventRow = tuple[str, int, str, str, bytes]

T = TypeVar("T")
_SOON_SECONDS = 0.02  # how long an event may wait for company
_PATIENCE_SECONDS = 60.0  # how long a database may be gone before runs stop
_HURRY_SECONDS = 10.0  # the same for one that is about to end
_ANSWER_SECONDS = 60.0  # how long a server may be silent before it is taken for gone
_HURRIED_ANSWER_SECONDS = 5.0  # the same for one that is about to end
_PAUSE_SECONDS = (0.05, 2.0)
_NOT_OWNER = "AW001"
_RECORD = (
    "SELECT awf.record(%b::text[], %b::text[], %b::text[], %b::text[], %b::int[], %b::bytea[],"
    " %b::text[], %b::int[], %b::text[], %b::text[], %b::bytea[])"
)


class Claim(NamedTuple):
    """Who writes: a run, and the word under which its owner is known."""

    run_id: str
    token: str


class Writing(NamedTuple):
    """What is to be written for a run: what steps came to, what happened, and whatever else."""

    steps: Sequence[StepRow] = ()  # run, path, number, result
    events: Sequence[EventRow] = ()  # run, number, type, once, body
    others: Sequence[Statement] = ()


class _Entry(NamedTuple):
    claim: Claim
    writing: Writing
    done: asyncio.Future[list[int]] | None


class _Job(NamedTuple):
    work: Callable[[Any], Awaitable[Any]]
    done: asyncio.Future[Any]


class Link:
    def __init__(self, url: str) -> None:
        self.url = url
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._line: deque[_Entry | _Job] = deque()
        self._wake = asyncio.Event()
        self._timer: asyncio.Handle | None = None
        self._held: set[int] = set()
        self._asked: set[int] = set()
        self._failed: dict[Claim, AwfError] = {}
        self._pumping: asyncio.Task[None] | None = None
        self._patience = _PATIENCE_SECONDS
        self._hurried = False
        self._answering: asyncio.Timeout | None = None
        self._gone_since: float | None = None
        self._looking: asyncio.Future[Any] | None = None
        self._was_connected = False
        self.rejoined = float("-inf")  # when a lost connection was made anew, by the clock of the loop
        self.ear = Ear(url, self._broken)

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, claim: Claim, writing: Writing) -> None:
        """Write in order, within a moment; a failure shows at the next `commit`."""
        if claim in self._failed:
            return
        self._line.append(_Entry(claim, writing, None))
        if self._timer is None:
            self._timer = self._loop.call_later(_SOON_SECONDS, self._start)

    def commit(self, claim: Claim, writing: Writing) -> asyncio.Future[list[int]]:
        """Write in order; the future gives how many rows each of the other statements changed, once all is safe."""
        done: asyncio.Future[list[int]] = self._loop.create_future()
        if claim in self._failed:
            done.set_exception(self._failed[claim])
            return done
        self._line.append(_Entry(claim, writing, done))
        self._start()
        return done

    def do(self, work: Callable[[Connection], Awaitable[T]]) -> asyncio.Future[T]:
        """Something with the connection, in its turn; after what was written before it. It may be done twice."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._line.append(_Job(work, done))
        self._start()
        return done

    def forget(self, claim: Claim) -> None:
        self._failed.pop(claim, None)

    # -- locks -----------------------------------------------------------------------------------------------------

    async def hold(self, kind: str, name: str) -> bool:
        """Hold a lock for as long as this process lives. False: somebody has it, perhaps this very process."""
        key = lock_key(kind, name)
        if key in self._held or key in self._asked:
            return False
        self._asked.add(key)

        async def take(connection: Connection) -> bool:
            if got := await _try_lock(connection, key):
                self._held.add(key)
            return got

        try:
            return await self.do(take)
        except asyncio.CancelledError:
            self.do(lambda connection: self._unlock(connection, key))
            raise
        finally:
            self._asked.discard(key)

    async def let_go(self, kind: str, name: str) -> None:
        key = lock_key(kind, name)
        with contextlib.suppress(AwfError):
            await self.do(lambda connection: self._unlock(connection, key))

    async def _unlock(self, connection: Connection, key: int) -> None:
        if key in self._held:
            self._held.discard(key)
            await connection.execute("SELECT pg_advisory_unlock(%s)", (key,))

    # -- the line --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake.set()
        if self._pumping is None:
            self._pumping = self._loop.create_task(self._pump(), name="database")

    async def _pump(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._line:
                first = self._line.popleft()
                if isinstance(first, _Job):
                    await self._finish_job(first)
                    continue
                batch = [first]
                while self._line and isinstance(entry := self._line[0], _Entry):
                    batch.append(entry)
                    self._line.popleft()
                await self._finish_batch(batch)

    async def _finish_job(self, job: _Job) -> None:
        try:
            result = await self._patiently(job.work)
        except Exception as error:  # noqa: BLE001  whoever waits must get an answer
            failure = error if isinstance(error, AwfError) else write_failed(self.url, error)
            if not job.done.done():
                job.done.set_exception(failure)
                job.done.exception()  # it may be that nobody waits any more
        else:
            if not job.done.done():
                job.done.set_result(result)

    async def _finish_batch(self, batch: list[_Entry]) -> None:
        claims = dict.fromkeys(entry.claim for entry in batch if entry.claim not in self._failed)
        batch = [entry for entry in batch if entry.claim in claims]
        if not batch:
            return
        try:
            counts = await self._patiently(lambda connection: _transaction(connection, claims, batch))
        except Exception as error:  # noqa: BLE001  whoever waits must get an answer
            if len(claims) > 1:  # one run's trouble is not another one's
                for claim in claims:
                    await self._finish_batch([entry for entry in batch if entry.claim == claim])
            else:
                self._fail(batch, error)
            return
        for entry, found in zip(batch, counts, strict=True):
            if entry.done is not None and not entry.done.done():
                entry.done.set_result(found)

    def _fail(self, batch: list[_Entry], error: Exception) -> None:
        claim = batch[0].claim
        failure = _taken(claim) if getattr(error, "sqlstate", "") == _NOT_OWNER else None
        failure = failure or (error if isinstance(error, AwfError) else write_failed(self.url, error))
        self._failed[claim] = failure
        waiting = [entry for entry in self._line if isinstance(entry, _Entry) and entry.claim == claim]
        self._line = deque(entry for entry in self._line if entry not in waiting)
        for entry in [*batch, *waiting]:
            if entry.done is not None and not entry.done.done():
                entry.done.set_exception(failure)

    # -- the connection --------------------------------------------------------------------------------------------

    async def _patiently(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        pause = _PAUSE_SECONDS[0]
        while True:
            began = self._loop.time()
            try:
                return await self._answered(work)
            except Exception as error:
                if not is_passing(error) or self._is_hopeless(began):
                    raise
                await self._drop()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSE_SECONDS[1])

    async def _answered(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        if self._hurried and self._gone_since is not None and self._is_hopeless(self._gone_since):
            raise TimeoutError  # each one that tries would wait for as long again
        try:
            async with asyncio.timeout(
                _HURRIED_ANSWER_SECONDS if self._hurried else _ANSWER_SECONDS
            ) as self._answering:
                result = await work(await self._connected())
        finally:
            self._answering = None
        self._gone_since = None
        return result

    def _is_hopeless(self, began: float) -> bool:
        """All that stands in the line waits together: the last of it no longer than the first."""
        now = self._loop.time()
        if self._gone_since is None:
            self._gone_since = began if self._hurried else now
        return now > self._gone_since + self._patience

    def hurry(self) -> None:
        """This process is to end: a database that is gone, or silent, is not waited for any longer than a moment."""
        self._hurried = True
        self._patience = _HURRY_SECONDS
        if self._answering is not None and not self._answering.expired():  # one that has is being given up
            soon = self._loop.time() + _HURRIED_ANSWER_SECONDS
            self._answering.reschedule(min(soon, self._answering.when() or soon))

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await open_waiting(self.url)
            # Whoever took one of our locks meanwhile has become the owner, and the fence tells us so.
            for key in self._held:
                await _try_lock(self._connection, key)
            if self._was_connected:
                self.rejoined = self._loop.time()
            self._was_connected = True
        return self._connection

    async def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await self._connection.close()
            self._connection = None

    def _broken(self) -> None:
        """The ear noticed that the database went away: its locks must be taken again before others wonder."""
        if self._looking is None or self._looking.done():
            self._looking = self.do(lambda connection: connection.execute("SELECT 1"))

    async def close(self) -> None:
        await self.ear.close()
        if self._pumping is not None:
            with contextlib.suppress(AwfError):
                await self.do(_nothing)  # what waits is written first
            self._pumping.cancel()
            await asyncio.wait([self._pumping])
        if self._timer is not None:
            self._timer.cancel()
        await self._drop()


async def _nothing(_connection: object) -> None:
    return None


async def _try_lock(connection: Connection, key: int) -> bool:
    cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (key,))
    row = await cursor.fetchone()
    return bool(row and row[0])


async def _transaction(
    connection: Connection, claims: dict[Claim, None], batch: list[_Entry]
) -> list[list[int]]:
    """All of it in one way there and back."""
    record = _record(claims, batch)
    if not any(entry.writing.others for entry in batch):
        await connection.execute(_RECORD, record)
        return [[] for _ in batch]
    cursors: list[list[psycopg.AsyncCursor[tuple[Any, ...]]]] = []
    try:
        async with connection.pipeline():
            await connection.execute("BEGIN")
            await connection.execute(_RECORD, record)
            for entry in batch:
                cursors.append([])
                for sql, values in entry.writing.others:
                    cursors[-1].append(await connection.execute(sql.encode(), values))
            await connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(Exception):
            await connection.rollback()
        raise
    return [[cursor.rowcount for cursor in row] for row in cursors]


def _record(claims: dict[Claim, None], batch: list[_Entry]) -> list[list[Any]]:
    """The arguments of `awf.record`: a list for each column."""
    steps = [row for entry in batch for row in entry.writing.steps]
    events = [row for entry in batch for row in entry.writing.events]
    return [*_columns(list(claims), 2), *_columns(steps, 4), *_columns(events, 5)]


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]


def _taken(claim: Claim) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.LOST_RUN",
        f"Another process has taken over {claim.run_id}.",
        hint=f"Watch it with `awf logs -f {claim.run_id}`.",
    )
