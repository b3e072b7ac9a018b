"""One run that this process owns; implements the `OwnedRun` port.

What is recorded is held in memory as it is stored: its owner is the only one who writes it. Messages come from anywhere,
and are looked at when the ear hears that there are some.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.durability import Finished, Message, RunOutcome
from awf.domain.run import RunRecord, StepResult
from awf.infrastructure.stores.folders import output_path, run_folder
from awf.infrastructure.stores.outbox import Outbox
from awf.infrastructure.stores.postgres.artifacts import keep_output, restored
from awf.infrastructure.stores.postgres.link import Writing
from awf.infrastructure.stores.rows import CANCEL_TOPIC, encode_optional
from awf.infrastructure.stores.stamping import EventStamp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.domain.events import Event
    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.program import Definition
    from awf.domain.redaction import Masker
    from awf.infrastructure.stores.postgres.database import PostgresDatabase
    from awf.infrastructure.stores.postgres.link import Claim
    from awf.infrastructure.stores.writing import Statement

__all__ = ["PostgresRun", "Recorded", "message_row"]

T = TypeVar("T")
_encoder = msgspec.json.Encoder()
_result_decoder = msgspec.json.Decoder(StepResult)


class Recorded(msgspec.Struct):
    """What the database has of a run when it is taken over."""

    seq: int = 0
    steps: dict[str, bytes] = {}
    messages: dict[str, tuple[str, str]] = {}  # topic → payload, sender
    once: set[str] = set()


def message_row(run_id: str, topic: str, message: Message, now: float) -> Statement:
    """The first answer counts; the same answer written once more counts as the first."""
    sql = (
        "INSERT INTO awf.messages (run_id, topic, payload, sender, created_at, nonce) VALUES (%s,%s,%s,%s,%s,%s)"
        " ON CONFLICT (run_id, topic) DO UPDATE SET sender=excluded.sender WHERE awf.messages.nonce=excluded.nonce"
    )
    return sql, (run_id, topic, json.dumps(message.payload), message.sender, now, secrets.token_hex(8))


class PostgresRun:
    """One owned run; implements the `OwnedRun` port."""

    def __init__(
        self,
        database: PostgresDatabase,
        record: RunRecord,
        definition: Definition,
        masker: Masker,
        claim: Claim,
        recorded: Recorded,
        *,
        resumed: bool,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.record = record
        self.definition = definition
        self.resumed = resumed
        self.options = options or {}
        self.claim = claim
        self._database = database
        self._link = database.link
        self._masker = masker
        self._outbox = Outbox()
        self._stamp = EventStamp(record.id, recorded.seq, masker, database.clock)
        self._steps = recorded.steps
        self._messages = recorded.messages
        self._once = recorded.once
        self.finished_steps = len(recorded.steps)
        self._arrived: dict[str, asyncio.Event] = {}
        self._link.ear.attend(record.id, self._look)

    @property
    def run_id(self) -> str:
        return self.record.id

    def listen(self, publish: EventListener) -> None:
        self._outbox.publish = publish

    # -- the verbs -------------------------------------------------------------------------------------------------

    async def step(self, path: str, work: Callable[[], Awaitable[Finished]]) -> StepResult:
        known = self.recorded(path)
        if known is not None:
            return known
        finished = await work()
        if finished.result.truncated:
            await keep_output(self._database, self.claim, path)
        stamped = [self._stamp(event) for event in finished.events]
        encoded = _encoder.encode(self._masker.map_struct(finished.result, self._masker.seal))
        row = (self.run_id, path, self._stamp.seq, encoded)
        committed = self._commit(Writing([row], [self._stamp.row(item) for item in stamped]))
        self._outbox.post(stamped, committed)
        await self._safe(committed)
        self._steps[path] = encoded
        self.finished_steps += 1
        self._stamp.step_ended(path)
        return finished.result

    async def branch(self, path: str, walk: Callable[[], Awaitable[T]]) -> T:
        del (
            path
        )  # one process walks every branch; results are kept by path, not in the order in which they come
        return await walk()

    async def forget(self, path: str) -> None:
        mine = [
            known
            for known in self._steps
            if known == path or known.startswith((f"{path}@", f"{path}/hooks/"))
        ]
        answers = [topic for topic in self._messages if topic.startswith(f"timer:{path}@")]
        asked = f"approval:{path}"
        if "reject" in self._messages.get(asked, ("",))[0]:
            answers.append(asked)
        await self._safe(
            self._commit(
                Writing(
                    others=[
                        ("DELETE FROM awf.steps WHERE run_id=%s AND path=ANY(%s)", (self.run_id, mine)),
                        (
                            "DELETE FROM awf.messages WHERE run_id=%s AND topic=ANY(%s)",
                            (self.run_id, answers),
                        ),
                    ]
                )
            )
        )
        for known in mine:
            del self._steps[known]
        for topic in answers:
            self._messages.pop(topic, None)

    def recorded(self, path: str) -> StepResult | None:
        stored = self._steps.get(path)
        if stored is None:
            return None
        result: StepResult = self._masker.map_struct(_result_decoder.decode(stored), self._masker.unseal)
        return restored(self._database, self.run_id, path, result) if result.truncated else result

    async def wait(self, topic: str, timeout: float | None) -> Message | None:
        arrived = self._arrived.setdefault(topic, asyncio.Event())
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            while (message := self._message(topic)) is None:
                left = None if deadline is None else deadline - asyncio.get_running_loop().time()
                if left is not None and left <= 0:
                    await self.deliver(topic, Message({"timeout": True}))
                    continue
                arrived.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(arrived.wait(), left)
        finally:
            self._arrived.pop(topic, None)
        return None if message.payload.get("timeout") else message

    def answered(self, topic: str) -> bool:
        return topic in self._messages

    async def deliver(self, topic: str, message: Message) -> bool:
        sealed = self._masker.map_struct(message, self._masker.seal)
        row = message_row(self.run_id, topic, sealed, self._database.clock())
        counts = await self._safe(self._commit(Writing(others=[row])))
        if counts[0] == 1:
            self._heard({topic: (row[1][2], row[1][3])})
        else:  # somebody else was first: what they said counts
            await self._load()
        return counts[0] == 1

    def _message(self, topic: str) -> Message | None:
        found = self._messages.get(topic)
        if found is None:
            return None
        said: Message = self._masker.map_struct(Message(json.loads(found[0]), found[1]), self._masker.unseal)
        return said

    def _look(self) -> None:
        def loaded(done: asyncio.Future[dict[str, tuple[str, str]]]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._heard(done.result())

        self._link.do(self._read).add_done_callback(loaded)

    async def _load(self) -> None:
        self._heard(await self._link.do(self._read))

    async def _read(self, connection: Any) -> dict[str, tuple[str, str]]:
        sql = "SELECT topic, payload, sender FROM awf.messages WHERE run_id=%s"
        cursor = await connection.execute(sql, (self.run_id,))
        return {topic: (payload, sender) for topic, payload, sender in await cursor.fetchall()}

    def _heard(self, messages: dict[str, tuple[str, str]]) -> None:
        self._messages |= messages
        for topic in messages:
            if (arrived := self._arrived.get(topic)) is not None:
                arrived.set()

    def emit(self, event: Event, *, once: str = "") -> None:
        if once and once in self._once:
            return
        if once:
            self._once.add(once)
        stamped = self._stamp(event)
        if self._stamp.worth_keeping(stamped.event):
            self._link.write(self.claim, Writing(events=[self._stamp.row(stamped, once)]))
        self._outbox.post([stamped])

    def _commit(self, writing: Writing) -> asyncio.Future[list[int]]:
        return self._link.commit(self.claim, writing)

    async def _safe(self, committed: asyncio.Future[list[int]]) -> list[int]:
        """Wait until it is written; a failure says how to go on with this run."""
        try:
            return await committed
        except AwfError as error:
            if error.code == "SYSTEM.STORE.LOST_RUN":
                raise
            hint = f"Bring the database back, then continue with `awf resume {self.run_id}`."
            raise AwfError(error.code, error.message, hint=hint) from error

    async def copied(self, steps: dict[str, bytes], messages: dict[str, tuple[str, str]]) -> None:
        """Begin with what another run came to."""
        rows = [(self.run_id, path, 0, result) for path, result in steps.items()]
        now = self._database.clock()
        answers = [
            message_row(self.run_id, topic, Message(json.loads(payload), sender), now)
            for topic, (payload, sender) in messages.items()
        ]
        await self._safe(self._commit(Writing(rows, others=answers)))
        self._steps |= steps
        self._messages |= messages
        self.finished_steps = len(steps)

    # -- life ------------------------------------------------------------------------------------------------------

    def output_path(self, path: str, stream: str) -> str:
        return output_path(self._database.folder, self.run_id, path, stream)

    def folder(self, name: str) -> str:
        return os.path.join(run_folder(self._database.folder, self.run_id), name)

    async def cancelled(self) -> str:
        message = await self.wait(CANCEL_TOPIC, None)
        assert message is not None
        return str(message.payload.get("reason", "")) or f"cancelled by {message.sender or 'another process'}"

    async def finish(self, outcome: RunOutcome, events: tuple[Event, ...]) -> None:
        stamped = [self._stamp(event) for event in events]
        error = self._masker.map_struct(outcome.error, self._masker.mask) if outcome.error else None
        update: Statement = (
            "UPDATE awf.runs SET status=%s, finished_at=%s, exit_status=%s, error=%s, outputs=%s, usage=%s WHERE id=%s",
            (
                outcome.status,
                self._database.clock(),
                outcome.exit_status,
                encode_optional(error),
                json.dumps(self._masker.mask_data(outcome.outputs)),
                encode_optional(outcome.usage),
                self.run_id,
            ),
        )
        # A resumed run must not hear an old request to stop.
        forget: Statement = (
            "DELETE FROM awf.messages WHERE run_id=%s AND topic=%s",
            (self.run_id, CANCEL_TOPIC),
        )
        rows = [update, forget]
        if outcome.status == "completed":
            rows.append(("DELETE FROM awf.secrets WHERE run_id=%s", (self.run_id,)))
        recorded = self._commit(Writing(events=[self._stamp.row(item) for item in stamped], others=rows))
        self._outbox.post(stamped, recorded)
        await self._safe(recorded)
        self._messages.pop(CANCEL_TOPIC, None)

    async def release(self) -> None:
        self._link.ear.ignore(self.run_id)
        await self._link.let_go(
            "run", self.run_id
        )  # after what was written: the next owner counts on from it
        self._link.forget(self.claim)
