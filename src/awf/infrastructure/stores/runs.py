"""Looking at runs from any process; implements the `RunStore` port. Secrets appear masked here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.run_store import OpenQuestion, RunFilter, StepRow, StoredEvent
from awf.domain.redaction import Masker
from awf.domain.run import RunRecord, StepResult
from awf.infrastructure.stores.folders import output_path, run_folder
from awf.infrastructure.stores.ownership import is_owned
from awf.infrastructure.stores.rows import CANCEL_TOPIC, RUN_COLUMNS, message_row, run_from_row

if TYPE_CHECKING:
    from awf.domain.ports.durability import Message
    from awf.infrastructure.stores.database import Database

__all__ = ["SqliteRunStore"]

_LOOK_SECONDS = 0.1


class SqliteRunStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._masker = Masker()  # knows no value: turns sealed marks into the mask

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._database.rows(sql, values)

    def find(self, prefix: str) -> RunRecord:
        if prefix in {"last", "@"}:
            rows = self._rows(f"SELECT {RUN_COLUMNS} FROM runs ORDER BY started_at DESC LIMIT 1", ())  # noqa: S608
        else:
            escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            sql = f"SELECT {RUN_COLUMNS} FROM runs WHERE id=? OR id LIKE ? ESCAPE '\\' OR id LIKE ? ESCAPE '\\' LIMIT 3"  # noqa: S608
            rows = self._rows(sql, (prefix, f"{escaped}%", f"%-{escaped}"))
        exact = [row for row in rows if row[0] == prefix] or rows
        if len(exact) != 1 or not prefix:
            why = (
                f"No run has the id {prefix}."
                if not exact
                else f"'{prefix}' fits several runs, such as {exact[0][0]} and {exact[1][0]}."
            )
            raise AwfError("USER.RUN.NOT_FOUND", why, hint="`awf history` lists the runs.")
        return self._seen(run_from_row(exact[0]))

    def runs(self, query: RunFilter) -> list[RunRecord]:
        where, values = ["started_at >= ?"], [query.since]
        if query.workflow:
            where.append("workflow = ?")
            values.append(query.workflow)  # type: ignore[arg-type]
        sql = f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(where)} ORDER BY started_at DESC"  # noqa: S608
        found: list[RunRecord] = []
        for row in self._database.each(sql, tuple(values)):
            record = self._seen(run_from_row(row))
            if not query.status or record.status == query.status:
                found.append(record)
            if len(found) >= query.limit:
                break
        return found

    def _seen(self, record: RunRecord) -> RunRecord:
        """The record as a person should see it: what a dead owner left as running is interrupted."""
        masked = self._masker.mask_data(record.inputs)
        status, waiting = record.status, ""
        if status == "running":
            if not self.is_alive(record.id):
                status = "interrupted"
            elif questions := self.questions(record.id):
                status, waiting = "waiting", questions[0].message or questions[0].step
        return msgspec.structs.replace(record, inputs=masked, status=status, waiting_for=waiting)

    def events(self, run_id: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        sql = "SELECT seq, body FROM events WHERE run_id=? AND seq>? ORDER BY seq LIMIT ?"
        return [
            StoredEvent(seq, msgspec.json.decode(body))
            for seq, body in self._rows(sql, (run_id, after, limit))
        ]

    def steps(self, run_id: str) -> list[StepRow]:
        rows = self._rows("SELECT path, result FROM steps WHERE run_id=? ORDER BY seq, path", (run_id,))
        decode = msgspec.json.Decoder(StepResult).decode
        return [StepRow(path, decode(self._masker.mask(bytes(result).decode()))) for path, result in rows]

    def questions(self, run_id: str) -> list[OpenQuestion]:
        sql = "SELECT body FROM events WHERE run_id=? AND type IN ('approval.required', 'input.required') ORDER BY seq"
        rows = self._rows(sql, (run_id,))
        answered = {topic for (topic,) in self._rows("SELECT topic FROM messages WHERE run_id=?", (run_id,))}
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
        return self._database.writer.write_now([message_row(run_id, topic, message)])[0] == 1

    def cancel(self, run_id: str, message: Message) -> bool:
        """Ask the owner to stop; a run that nobody owns is marked at once. False: its owner will do it."""
        if self.is_alive(run_id):
            self.tell(run_id, CANCEL_TOPIC, message)
            return False
        self._database.writer.write_now(
            [
                (
                    "UPDATE runs SET status='cancelled', finished_at=?, exit_status=130, owner='' WHERE id=? AND status='running'",
                    (time.time(), run_id),
                )
            ]
        )
        return True

    def is_alive(self, run_id: str) -> bool:
        return is_owned(run_folder(self._database.folder, run_id))

    def goes_on(self, run_id: str) -> bool:
        return self.is_alive(run_id)

    def wait_for_news(self, run_id: str) -> None:
        del run_id
        time.sleep(_LOOK_SECONDS)

    def output_path(self, run_id: str, path: str, stream: str) -> str:
        return output_path(self._database.folder, run_id, path, stream)
