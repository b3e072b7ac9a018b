"""Looks at every record, and at everything that vouches for them. One pass, in memory that does not grow with the log."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.audit import AuditCheckpoint, AuditReport
from awf.domain.audit_chain import GENESIS, ChainWalk, decoded_entry
from awf.infrastructure.audit_store.checkpoints import stored_checkpoints, witnessed
from awf.infrastructure.audit_store.failures import DAMAGE
from awf.infrastructure.audit_store.keys import signature_holds

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from awf.domain.audit import FlawKind
    from awf.infrastructure.audit_store.database import Database

__all__ = ["verified"]


def verified(
    connection: sqlite3.Connection,
    database: Database,
    public_key: str,
    witness: str,
    noted: tuple[int, str] | None,
    damage: str,
) -> AuditReport:
    """`damage`: what was met before, on the way to look at all of it."""
    checking = _Checking(connection, database, public_key)
    walk = checking.walk
    try:
        checking.walk_records()
        checking.check_head()
        checking.check_noted(noted)
        checking.check_signed("checkpoint", stored_checkpoints(connection, database.origin))
        checking.check_open_calls()
        checking.check_file()
    except DAMAGE as error:
        walk.flaw("database", walk.last + 1, f"the database is damaged behind record {walk.last}: {error}")
    if witness:
        checking.check_signed("witness", witnessed(witness))
    if damage and not walk.flaws:
        walk.flaw(
            "database",
            walk.last + 1,
            f"what was recorded behind record {walk.last} cannot be merged: {damage}",
        )
    return checking.report()


class _Checking:
    def __init__(self, connection: sqlite3.Connection, database: Database, public_key: str) -> None:
        self._connection = connection
        self._database = database
        self._key = public_key
        self._open: set[int] = set()
        self._signed = {"checkpoint": 0, "witness": 0}
        self.walk = ChainWalk()

    def walk_records(self) -> None:
        rows = self._connection.execute(
            "SELECT sequence, previous, hash, entry FROM records ORDER BY sequence"
        )
        for sequence, previous, said, entry in rows:
            self.walk.step(sequence, _text(previous), _text(said), entry)
            self._follow(sequence, entry)

    def _follow(self, sequence: int, entry: Any) -> None:
        """Which decisions wait for their effect."""
        try:
            found = decoded_entry(entry)
        except (msgspec.DecodeError, TypeError):
            self.walk.flaw("changed", sequence, f"record {sequence} is no entry of an audit")
            return
        if found.kind == "decision" and found.request_id and not found.is_final:
            self._open.add(sequence)
        elif found.follows:
            self._open.discard(found.follows)

    def check_head(self) -> None:
        row = self._connection.execute("SELECT sequence, hash, mac FROM head").fetchone()
        last, head = self.walk.last, self.walk.head
        if row is None:
            if last:
                self.walk.flaw("head", last, "the keyed head is missing")
            return
        sequence, said, mac = row[0], _text(row[1]), _text(row[2])
        right = (
            isinstance(sequence, int) and isinstance(said, str) and self._database.keys.mac(sequence, said)
        )
        if not right or not isinstance(mac, str) or not hmac.compare_digest(right.encode(), mac.encode()):
            self.walk.flaw("head", last, "the keyed head was not written with this log's key")
        elif sequence > last:
            self.walk.flaw(
                "cut", last + 1, f"the end is cut off: the log had {sequence} records, {last} are left"
            )
        elif (sequence, said) != (last, head):
            self.walk.flaw(
                "head", sequence, f"the keyed head is that of record {sequence}, the last one is {last}"
            )

    def check_noted(self, noted: tuple[int, str] | None) -> None:
        last = self.walk.last
        if noted is None:
            if last:
                self.walk.flaw(
                    "head",
                    last,
                    "the head that is noted beside the database is missing, or not of this log's key",
                )
        elif noted[0] > last:
            self.walk.flaw(
                "cut", last + 1, f"the end is cut off: {noted[0]} records were noted, {last} are left"
            )
        elif noted[0] and self._hash_of(noted[0]) != noted[1]:
            self.walk.flaw("head", noted[0], f"another hash of record {noted[0]} was noted")

    def check_signed(self, kind: FlawKind, checkpoints: Iterator[AuditCheckpoint | None]) -> None:
        """That each is ours, and that the record it speaks of is as it was."""
        name = "the witness file's checkpoint" if kind == "witness" else "the checkpoint"
        for number, one in enumerate(checkpoints, 1):
            if one is None:
                self.walk.flaw(kind, self.walk.last, f"line {number} of the witness file is no checkpoint")
                continue
            size = one.size
            if one.origin != self._database.origin or not signature_holds(one, self._key):
                self.walk.flaw(kind, size, f"{name} of {one.size} records was not signed with this log's key")
            elif size > self.walk.last:
                self.walk.flaw(
                    "cut",
                    self.walk.last + 1,
                    f"the end is cut off: {name} vouches for {size} records, {self.walk.last} are left",
                )
            elif self._hash_of(size) != one.head:
                self.walk.flaw(
                    kind, size, f"{name} of {size} records vouches for another hash of record {size}"
                )
            self._signed[kind] += 1

    def _hash_of(self, sequence: int) -> Any:
        if sequence == 0:
            return GENESIS
        row = self._connection.execute("SELECT hash FROM records WHERE sequence = ?", (sequence,)).fetchone()
        return _text(row[0]) if row else None

    def check_open_calls(self) -> None:
        """The table is a help for readers; somebody could hide a call in it."""
        listed = {sequence for (sequence,) in self._connection.execute("SELECT sequence FROM open_calls")}
        for sequence in sorted(listed ^ self._open)[:1]:
            self.walk.flaw("database", sequence, f"the list of open calls is wrong about record {sequence}")

    def check_file(self) -> None:
        for (said,) in self._connection.execute("PRAGMA integrity_check(1)"):
            if said != b"ok":
                text = bytes(said).decode("utf-8", "replace").replace("\n", " ")
                self.walk.flaw("database", self.walk.last, f"the database file is damaged: {text}")

    def report(self) -> AuditReport:
        walk = self.walk
        return AuditReport(
            records=walk.count,
            sound_until=walk.sound_until,
            head=walk.head,
            checkpoints=self._signed["checkpoint"],
            witnessed=self._signed["witness"],
            flaws=tuple(walk.flaws),
        )


def _text(value: Any) -> Any:
    """Text where it is text; whatever it is otherwise."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value
