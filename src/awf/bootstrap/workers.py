"""What `awf worker` and `--submit` are built from: runs of many folders over one database."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from typing import TYPE_CHECKING, Any, cast

from awf.bootstrap.app import App
from awf.domain.errors import AwfError
from awf.domain.redaction import JointMasker, Masker
from awf.domain.run_queue import served_queues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.running.service import Prepared
    from awf.domain.run_queue import QueueName
    from awf.infrastructure.fleet import FleetWorker, RunQueue
    from awf.infrastructure.stores.postgres.database import PostgresDatabase
    from awf.infrastructure.stores.postgres.moving import Moved
    from awf.infrastructure.stores.postgres.owned_run import PostgresRun

__all__ = ["RunHost", "copy_runs_to_database", "hand_over", "open_queue", "require_database"]

_LOOK_SECONDS = 0.5
_MOST_DEATHS = 9  # of workers in a row, before a run is taken for the reason
_SHARED = ("runner", "expressions", "schemas", "tracer", "programs", "shared_database")
_OTHERS = (
    ("gate", "gate.db"),
    ("artifacts",),
    ("audit", "audit.db"),
)  # what a machine may have kept that never ran anything
_log = logging.getLogger("awf.worker")


def require_database(app: App) -> PostgresDatabase:
    database = app.shared_database
    if database is None:
        raise AwfError(
            "USER.WORKER.NO_DATABASE",
            "Workers share runs through a PostgreSQL database, and none is set.",
            hint="export AWF_DATABASE_URL=postgresql://user@host/name",
        )
    return database


def open_queue(app: App) -> RunQueue:
    from awf.infrastructure.fleet import RunQueue

    return RunQueue(require_database(app).url)


def copy_runs_to_database(app: App) -> Moved:
    """From the store of this machine into the database that is set."""
    from awf.infrastructure.stores.database import Database
    from awf.infrastructure.stores.postgres.moving import Moved, copy_runs

    target = require_database(app)
    try:
        if not os.path.exists(os.path.join(target.folder, "awf.db")):
            if any(os.path.exists(os.path.join(target.folder, *path)) for path in _OTHERS):
                return Moved()
            raise AwfError(
                "USER.INPUT.MISSING_FILE",
                f"There is no store in {target.folder}.",
                hint="Name its directory with --storage DIR.",
            )
        source = Database(target.folder)
        try:
            return copy_runs(source, target)
        finally:
            source.close()
    finally:
        target.close()


async def hand_over(prepared: Prepared, queue: RunQueue, name: QueueName, options: Mapping[str, Any]) -> str:
    """Give a run that is ready to the workers of a queue; its id."""
    owned = cast("PostgresRun", prepared.owned)
    try:
        before = owned.record.status if owned.resumed else ""
        await asyncio.to_thread(queue.submit, owned.run_id, owned.claim.token, name, options, before)
    finally:
        await owned.release()
    return owned.run_id


class RunHost:
    """Carries out runs in this process, each in the folder where it was started."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._database = require_database(app)
        self._running: dict[str, Prepared] = {}
        self._leaving = False
        self._maskers: list[Masker] = [app.masker]
        self.masker: Masker = JointMasker(lambda: self._maskers)

    def worker(
        self, *, name: str, queues: Sequence[str], tags: Sequence[str], concurrency: int
    ) -> FleetWorker:
        from awf.infrastructure.fleet import FleetWorker, WorkerPlan
        from awf.infrastructure.fleet.worker import Locks

        link = self._database.link
        known = name or f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(3)}"
        plan = WorkerPlan(known, served_queues(queues, tags), concurrency)
        return FleetWorker(
            self._database.url,
            plan,
            Locks(link.hold, link.let_go, lambda: link.rejoined, link.hurry),
            self.carry_out,
        )

    async def carry_out(self, run_id: str) -> dict[str, Any]:
        """One run, from where it stands to its end."""
        while not self._leaving:
            standing = await self._standing(run_id)
            if standing is None or standing["status"] not in {"queued", "running"}:
                return {"status": standing["status"] if standing else "gone"}
            try:
                return await self._one(run_id, standing)
            except AwfError as error:
                if error.code == "SYSTEM.STORE.LOST_RUN" or error.code == "USER.RUN.BUSY":  # noqa: PLR1714
                    await asyncio.sleep(_LOOK_SECONDS)  # somebody has it; should they fail, it is ours again
                elif error.code.startswith("SYSTEM.STORE"):
                    raise
                else:
                    _log.warning("%s cannot be run here: %s %s", run_id, error.code, error.message)
                    return {"status": "failed", "code": error.code}
            except Exception as error:  # noqa: BLE001  the run must get an end
                _log.exception("%s met a mistake of ours", run_id)
                await self._refuse(run_id, _bug(error))
        raise asyncio.CancelledError

    async def _standing(self, run_id: str) -> dict[str, Any] | None:
        async def read(connection: Any) -> Any:
            cursor = await connection.execute(
                "SELECT status, cwd, options, deaths FROM awf.runs WHERE id=%s", (run_id,)
            )
            return await cursor.fetchone()

        row = await self._database.link.do(read)
        if row is None:
            return None
        return {"status": row[0], "cwd": row[1], "options": json.loads(row[2]), "deaths": row[3]}

    async def _one(self, run_id: str, standing: dict[str, Any]) -> dict[str, Any]:
        await self._refuse_unfit(run_id, standing)
        app = self._app_for(standing["cwd"])
        options = standing["options"]
        services = app.run_services(
            app.nobody(), approve_all=bool(options.get("yes")), unattended=bool(options.get("no_input"))
        )
        self._maskers.append(app.masker)
        try:
            prepared = await app.execution.take_up(run_id, services)
            self._running[run_id] = prepared
            if self._leaving:
                prepared.leave()
            _log.info("%s begins: %s", run_id, prepared.owned.record.workflow)
            outcome = await prepared.execute(app.log_listener() or (lambda _stamped: None))
        finally:
            self._running.pop(run_id, None)
            self._maskers.remove(app.masker)
            await app.close()
        if outcome.status == "waiting":  # it was left
            await self._back_in_line(prepared)
            raise asyncio.CancelledError
        _log.info("%s %s", run_id, outcome.status)
        return {"status": outcome.status, "exit_status": outcome.exit_status}

    def _app_for(self, folder: str) -> App:
        app = App(cwd=folder, environment=self._app.environment, flags=self._app.flags, lent=True)
        for part in _SHARED:
            setattr(app, part, getattr(self._app, part))
        app.lender = self._app
        return app

    async def _refuse_unfit(self, run_id: str, standing: dict[str, Any]) -> None:
        """What cannot be begun here, or should not be begun once more, ends with a code."""
        folder, deaths = standing["cwd"], standing["deaths"]
        if not os.path.isdir(folder):
            error = AwfError(
                "EXECUTION.WORKER.NO_FOLDER",
                f"The worker {os.uname().nodename} has no folder {folder}, where the run was submitted.",
                hint="Give every worker the project at the same place, or a tag to those that have it.",
            )
        elif standing["status"] == "running" and deaths >= _MOST_DEATHS:
            error = AwfError(
                "EXECUTION.WORKER.DIED",
                f"{deaths + 1} workers died while they ran the same step.",
                hint=f"See what it was doing: awf status {run_id}",
            )
        else:
            return
        await self._refuse(run_id, error)
        raise error

    async def _refuse(self, run_id: str, error: AwfError) -> None:
        from awf.application.running.service import refuse

        await refuse(await self._app.journal.adopt(run_id, Masker()), error)

    async def _back_in_line(self, prepared: Prepared) -> None:
        """It was left, nobody died: the next worker takes it up like one that was submitted."""
        claim = cast("PostgresRun", prepared.owned).claim
        sql = "UPDATE awf.runs SET status='queued', before='' WHERE id=%s AND owner=%s AND status='running'"
        await self._database.link.do(lambda connection: connection.execute(sql, tuple(claim)))

    def leave(self) -> None:
        """Every run stops where it stands, without an end, and none is begun any more."""
        self._leaving = True
        for prepared in self._running.values():
            prepared.leave()


def _bug(error: Exception) -> AwfError:
    return AwfError(
        "SYSTEM.INTERNAL.BUG",
        f"Something went wrong inside awf: {type(error).__name__}: {error}",
        hint="The details are in the worker's log.",
    )
