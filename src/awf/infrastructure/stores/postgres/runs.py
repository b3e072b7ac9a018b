"""Looking at runs from any machine; implements the `RunStore` port. Secrets appear masked here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.run_store import OpenQuestion, RunFilter, StepRow, StoredEvent
from awf.domain.redaction import Masker
from awf.domain.run import RunRecord, StepResult
from awf.domain.run_queue import QueueName
from awf.infrastructure.stores.postgres.artifacts import output_here
from awf.infrastructure.stores.postgres.connecting import is_passing, lock_key, open_connection
from awf.infrastructure.stores.postgres.ear import MESSAGES
from awf.infrastructure.stores.postgres.owned_run import message_row
from awf.infrastructure.stores.rows import CANCEL_TOPIC, RUN_COLUMNS, run_from_row

if TYPE_CHECKING:
    import psycopg

    from awf.domain.ports.durability import Message
    from awf.infrastructure.stores.postgres.database import PostgresDatabase

__all__ = ["PostgresRunStore"]

_LOOK_SECONDS = 1.0  # how long news are waited for before the run itself is looked at again
_FOLLOW_SECONDS = 60.0  # whoever watches a run waits for the database as long as the run does
_HELD = (
    "EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype='advisory' AND l.granted AND l.objsubid=1 AND l.database="
    "(SELECT oid FROM pg_database WHERE datname=current_database())"
    " AND l.classid=%s::bigint::oid AND l.objid=%s::bigint::oid)"
)
_MARK_CANCELLED = (
    "UPDATE awf.runs SET status='cancelled', finished_at=%s, exit_status=130"  # noqa: S608
    f" WHERE id=%s AND status IN ('running', 'queued') AND NOT {_HELD}"
)


class PostgresRunStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._masker = Masker()  # knows no value: turns sealed marks into the mask
        self._news: psycopg.Connection[tuple[Any, ...]] | None = None
        self._followed = ""

    def find(self, prefix: str) -> RunRecord:
        if prefix in {"last", "@"}:
            rows = self._database.rows(
                f"SELECT {RUN_COLUMNS}, queue FROM awf.runs ORDER BY started_at DESC LIMIT 1"  # noqa: S608
            )
        else:
            escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("\0", "")
            sql = f"SELECT {RUN_COLUMNS}, queue FROM awf.runs WHERE id=%s OR id LIKE %s OR id LIKE %s LIMIT 3"  # noqa: S608
            rows = self._database.rows(sql, (prefix.replace("\0", ""), f"{escaped}%", f"%-{escaped}"))
        exact = [row for row in rows if row[0] == prefix] or rows
        if len(exact) != 1 or not prefix:
            why = (
                f"No run has the id {prefix}."
                if not exact
                else f"'{prefix}' fits several runs, such as {exact[0][0]} and {exact[1][0]}."
            )
            raise AwfError("USER.RUN.NOT_FOUND", why, hint="`awf history` lists the runs.")
        return self._seen(exact[0])

    def runs(self, query: RunFilter) -> list[RunRecord]:
        where, values = ["started_at >= %s"], [query.since]
        if query.workflow:
            where.append("workflow = %s")
            values.append(query.workflow)  # type: ignore[arg-type]
        if query.status in {"completed", "failed", "cancelled"}:
            where.append("status = %s")
            values.append(query.status)  # type: ignore[arg-type]
        elif query.status:
            where.append("status IN ('running', 'queued')")
        sql = (
            f"SELECT {RUN_COLUMNS}, queue FROM awf.runs WHERE {' AND '.join(where)} ORDER BY started_at DESC"  # noqa: S608
        )
        if query.status in {"", "completed", "failed", "cancelled"}:
            sql += f" LIMIT {int(query.limit)}"
        found: list[RunRecord] = []
        for row in self._database.rows(sql, tuple(values)):
            record = self._seen(row)
            if not query.status or record.status == query.status:
                found.append(record)
            if len(found) >= query.limit:
                break
        return found

    def _seen(self, row: tuple[Any, ...]) -> RunRecord:
        """The record as a person should see it: what a dead owner left is interrupted, or waits for another worker."""
        record, queue = run_from_row(row), row[-1]
        masked = self._masker.mask_data(record.inputs)
        status, waiting = record.status, ""
        if status == "running":
            if not self.is_alive(record.id):
                status = "queued" if queue else "interrupted"
            elif questions := self.questions(record.id):
                status, waiting = "waiting", questions[0].message or questions[0].step
        if status == "queued" and queue:
            waiting = QueueName.parse(queue).awaited
        return msgspec.structs.replace(record, inputs=masked, status=status, waiting_for=waiting)

    def events(self, run_id: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        sql = "SELECT seq, body FROM awf.events WHERE run_id=%s AND seq>%s ORDER BY seq LIMIT %s"
        return [
            StoredEvent(seq, msgspec.json.decode(body))
            for seq, body in self._database.rows(sql, (run_id, after, limit))
        ]

    def steps(self, run_id: str) -> list[StepRow]:
        rows = self._database.rows(
            "SELECT path, result FROM awf.steps WHERE run_id=%s ORDER BY seq, path", (run_id,)
        )
        decode = msgspec.json.Decoder(StepResult).decode
        return [StepRow(path, decode(self._masker.mask(bytes(result).decode()))) for path, result in rows]

    def questions(self, run_id: str) -> list[OpenQuestion]:
        sql = (
            "SELECT body FROM awf.events WHERE run_id=%s AND type IN ('approval.required', 'input.required')"
            " ORDER BY seq"
        )
        rows = self._database.rows(sql, (run_id,))
        if not rows:
            return []
        told = self._database.rows("SELECT topic FROM awf.messages WHERE run_id=%s", (run_id,))
        answered = {topic for (topic,) in told}
        found: dict[str, OpenQuestion] = {}
        for (body,) in rows:
            event = msgspec.json.decode(body)
            topic = event.get("approval_id") or event.get("input_id") or ""
            if topic not in answered:
                kind = "approval" if event["type"].startswith("approval") else "input"
                text = event.get("message") or event.get("prompt") or ""
                found[topic] = OpenQuestion(topic, kind, event["step"], event["path"], text, event["time"])
        return list(found.values())

    def tell(self, run_id: str, topic: str, message: Message) -> bool:
        row = message_row(run_id, topic, message, self._database.clock())
        return self._database.write_now([row, ("SELECT pg_notify(%s, %s)", (MESSAGES, run_id))])[0] == 1

    def cancel(self, run_id: str, message: Message) -> bool:
        """Ask the owner to stop; a run that nobody owns is marked at once. False: its owner will do it."""
        key = lock_key("run", run_id)
        # Whoever takes a run over has its lock before it changes the row: in here it is either owned, or stays unowned.
        values = (self._database.clock(), run_id, (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF)
        marked = self._database.write_now(
            [
                ("SELECT 1 FROM awf.runs WHERE id=%s FOR UPDATE", (run_id,)),
                (_MARK_CANCELLED, values),
                ("SELECT pg_notify(%s, '')", (f"awf:{run_id}",)),
            ]
        )[1]
        if not marked:
            self.tell(run_id, CANCEL_TOPIC, message)
        return bool(marked)

    def is_alive(self, run_id: str) -> bool:
        return self._database.is_held("run", run_id)

    def goes_on(self, run_id: str) -> bool:
        if self.is_alive(run_id):
            return True
        row = self._database.row("SELECT status, queue FROM awf.runs WHERE id=%s", (run_id,))
        return row is not None and row[0] in {"running", "queued"} and bool(row[1])

    def wait_for_news(self, run_id: str) -> None:
        """Returns when the run may have said something, at the latest after a moment."""
        self._database.patience = _FOLLOW_SECONDS
        try:
            if self._news is None or self._followed != run_id:
                self.stop_following()
                self._news, self._followed = open_connection(self._database.url), run_id
                self._news.execute(f'LISTEN "awf:{run_id}"'.encode())
                return  # something may have been said before we listened
            for _ in self._news.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                pass
        except Exception as error:
            if not is_passing(error):
                raise
            self.stop_following()
            time.sleep(_LOOK_SECONDS)

    def stop_following(self) -> None:
        if self._news is not None:
            self._news.close()
            self._news = None

    def output_path(self, run_id: str, path: str, stream: str) -> str:
        return output_here(self._database, run_id, path, stream)
