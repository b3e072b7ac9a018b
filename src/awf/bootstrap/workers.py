"""What `awf worker` and `--submit` are built from: runs of many folders over one database."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from typing import TYPE_CHECKING, Any

from awf.bootstrap.app import App
from awf.domain.errors import AwfError
from awf.domain.redaction import JointMasker, Masker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.running.service import Prepared
    from awf.infrastructure.fleet import FleetWorker, QueueName, RunQueue
    from awf.infrastructure.stores.postgres.database import PostgresDatabase

__all__ = ["RunHost", "hand_over", "open_queue", "queue_name", "require_database"]

_LOOK_SECONDS = 0.5
_SHARED = ("runner", "expressions", "schemas", "tracer", "programs", "shared_database")
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


def queue_name(queue: str, tag: str = "") -> QueueName:
    """Raises when it is no name."""
    from awf.infrastructure.fleet.names import QueueName

    return QueueName.checked(queue, tag)


async def hand_over(prepared: Prepared, queue: RunQueue, name: QueueName, options: Mapping[str, Any]) -> str:
    """Give a run that is ready to the workers of a queue; its id."""
    from awf.infrastructure.stores.postgres.owned_run import PostgresRun

    owned = prepared.owned
    assert isinstance(owned, PostgresRun)
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
        self._maskers: list[Masker] = [app.masker]
        self.masker: Masker = JointMasker(lambda: self._maskers)

    def worker(
        self, *, name: str, queues: Sequence[str], tags: Sequence[str], concurrency: int
    ) -> FleetWorker:
        from awf.infrastructure.fleet import FleetWorker, WorkerPlan
        from awf.infrastructure.fleet.worker import Locks

        served = [queue_name(queue, tag) for queue in queues for tag in ("", *tags)]
        link = self._database.link
        known = name or f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(3)}"
        plan = WorkerPlan(known, served, concurrency)
        return FleetWorker(self._database.url, plan, Locks(link.hold, link.let_go), self.carry_out)

    async def carry_out(self, run_id: str) -> dict[str, Any]:
        """One run, from where it stands to its end."""
        while True:
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

    async def _standing(self, run_id: str) -> dict[str, Any] | None:
        async def read(connection: Any) -> Any:
            cursor = await connection.execute(
                "SELECT status, cwd, options FROM awf.runs WHERE id=%s", (run_id,)
            )
            return await cursor.fetchone()

        row = await self._database.link.do(read)
        return {"status": row[0], "cwd": row[1], "options": json.loads(row[2])} if row else None

    async def _one(self, run_id: str, standing: dict[str, Any]) -> dict[str, Any]:
        app = await self._app_for(run_id, standing["cwd"])
        options = standing["options"]
        services = app.run_services(
            app.nobody(), approve_all=bool(options.get("yes")), unattended=bool(options.get("no_input"))
        )
        self._maskers.append(app.masker)
        try:
            prepared = await app.execution.take_up(run_id, services)
            self._running[run_id] = prepared
            _log.info("%s begins: %s", run_id, prepared.owned.record.workflow)
            outcome = await prepared.execute(app.log_listener() or (lambda _stamped: None))
        finally:
            self._running.pop(run_id, None)
            self._maskers.remove(app.masker)
            await app.close()
        if outcome.status == "waiting":  # it was left
            raise asyncio.CancelledError
        _log.info("%s %s", run_id, outcome.status)
        return {"status": outcome.status, "exit_status": outcome.exit_status}

    async def _app_for(self, run_id: str, folder: str) -> App:
        if not os.path.isdir(folder):
            await self._refuse(run_id, folder)
        app = App(cwd=folder, environment=self._app.environment, flags=self._app.flags, lent=True)
        for part in _SHARED:
            setattr(app, part, getattr(self._app, part))
        return app

    async def _refuse(self, run_id: str, folder: str) -> None:
        from awf.application.running.service import refuse

        error = AwfError(
            "EXECUTION.WORKER.NO_FOLDER",
            f"The worker {os.uname().nodename} has no folder {folder}, where the run was submitted.",
            hint="Give every worker the project at the same place, or a tag to those that have it.",
        )
        await refuse(await self._app.journal.adopt(run_id, Masker()), error)
        raise error

    def leave(self) -> None:
        """Every run stops where it stands, without an end."""
        for prepared in self._running.values():
            prepared.leave()
