"""The end of the chain in the database. Whoever adds to it holds the row of the head: nobody else adds meanwhile."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from awf.domain.audit import AuditEntry, AuditUnavailable
from awf.domain.audit_chain import (
    CHECKPOINTS_LOST,
    GENESIS,
    HEAD_LOST,
    decoded_entry,
    entry_json,
    record_hash,
)
from awf.infrastructure.audit_store.checkpoints import Witness, first_moment
from awf.infrastructure.audit_store.keys import SharedKeys
from awf.infrastructure.audit_store.noted_head import NotedHead
from awf.infrastructure.audit_store.postgres.batch import OpenCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from awf.domain.audit import AuditCheckpoint
    from awf.domain.gate_file import Audit
    from awf.infrastructure.audit_store.postgres.batch import Batch
    from awf.infrastructure.audit_store.postgres.server import Connection

__all__ = ["Chain", "Head", "noted_head"]

_HEAD = (
    "SELECT origin, sequence, hash, signed, signed_at, extract(epoch FROM clock_timestamp())::float8, mac, key"
    " FROM awf.audit_head FOR UPDATE"
)
_LAST = "SELECT sequence, hash FROM awf.audit_records ORDER BY sequence DESC LIMIT 1"
_FOUND = "SELECT min(sequence), count(*) FROM awf.audit_records WHERE writer=%b AND number BETWEEN %b AND %b"
_FIRST = "SELECT entry FROM awf.audit_records ORDER BY sequence LIMIT 1"
_BEFORE = "SELECT previous FROM awf.audit_records WHERE sequence=%b"
_LEFT = (
    "SELECT o.sequence, r.entry FROM awf.audit_open_calls o LEFT JOIN awf.audit_records r USING (sequence)"
    " WHERE o.writer = ANY(%b::text[]) ORDER BY o.sequence"
)
_ADD = (
    "INSERT INTO awf.audit_records (sequence, previous, hash, entry, writer, number)"
    " SELECT sequence, previous, hash, entry, %b::text, number"
    " FROM unnest(%b::bigint[], %b::text[], %b::text[], %b::bytea[], %b::bigint[])"
    " AS new (sequence, previous, hash, entry, number)"
)
_OPEN = "INSERT INTO awf.audit_open_calls (sequence, writer) SELECT unnest(%b::bigint[]), %b::text"
_CLOSE = "DELETE FROM awf.audit_open_calls WHERE sequence = ANY(%b::bigint[])"
_MOVE = "UPDATE awf.audit_head SET sequence=%b, hash=%b, mac=%b, key=%b, signed=%b, signed_at=%b"
_SIGNED = "SELECT 1 FROM awf.audit_checkpoints WHERE size >= %b LIMIT 1"
_SIGN = (
    "INSERT INTO awf.audit_checkpoints (size, head, created_at, key, signature) VALUES (%b,%b,%b,%b,%b)"
    " ON CONFLICT (size) DO NOTHING"
)


class Head(NamedTuple):
    origin: str
    sequence: int
    hash: str
    signed: int
    signed_at: float
    now: float  # by the database's clock: all machines agree on it


class _Links:
    """Entries, linked to the end of the chain; and which calls are open then."""

    def __init__(self, sequence: int, previous: str, known: dict[str, list[int]]) -> None:
        self.sequence, self.hash = sequence, previous
        self.rows: list[tuple[int, str, str, bytes]] = []
        self.calls: dict[
            str, list[int]
        ] = {}  # of the requests that occur here: the decisions without an effect
        self.opened: set[int] = set()
        self.closed: list[int] = []
        self._known = known

    def add(self, entry: AuditEntry) -> None:
        begun = entry.kind == "decision" and entry.request_id and not entry.is_final
        if entry.kind == "effect":
            entry.follows = self._ended(entry.request_id)
        self._put(entry)
        if begun:
            self._calls(entry.request_id).append(self.sequence)
            self.opened.add(self.sequence)

    def drop(self, call: OpenCall, now: float) -> None:
        """Nobody will say what came of it, and that is said."""
        calls = self._calls(call.request_id)
        if call.sequence in calls:
            calls.remove(call.sequence)
        self._close(call.sequence)
        self._put(
            AuditEntry(
                kind="effect",
                created_at=now,
                request_id=call.request_id,
                follows=call.sequence,
                details={"outcome": "unknown"},
            )
        )

    def _put(self, entry: AuditEntry) -> None:
        data = entry_json(entry)
        sequence, previous = self.sequence + 1, self.hash
        self.sequence, self.hash = sequence, record_hash(sequence, previous, data)
        self.rows.append((sequence, previous, self.hash, data))

    def _ended(self, request: str) -> int:
        """The number of the decision that this is the effect of: the latest one."""
        calls = self._calls(request)
        if not calls:
            return 0
        self._close(calls[-1])
        return calls.pop()

    def _close(self, sequence: int) -> None:
        if sequence in self.opened:
            self.opened.discard(sequence)
        else:
            self.closed.append(sequence)

    def _calls(self, request: str) -> list[int]:
        if request not in self.calls:
            self.calls[request] = list(self._known.get(request, ()))
        return self.calls[request]


class Chain:
    """One writer's side of it. Not for two threads at once."""

    def __init__(
        self, writer: str, key_file: str, folder: str, settings: Audit, clock: Callable[[], float] | None
    ) -> None:
        """`folder`: where this machine notes how far the chain has come. `clock`: instead of the database's."""
        self.writer = writer
        self.settings = settings
        self.open_calls: dict[str, list[int]] = {}  # our own: request → the numbers of its decisions
        self.head: Head | None = None  # as it was left
        self._begun: float | None = None
        self._key_file = key_file
        self._keys: SharedKeys | None = None
        self._folder = folder
        self._clock = clock
        self._notes: NotedHead | None = None
        self._noted: tuple[int, str] = (0, GENESIS)
        self._witness = Witness()

    @property
    def keys(self) -> SharedKeys:
        if self._keys is None:
            with contextlib.suppress(OSError):
                os.makedirs(os.path.dirname(self._key_file), mode=0o700, exist_ok=True)
            self._keys = SharedKeys(self._key_file)
        return self._keys

    # -- one transaction ---------------------------------------------------------------------------------------------

    def add(
        self, connection: Connection, batch: Batch, *, ended: Sequence[str] = (), sign: bool = False
    ) -> None:
        """All of a batch or nothing. `ended`: writers that live no more; of their calls it is said that nobody knows."""
        head, last, trouble = self._held(connection)
        start = self._start(connection, batch) if batch.was_tried and batch else None
        links = self._linked(start or last, batch, head.now, "" if start else trouble)
        if start is not None:  # an earlier try has come through after all
            connection.execute("ROLLBACK")
            self._keep(links, head)
            return
        numbers = list(batch.numbers)
        if trouble:
            numbers.insert(0, -links.rows[0][0])
        for call in self._left(connection, ended):
            links.drop(call, head.now)
            numbers.append(-links.sequence)  # these are not tried again, so nobody counts them
        made = None
        if self._is_due(head, links, sign=sign):
            if self._has_lost_checkpoints(connection, head):  # the next one would hide it
                links.add(_gap(CHECKPOINTS_LOST, f"that of {head.signed} records", head.now))
                numbers.append(-links.sequence)
            made = self.keys.signed(head.origin, links.sequence, links.hash, head.now)
        if not links.rows and made is None:
            connection.execute("ROLLBACK")
            self._keep(links, head)
            return
        head = head._replace(sequence=links.sequence, hash=links.hash)
        if made is not None:
            head = head._replace(signed=made.size, signed_at=made.created_at)
        batch.was_tried = True
        self._write(connection, head, links, numbers, made)
        self._keep(links, head)
        self._tell(head, made)

    def was_added(self, connection: Connection, batch: Batch) -> bool:
        """Of one that was given up: whether it is in the chain nevertheless."""
        head, _, _ = self._held(connection)
        start = self._start(connection, batch)
        connection.execute("ROLLBACK")
        if start is None:
            return False
        self._keep(self._linked(start, batch, head.now), head)
        return True

    def _linked(self, start: tuple[int, str], batch: Batch, now: float, trouble: str = "") -> _Links:
        links = _Links(*start, self.open_calls)
        if trouble:  # where nobody can tell any more whether the end was cut off, this is said for good
            links.add(_gap(HEAD_LOST, trouble, now))
        for entry in batch.entries:
            links.add(entry)
        for call in batch.dropped:
            links.drop(call, now)
        return links

    def _held(self, connection: Connection) -> tuple[Head, tuple[int, str], str]:
        """The head, and where the chain goes on: behind where it was, not where it is now, so that a cut end stays visible.

        And what is wrong with the head, if it is not as somebody with a key has left it.
        """
        with connection.pipeline():
            connection.execute("BEGIN")
            heads = connection.execute(_HEAD, binary=True)
            lasts = connection.execute(_LAST, binary=True)
        row, last = heads.fetchone(), lasts.fetchone()
        if row is None:
            connection.execute("ROLLBACK")
            raise AuditUnavailable("the head of the chain is gone from the database")
        head, (mac, key) = Head(*row[:-2]), row[-2:]
        if self._clock is not None:
            head = head._replace(now=self._clock())
        if self._begun is None:
            self._begun = head.now if head.signed else self._first_moment(connection, head.now)
        self._note_of(head.origin)
        end = (last[0], last[1]) if last else (0, GENESIS)
        trouble = ""
        if (key == self.keys.public or (not key and end[0])) and not self.keys.made(
            head.sequence, head.hash, mac
        ):
            trouble = "the keyed head was not of this log's key"
        elif head.sequence <= end[0] and (head.sequence, head.hash) != end:
            trouble = f"the keyed head was that of record {head.sequence}"
        known = [*([] if trouble else [(head.sequence, head.hash)]), self._noted, end]
        return head, max(known, key=lambda one: one[0]), trouble

    @staticmethod
    def _first_moment(connection: Connection, now: float) -> float:
        """From which the time until the first checkpoint counts: processes that end soon sign, too."""
        row = connection.execute(_FIRST, binary=True).fetchone()
        return first_moment(row[0], now) if row else now

    def _start(self, connection: Connection, batch: Batch) -> tuple[int, str] | None:
        """What an earlier try of this batch stands behind; None when none has come through."""
        values = (self.writer, batch.numbers[0], batch.numbers[-1])
        row = connection.execute(_FOUND, values).fetchone()
        if row is None or not row[1]:
            return None
        before = connection.execute(_BEFORE, (row[0],)).fetchone()
        return row[0] - 1, before[0] if before else ""

    @staticmethod
    def _left(connection: Connection, ended: Sequence[str]) -> Iterator[OpenCall]:
        if not ended:
            return
        for sequence, data in connection.execute(_LEFT, (list(ended),)).fetchall():
            try:
                request = decoded_entry(data).request_id
            except (msgspec.DecodeError, TypeError):
                request = ""
            yield OpenCall(sequence, request)

    def _is_due(self, head: Head, links: _Links, *, sign: bool) -> bool:
        sequence = links.sequence
        moment = head.signed_at if head.signed else self._begun or 0.0
        many = sequence - head.signed >= self.settings.checkpoint_records
        late = head.now - moment >= self.settings.checkpoint_every
        return sequence > head.signed and (sign or many or late)

    @staticmethod
    def _has_lost_checkpoints(connection: Connection, head: Head) -> bool:
        return head.signed > 0 and connection.execute(_SIGNED, (head.signed,)).fetchone() is None

    def _write(
        self,
        connection: Connection,
        head: Head,
        links: _Links,
        numbers: list[int],
        made: AuditCheckpoint | None,
    ) -> None:
        columns = [list(column) for column in zip(*links.rows, strict=True)] or [[], [], [], []]
        mac = self.keys.mac(head.sequence, head.hash)
        with connection.pipeline():
            if links.rows:
                connection.execute(_ADD, (self.writer, *columns, numbers))
            if links.opened:
                connection.execute(_OPEN, (sorted(links.opened), self.writer))
            if links.closed:
                connection.execute(_CLOSE, (links.closed,))
            if made is not None:
                values = (made.size, made.head, made.created_at, made.key, made.signature)
                connection.execute(_SIGN, values)
            moved = (head.sequence, head.hash, mac, self.keys.public, head.signed, head.signed_at)
            connection.execute(_MOVE, moved)
            connection.execute("COMMIT")

    # -- afterwards ------------------------------------------------------------------------------------------------------

    def _keep(self, links: _Links, head: Head) -> None:
        for request, calls in links.calls.items():
            if calls:
                self.open_calls[request] = calls
            else:
                self.open_calls.pop(request, None)
        self.head = head

    def _tell(self, head: Head, made: AuditCheckpoint | None) -> None:
        self._noted = (head.sequence, head.hash)
        if self._notes is not None:
            with contextlib.suppress(OSError):  # the next one is noted instead
                self._notes.note(head.sequence, head.hash)
        if made is not None and self.settings.witness:
            self._witness.add(made)
        self._witness.tell(self.settings.witness)

    def _note_of(self, origin: str) -> None:
        """Each log has a note of its own: another database is another log."""
        if self._notes is None:
            self._notes = noted_head(self._folder, self.keys, origin)
            self._noted = self._notes.read() or self._noted

    def due_in(self) -> float | None:
        """Seconds until the next checkpoint, if nothing more is recorded; None when everything is signed."""
        head = self.head
        if head is None or head.sequence <= head.signed:
            return None
        moment = head.signed_at if head.signed else self._begun or head.now
        return max(0.0, moment + self.settings.checkpoint_every - head.now)

    def close(self) -> None:
        if self._notes is not None:
            self._notes.close()


def _gap(cause: str, found: str, now: float) -> AuditEntry:
    return AuditEntry(kind="audit_gap", created_at=now, details={"cause": cause, "found": found})


def noted_head(folder: str, keys: SharedKeys, origin: str) -> NotedHead:
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return NotedHead(folder, keys, f"head-{hashlib.sha256(origin.encode()).hexdigest()[:16]}")
