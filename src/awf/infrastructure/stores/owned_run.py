"""One run that this process owns; implements the `OwnedRun` port."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, TypeVar

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.durability import Finished, Message, RunOutcome
from awf.domain.run import RunRecord, StepResult
from awf.infrastructure.stores.folders import output_path, run_folder
from awf.infrastructure.stores.outbox import Outbox
from awf.infrastructure.stores.rows import CANCEL_TOPIC, encode_optional, message_row
from awf.infrastructure.stores.stamping import EventStamp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.domain.events import Event, Stamped
    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.program import Definition
    from awf.domain.redaction import Masker
    from awf.infrastructure.stores.database import Database
    from awf.infrastructure.stores.ownership import Ownership
    from awf.infrastructure.stores.writing import Statement

__all__ = ["SqliteRun"]

T = TypeVar("T")
_POLL_SECONDS = 0.1  # how soon a word from another process is heard
_encoder = msgspec.json.Encoder()
_result_decoder = msgspec.json.Decoder(StepResult)


class SqliteRun:
    """One owned run; implements the `OwnedRun` port."""

    def __init__(
        self,
        database: Database,
        record: RunRecord,
        definition: Definition,
        masker: Masker,
        ownership: Ownership,
        *,
        resumed: bool,
    ) -> None:
        self.record = record
        self.definition = definition
        self.resumed = resumed
        self._database = database
        self._masker = masker
        self._ownership = ownership
        self._outbox = Outbox()
        last, self.finished_steps = self._counters()
        self._stamp = EventStamp(record.id, last, masker, time.time)
        self._arrived: dict[str, asyncio.Event] = {}

    @property
    def run_id(self) -> str:
        return self.record.id

    def _counters(self) -> tuple[int, int]:
        sql = (
            "SELECT (SELECT max(seq) FROM events WHERE run_id=?), (SELECT count(*) FROM steps WHERE run_id=?)"
        )
        ((last, steps),) = self._database.rows(sql, (self.run_id, self.run_id))
        return int(last or 0), int(steps)

    def listen(self, publish: EventListener) -> None:
        self._outbox.publish = publish

    # -- the verbs -------------------------------------------------------------------------------------------------

    async def step(self, path: str, work: Callable[[], Awaitable[Finished]]) -> StepResult:
        known = self.recorded(path)
        if known is not None:
            return known
        finished = await work()
        stamped = [self._stamp(event) for event in finished.events]
        sealed = self._masker.map_struct(finished.result, self._masker.seal)
        record: Statement = (
            "INSERT INTO steps (run_id, path, seq, result) VALUES (?,?,?,?)",
            (self.run_id, path, self._stamp.seq, _encoder.encode(sealed)),
        )
        committed = self._commit([record, *(self._event_row(item) for item in stamped)])
        self._outbox.post(stamped, committed)
        await self._safe(committed)
        self.finished_steps += 1
        self._stamp.step_ended(path)
        return finished.result

    async def branch(self, path: str, walk: Callable[[], Awaitable[T]]) -> T:
        del path  # one process walks every branch; the paths of its steps tell them apart
        return await walk()

    async def forget(self, path: str) -> None:
        own = f"{path}@", f"{path}/hooks/"
        begins = "(path=? OR substr(path,1,?)=? OR substr(path,1,?)=?)"
        await self._commit(
            [
                (
                    f"DELETE FROM steps WHERE run_id=? AND {begins}",  # noqa: S608
                    (self.run_id, path, len(own[0]), own[0], len(own[1]), own[1]),
                ),
                (
                    "DELETE FROM messages WHERE run_id=? AND substr(topic,1,?)=?",
                    (self.run_id, len(f"timer:{own[0]}"), f"timer:{own[0]}"),
                ),
                (
                    "DELETE FROM messages WHERE run_id=? AND topic=? AND payload LIKE '%reject%'",
                    (self.run_id, f"approval:{path}"),
                ),
            ]
        )

    def recorded(self, path: str) -> StepResult | None:
        if not self.finished_steps:
            return None
        row = self._database.row("SELECT result FROM steps WHERE run_id=? AND path=?", (self.run_id, path))
        return (
            None
            if row is None
            else self._masker.map_struct(_result_decoder.decode(row[0]), self._masker.unseal)
        )

    async def wait(self, topic: str, timeout: float | None) -> Message | None:
        arrived = self._arrived.setdefault(topic, asyncio.Event())
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            while (message := self._message(topic)) is None:
                left = (
                    _POLL_SECONDS
                    if deadline is None
                    else min(_POLL_SECONDS, deadline - asyncio.get_running_loop().time())
                )
                if left <= 0:
                    await self.deliver(topic, Message({"timeout": True}))
                    continue
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(arrived.wait(), left)
        finally:
            self._arrived.pop(topic, None)
        return None if message.payload.get("timeout") else message

    def answered(self, topic: str) -> bool:
        return self._message(topic) is not None

    async def deliver(self, topic: str, message: Message) -> bool:
        counts = await self._safe(
            self._commit(
                [message_row(self.run_id, topic, self._masker.map_struct(message, self._masker.seal))]
            )
        )
        arrived = self._arrived.get(topic)
        if arrived is not None:
            arrived.set()
        return counts[0] == 1

    def _message(self, topic: str) -> Message | None:
        row = self._database.row(
            "SELECT payload, sender FROM messages WHERE run_id=? AND topic=?", (self.run_id, topic)
        )
        return (
            None
            if row is None
            else self._masker.map_struct(Message(json.loads(row[0]), row[1]), self._masker.unseal)
        )

    def emit(self, event: Event, *, once: str = "") -> None:
        if once and self.resumed and self._seen(once):
            return
        stamped = self._stamp(event)
        if self._stamp.worth_keeping(stamped.event):
            self._database.writer.write([self._event_row(stamped, once)], self.run_id)
        self._outbox.post([stamped])

    def _seen(self, once: str) -> bool:
        row = self._database.row("SELECT 1 FROM events WHERE run_id=? AND once=?", (self.run_id, once))
        return row is not None

    def _event_row(self, stamped: Stamped, once: str = "") -> Statement:
        sql = "INSERT INTO events (run_id, seq, type, once, body) VALUES (?,?,?,?,?)"
        return sql, self._stamp.row(stamped, once)

    def _commit(self, statements: Sequence[Statement]) -> asyncio.Future[list[int]]:
        return self._database.writer.commit(statements, self.run_id)

    async def _safe(self, committed: asyncio.Future[list[int]]) -> list[int]:
        """Wait until it is written; a failure says how to go on with this run."""
        try:
            return await committed
        except AwfError as error:
            hint = f"Free some space or restore write access, then continue with `awf resume {self.run_id}`."
            raise AwfError(error.code, error.message, hint=hint) from error

    # -- life ------------------------------------------------------------------------------------------------------

    def output_path(self, path: str, stream: str) -> str:
        return output_path(self._database.folder, self.run_id, path, stream)

    def folder(self, name: str) -> str:
        return os.path.join(run_folder(self._database.folder, self.run_id), name)

    async def cancelled(self) -> str:
        while (message := self._message(CANCEL_TOPIC)) is None:  # noqa: ASYNC110  another process writes it
            await asyncio.sleep(_POLL_SECONDS)
        return str(message.payload.get("reason", "")) or f"cancelled by {message.sender or 'another process'}"

    async def finish(self, outcome: RunOutcome, events: tuple[Event, ...]) -> None:
        stamped = [self._stamp(event) for event in events]
        error = self._masker.map_struct(outcome.error, self._masker.mask) if outcome.error else None
        update: Statement = (
            "UPDATE runs SET status=?, finished_at=?, exit_status=?, error=?, outputs=?, usage=?, owner='' WHERE id=?",
            (
                outcome.status,
                time.time(),
                outcome.exit_status,
                encode_optional(error),
                json.dumps(self._masker.mask_data(outcome.outputs)),
                encode_optional(outcome.usage),
                self.run_id,
            ),
        )
        # A resumed run must not hear an old request to stop.
        forget: Statement = ("DELETE FROM messages WHERE run_id=? AND topic=?", (self.run_id, CANCEL_TOPIC))
        recorded = self._commit([update, forget, *(self._event_row(item) for item in stamped)])
        self._outbox.post(stamped, recorded)
        await self._safe(recorded)
        if outcome.status == "completed":
            with contextlib.suppress(OSError):
                os.remove(os.path.join(run_folder(self._database.folder, self.run_id), "secrets.json"))

    async def release(self) -> None:
        with contextlib.suppress(AwfError):
            await self._commit([])  # the next owner counts on from the last event
        self._database.writer.forget(self.run_id)
        self._ownership.release()
