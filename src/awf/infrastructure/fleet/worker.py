"""One worker: takes runs from queues, carries out a few at a time, and looks after those of workers that died."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.errors import AwfError
from awf.domain.run_queue import QueueName
from awf.infrastructure.fleet.names import APPLICATION, VERSION, WORKFLOW, dbos_url, require_dbos
from awf.infrastructure.fleet.submitting import POLL_SECONDS, RunQueue, quiet_dbos

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

__all__ = ["FleetWorker", "Locks", "WorkerPlan"]

_SWEEP_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_REJOIN_SECONDS = 5.0
_LEAVE_SECONDS = (
    10.0  # for runs to be left, and what DBOS still writes down then: without a database it tries for ever
)
_LEAST_SECONDS = (
    5.0  # the same from the moment that no run is left; with a silent database that alone takes 15 s
)
_LOCK, _NAME_LOCK = "worker", "worker name"
_log = logging.getLogger("awf.worker")


class Locks(NamedTuple):
    """Locks that are free again the moment their holder dies."""

    hold: Callable[[str, str], Awaitable[bool]]
    let_go: Callable[[str, str], Awaitable[None]]
    rejoined: Callable[[], float]  # when a lost connection was made anew, by the clock of the loop
    hurry: Callable[[], None]  # a database that is gone is not waited for any longer


class WorkerPlan(NamedTuple):
    name: str  # of this worker alone
    queues: Sequence[QueueName]  # all that it may serve; most of them nobody has asked for
    concurrency: int


class FleetWorker:
    """`carry_out` runs one run to its end; cancelled, it ends the run's processes and returns when they are gone."""

    def __init__(
        self, url: str, plan: WorkerPlan, locks: Locks, carry_out: Callable[[str], Awaitable[dict[str, Any]]]
    ) -> None:
        require_dbos()
        self._url = dbos_url(url)
        self._plan = plan
        self._locks = locks
        self._carry_out = carry_out
        self._slots = asyncio.Semaphore(plan.concurrency)
        self._active: set[asyncio.Task[dict[str, Any]]] = set()
        self._sweeping: asyncio.Task[None] | None = None
        self._draining = False
        self._listening = frozenset(map(str, plan.queues))
        self._served: set[str] = set()
        # Never the same twice: DBOS would take up what one of that id had claimed, past its queue and its tag.
        self._executor = f"{plan.name}.{secrets.token_hex(4)}"

    @property
    def name(self) -> str:
        return self._plan.name

    @property
    def queues(self) -> Sequence[str]:
        return [one.queue for one in self._plan.queues if not one.tags]

    @property
    def tags(self) -> Sequence[str]:
        return list(dict.fromkeys(tag for one in self._plan.queues for tag in one.tags))

    async def start(self) -> None:
        """From here on runs are taken. Two workers cannot have one name."""
        if not await self._locks.hold(_NAME_LOCK, self._plan.name):
            raise AwfError(
                "USER.WORKER.NAME_TAKEN",
                f"A worker named '{self._plan.name}' is running already.",
                hint="Choose another --name, or leave it out.",
            )
        await self._locks.hold(_LOCK, self._executor)
        try:
            await self._launch()
        except Exception as error:
            raise _not_started(error) from error
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep_for_ever(), name="sweeper")

    async def _launch(self) -> None:
        from dbos import DBOS, DBOSPortableJSONSerializer

        quiet_dbos()
        DBOS.migrate(self._url)
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._url,
                "sys_db_pool_size": 5,
                "application_version": VERSION,
                "executor_id": self._executor,
                "serializer": DBOSPortableJSONSerializer(),
                "log_level": "ERROR",
                "notification_listener_polling_interval_sec": 1.0,
            }
        )

        # A worker that dies with a run is no fault of the run: it is taken up again however often.
        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)  # type: ignore[untyped-decorator,unused-ignore]
        async def run(run_id: str) -> dict[str, Any]:
            return await DBOS.run_step_async({"name": "walk", "preemptible": True}, self._walk, run_id)

        del run
        DBOS.listen_queues(list(self._listening))
        DBOS.launch()  # in this thread: the runs are then walked on this event loop
        for queue in self.queues:
            await self._serve(str(QueueName(queue)))
        await self._look_for_queues()

    async def _serve(self, queue: str) -> None:
        from dbos import DBOS

        self._served.add(queue)
        await DBOS.register_queue_async(
            queue,
            worker_concurrency=self._plan.concurrency,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )

    async def _look_for_queues(self) -> None:
        """Those of tags are there once somebody asks for the tags."""
        from dbos import DBOS

        for queue in await DBOS.list_queues_async():
            if queue.name in self._listening and queue.name not in self._served:
                await self._serve(queue.name)

    async def _walk(self, run_id: str) -> dict[str, Any]:
        async with self._slots:
            if self._draining:
                raise asyncio.CancelledError  # it stays claimed by this worker until it is handed back
            task = asyncio.get_running_loop().create_task(self._persistently(run_id), name=f"run {run_id}")
            self._active.add(task)
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                task.cancel()  # the engine was told to cancel the run: its processes end first
                await asyncio.wait([task])
                raise
            finally:
                self._active.discard(task)

    async def _persistently(self, run_id: str) -> dict[str, Any]:
        """A store that fails is no end of a run: it is taken up again when the store is back."""
        while True:
            try:
                return await self._carry_out(run_id)
            except AwfError as error:
                if not error.code.startswith("SYSTEM.STORE"):
                    raise
                if self._draining:
                    raise asyncio.CancelledError from error  # an error would be its end
                _log.warning("%s stopped: %s It is tried again.", run_id, error.message)
                await asyncio.sleep(_RETRY_SECONDS)

    # -- the dead --------------------------------------------------------------------------------------------------

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                await self._look_for_queues()
                await self.sweep()
            except Exception as error:  # noqa: BLE001  the database may be away; the next round tries again
                _log.warning("cannot look after other workers: %s", error)

    async def sweep(self) -> int:
        """Hand on what dead workers had claimed; how many runs.

        After a database has restarted or failed over nobody holds a lock at first: all get a while to come back.
        """
        if asyncio.get_running_loop().time() < self._locks.rejoined() + _REJOIN_SECONDS:
            return 0
        pending = await _claimed()
        handed = 0
        for name in {one.executor_id for one in pending} - {self._executor, None}:
            if await self._locks.hold(_LOCK, name):
                try:
                    handed += await self._hand_on(name)
                finally:
                    await self._locks.let_go(_LOCK, name)
        return handed

    async def _hand_on(self, name: str) -> int:
        """Asked again under its lock: another worker may have been quicker, and the runs may be alive elsewhere."""
        from dbos import DBOS

        left = await _claimed(name)
        for queue in {one.queue_name for one in left}:
            runs = [one.workflow_id for one in left if one.queue_name == queue]
            await DBOS.resume_workflows_async(runs, queue_name=queue)
        if left:
            _log.warning("worker %s is gone; %d of its runs wait for others", name, len(left))
        return len(left)

    # -- the end ---------------------------------------------------------------------------------------------------

    async def drain(self, seconds: float, leave: Callable[[], None], hurry: asyncio.Event) -> None:
        """Take nothing more, let runs end for a while, `leave` the rest, and hand it back to the queue."""
        self._draining = True  # also what was claimed and waits for its turn is not begun
        ending = [] if self._sweeping is None else [self._sweeping]
        for task in ending:
            task.cancel()
        stopping = _aside(_stop_taking, int(seconds + _LEAVE_SECONDS))
        await self._all_ended(seconds, hurry)
        loop = asyncio.get_running_loop()
        until = loop.time() + _LEAVE_SECONDS
        self._locks.hurry()
        if self._active:
            leave()
            await asyncio.wait(set(self._active))
        await self._leave_queue(max(until, loop.time() + _LEAST_SECONDS), stopping, *ending)
        await self._locks.let_go(_LOCK, self._executor)
        await self._locks.let_go(_NAME_LOCK, self._plan.name)

    async def _all_ended(self, seconds: float, hurry: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._active and not hurry.is_set() and loop.time() < deadline:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), 0.05)

    async def _leave_queue(self, until: float, *stopping: asyncio.Future[None]) -> None:
        """What is not done in time is gone on without: those who sweep see to it."""
        try:
            async with asyncio.timeout_at(until):
                for error in await asyncio.gather(*stopping, return_exceptions=True):
                    if isinstance(error, Exception):
                        _log.warning("the queue was not left as it should be: %s", error)
                await _aside(self._hand_back)
        except TimeoutError:
            _log.warning("the database does not answer, other workers will see to what is left")
        own = ThreadPoolExecutor(1, "awf-end")  # that of DBOS ends with it
        asyncio.get_running_loop().set_default_executor(own)

    def _hand_back(self) -> None:
        queue = RunQueue(self._url, made=True)
        try:
            count = queue.hand_back(self._executor)
        except Exception as error:  # noqa: BLE001  those who sweep do it when the database is back
            _log.warning("runs cannot be handed back, other workers will take them over: %s", error)
            count = 0
        finally:
            queue.close()
        if count:
            _log.info("%d runs go back to the queue", count)


def _aside(work: Callable[..., None], *arguments: Any) -> asyncio.Future[None]:
    """In a thread of its own, not one of DBOS, which end with it: should it never return, nothing stands behind it."""
    own = ThreadPoolExecutor(1, "awf-drain")
    try:
        return asyncio.get_running_loop().run_in_executor(own, work, *arguments)
    finally:
        own.shutdown(wait=False)


def _stop_taking(seconds: int) -> None:
    """Returns when nothing is at work any more, or the time is over."""
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=seconds)


async def _claimed(name: str | None = None) -> list[Any]:
    from dbos import DBOS

    return await DBOS.list_workflows_async(
        status="PENDING", name=WORKFLOW, executor_id=name, load_input=False, load_output=False
    )


def _not_started(error: Exception) -> AwfError:
    if isinstance(error, AwfError):
        return error
    return AwfError(
        "SYSTEM.STORE.UNAVAILABLE",
        f"The worker cannot be started: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
        hint="Check the database: awf doctor",
    )
