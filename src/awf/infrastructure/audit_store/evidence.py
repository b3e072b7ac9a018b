"""What the SQLite file has to say, for those who look at all of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.infrastructure.audit_store.checkpoints import stored_checkpoints
from awf.infrastructure.audit_store.spill import strangers
from awf.infrastructure.audit_store.verifying import StoredHead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from awf.domain.audit import AuditCheckpoint
    from awf.infrastructure.audit_store.database import Database

__all__ = ["BeforeTheLook", "SqliteEvidence", "before_the_look"]

_LEAST = -(1 << 63)  # whatever somebody has made of a number


class BeforeTheLook(NamedTuple):
    """What lies beside the database. It is written after each commit, so that it is never ahead of what is looked at next."""

    noted: tuple[int, str] | None
    was_begun: bool
    has_signed: bool


def before_the_look(database: Database) -> BeforeTheLook:
    return BeforeTheLook(database.noted(), database.keys.are_used(), database.keys.have_signed())


class SqliteEvidence:
    must_be_noted = True

    def __init__(
        self, connection: sqlite3.Connection, database: Database, key: str, before: BeforeTheLook
    ) -> None:
        """`key`: the one that every checkpoint must be signed with, or several, with blanks between them; "": the log's own."""
        self.was_begun = before.was_begun
        self.signed = int(before.has_signed)
        self.is_held = bool(key)
        self.origin = database.origin
        self._connection = connection
        self._keys = database.keys
        self._trusted = frozenset((key or database.keys.public).split())
        self._folder = database.folder
        self._noted = before.noted

    def records(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        rows = self._connection.execute(
            "SELECT sequence, previous, hash, entry FROM records ORDER BY sequence"
        )
        for sequence, previous, said, entry in rows:
            yield sequence, _text(previous), _text(said), entry

    def head(self) -> StoredHead | None:
        row = self._connection.execute("SELECT sequence, hash, mac FROM head").fetchone()
        if row is None:
            return None
        sequence, said, mac = row[0], _text(row[1]), _text(row[2])
        right = isinstance(said, str) and isinstance(mac, str)
        return StoredHead(sequence, said, right and self._keys.made(sequence, said, mac))

    def noted(self) -> tuple[int, str] | None:
        return self._noted

    def hash_of(self, sequence: int) -> Any:
        row = self._connection.execute("SELECT hash FROM records WHERE sequence = ?", (sequence,)).fetchone()
        return _text(row[0]) if row else None

    def open_calls(self) -> set[int]:
        return {sequence for (sequence,) in self._connection.execute("SELECT sequence FROM open_calls")}

    def checkpoints(self) -> Iterator[AuditCheckpoint]:
        return stored_checkpoints(self._connection, self.origin, after=_LEAST)

    def has_checkpoint(self, size: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM checkpoints WHERE size = ?", (size,))
        return found.fetchone() is not None

    def trusts(self, key: str) -> bool:
        return key in self._trusted

    @property
    def stranger(self) -> str:
        own = self._keys.public
        return "" if self.trusts(own) else own

    def damage(self) -> Iterator[str]:
        for (said,) in self._connection.execute("PRAGMA integrity_check(1)"):
            if said != b"ok":
                told = bytes(said).decode("utf-8", "replace").replace("\n", " ")
                yield f"the database file is damaged: {told}"
        for name in strangers(self._folder):
            path = os.path.join(self._folder, name)
            yield f"{path} is called like a spill file and is none, so nothing in it was recorded: move it elsewhere"


def _text(value: Any) -> Any:
    """Text where it is text; whatever it is otherwise."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value
