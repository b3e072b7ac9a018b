"""Signed checkpoints: after so many records, or so long, somebody outside can hold the log to what it was."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from typing import TYPE_CHECKING

import msgspec

from awf.domain.audit import AuditCheckpoint
from awf.domain.audit_chain import decoded_entry, reader
from awf.domain.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.gate_file import Audit
    from awf.infrastructure.audit_store.database import Database
    from awf.infrastructure.audit_store.keys import Keys

__all__ = ["Checkpoints", "Witness", "WitnessFile", "are_lost", "first_moment", "stored_checkpoints"]

_log = logging.getLogger("awf.audit")
_LONGEST_WAIT = 86400.0  # nobody can be told to wait for ages; then it is looked at again
_checkpoint = reader(AuditCheckpoint)


class Checkpoints:
    def __init__(self, database: Database, settings: Audit) -> None:
        self._database = database
        self.settings = settings
        self._signed: tuple[int, float] | None = None  # the newest one's size and time
        self._made: AuditCheckpoint | None = None  # in a transaction that may still fail
        self._witness = Witness()

    def due_in(self, now: float, sequence: int) -> float | None:
        """Seconds until the next one, if nothing more is recorded; None when everything is signed."""
        size, moment = self._signed or (0, now)
        left = moment + self.settings.checkpoint_every - now
        return None if sequence <= size else min(max(0.0, left), _LONGEST_WAIT)

    def sign_if_due(self, connection: sqlite3.Connection, sequence: int, head: str, now: float) -> None:
        self._take_up(connection)
        size, moment = self._newest(connection, now)
        many = sequence - size >= self.settings.checkpoint_records
        overdue = now - moment >= self.settings.checkpoint_every
        # Where all are lost the chain says so by now, and one that is signed keeps it from saying so again.
        lost = not size and self._database.keys.have_signed()
        if sequence > size and (many or overdue or lost):
            self.sign(connection, sequence, head, now)

    def _newest(self, connection: sqlite3.Connection, now: float) -> tuple[int, float]:
        """Of whatever process; without one the time counts from the first record: processes that end soon sign, too."""
        row = connection.execute(
            "SELECT size, created_at FROM checkpoints ORDER BY size DESC LIMIT 1"
        ).fetchone()
        if row:
            self._database.keys.mark_signed()  # also in a log from before there was such a mark
        begun = self._signed[1] if self._signed else _begun(connection, now)
        size, moment = row or (0, begun)
        # Whatever somebody has made of it: who looks at the signature will tell.
        self._signed = size, moment if isinstance(moment, int | float) else begun
        return self._signed

    def sign(self, connection: sqlite3.Connection, sequence: int, head: str, now: float) -> None:
        self._take_up(connection)
        made = self._database.keys.signed(self._database.origin, sequence, head, now)
        values = (made.size, made.head, made.created_at, made.key, made.signature)
        connection.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)", values)
        self._signed = (sequence, now)
        self._made = made

    def _take_up(self, connection: sqlite3.Connection) -> None:
        """What was signed before. Where its transaction has failed nothing is left of it, and nobody may hear of it."""
        made = self._made
        if made is None:
            return
        row = connection.execute("SELECT signature FROM checkpoints WHERE size = ?", (made.size,)).fetchone()
        self._made = None
        if row is not None and _text(row[0]) == made.signature:
            self._database.keys.mark_signed()
            if self.settings.witness:
                self._witness.add(made)

    def tell_witness(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # then the next time
            self._take_up(self._database.connection)
        self._witness.tell(self.settings.witness)


def are_lost(connection: sqlite3.Connection, keys: Keys) -> bool:
    """Whether there were some, and none is left."""
    found = connection.execute("SELECT 1 FROM checkpoints LIMIT 1").fetchone()
    return found is None and keys.have_signed()


def _begun(connection: sqlite3.Connection, now: float) -> float:
    row = connection.execute("SELECT entry FROM records ORDER BY sequence LIMIT 1").fetchone()
    return first_moment(row[0], now) if row else now


def first_moment(entry: str | bytes, now: float) -> float:
    """When the first record of a log was told, if it can be read and does not lie ahead."""
    try:
        return min(decoded_entry(entry).created_at, now)
    except (msgspec.DecodeError, TypeError):
        return now


class Witness:
    """A file elsewhere, to which checkpoints are appended."""

    def __init__(self) -> None:
        self._unwitnessed: list[AuditCheckpoint] = []
        self._told = ""

    def add(self, made: AuditCheckpoint) -> None:
        self._unwitnessed.append(made)

    def tell(self, path: str) -> None:
        """After the commit; what cannot be told now is told with the next."""
        if not self._unwitnessed:
            return
        lines = b"".join(canonical(msgspec.to_builtins(one)) + b"\n" for one in self._unwitnessed)
        try:
            _append(os.path.expanduser(path), lines)
        except OSError as error:
            said = f"The audit's witness file {path} cannot be written: {error.strerror}."
            if said != self._told:
                self._told = said
                _log.warning("%s", said)
        else:
            self._told = ""
            self._unwitnessed.clear()


def _append(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def stored_checkpoints(
    connection: sqlite3.Connection, origin: str, after: int = 0, limit: int = -1
) -> Iterator[AuditCheckpoint]:
    rows = connection.execute(
        "SELECT size, head, created_at, key, signature FROM checkpoints WHERE size > ? ORDER BY size LIMIT ?",
        (after, limit),
    )
    for size, head, created_at, key, signature in rows:
        yield AuditCheckpoint(
            origin=origin,
            size=size,
            head=_text(head),
            created_at=created_at,
            key=_text(key),
            signature=_text(signature),
        )


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class WitnessFile:
    """As it is now. What others append to it from here on may speak of more than one is about to look at."""

    def __init__(self, path: str) -> None:
        """Of no path there is none."""
        self.path = os.path.expanduser(path)
        self._size = 0
        with contextlib.suppress(FileNotFoundError):
            self._size = os.path.getsize(self.path) if path else 0

    def checkpoints(self) -> Iterator[AuditCheckpoint | None]:
        """Line by line; None for a line that is none."""
        if not self._size:
            return
        with open(self.path, "rb") as stream:
            left = self._size
            for line in stream:
                if left <= 0:
                    return
                left -= len(line)
                try:
                    yield _checkpoint(line)
                except msgspec.DecodeError:
                    yield None
