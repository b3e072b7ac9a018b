"""Runs are handed to workers, and taken back."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.infrastructure.fleet.names import APPLICATION, VERSION, WORKFLOW, dbos_url, require_dbos

if TYPE_CHECKING:
    from collections.abc import Mapping

    import sqlalchemy
    from dbos import DBOSClient

    from awf.domain.run_queue import QueueName

__all__ = ["POLL_SECONDS", "RunQueue"]

POLL_SECONDS = 0.1

_HAND_OVER = (
    "UPDATE awf.runs SET status='queued', queue=%s, options=%s, before=%s, submissions=submissions+1, owner=''"
    " WHERE id=%s AND owner=%s RETURNING submissions"
)


class RunQueue:
    """The queue as those see it who are no workers. Every call waits for the database."""

    def __init__(self, url: str, *, made: bool = False) -> None:
        """`made`: its tables are there, and if not, nothing is made."""
        require_dbos()
        self._url = dbos_url(url)
        self._tables_made = made
        self._engine: sqlalchemy.Engine | None = None
        self._made: DBOSClient | None = None

    @property
    def _client(self) -> DBOSClient:
        if self._made is None:
            import sqlalchemy
            from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer

            quiet_dbos()
            if not self._tables_made:
                DBOS.migrate(self._url)
            url = sqlalchemy.make_url(self._url).set(drivername="postgresql+psycopg")
            self._engine = sqlalchemy.create_engine(url, pool_size=1, pool_pre_ping=True)
            self._made = DBOSClient(
                system_database_engine=self._engine,
                serializer=DBOSPortableJSONSerializer(),
                application_name=APPLICATION,
                retry_connection_errors=False,
            )
        return self._made

    def submit(
        self, run_id: str, owner: str, queue: QueueName, options: Mapping[str, Any], before: str
    ) -> str:
        """Hand a run over, in one transaction with its place in the queue; the id of the durable workflow."""
        client = self._client
        if queue.tags and client.retrieve_queue(str(queue)) is None:
            self._announce(str(queue))
        assert self._engine is not None
        values = (str(queue), json.dumps(dict(options)), before, run_id, owner)
        with self._engine.begin() as connection:
            row = connection.connection.driver_connection.execute(_HAND_OVER, values).fetchone()  # type: ignore[union-attr]
            if row is None:
                raise AwfError(
                    "USER.RUN.BUSY",
                    f"Another process is running {run_id}.",
                    hint=f"Watch it with `awf logs -f {run_id}`.",
                )
            name = f"{run_id}.{row[0]}"
            client.enqueue_in_transaction(
                connection,
                {
                    "workflow_name": WORKFLOW,
                    "queue_name": str(queue),
                    "workflow_id": name,
                    "app_version": VERSION,
                },
                run_id,
            )
        return name

    def _announce(self, queue: str) -> None:
        """Workers see it there and set its figures. Until then one run at a time: better than one that takes all."""
        self._client.register_queue(
            queue, worker_concurrency=1, polling_interval_sec=POLL_SECONDS, on_conflict="never_update"
        )

    def hand_back(self, executor_id: str) -> int:
        """What a worker had claimed goes back to its queue; how many runs."""
        found = self._client.list_workflows(
            status="PENDING", executor_id=executor_id, name=WORKFLOW, load_input=False, load_output=False
        )
        for one in found:
            self._client.resume_workflow(one.workflow_id, queue_name=one.queue_name)
        return len(found)

    def close(self) -> None:
        if self._made is not None:
            self._made.destroy()
        if self._engine is not None:
            self._engine.dispose()
        self._made = self._engine = None


def quiet_dbos() -> None:
    """Its own log is for those who look for it."""
    logging.getLogger("dbos").setLevel(logging.ERROR)
