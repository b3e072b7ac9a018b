"""Moves what was spilled into the chain: one transaction for everything that lies there, alone among all processes.

How far each spill file is merged is remembered in the same transaction, so nothing comes in twice, and any process can
merge the files of any other. A file goes when its writer has ended and all of it is in the chain: never in the transaction
that merges the last of it, since that one may still fail; and always inside one, so that nobody else is reading it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import time
from typing import TYPE_CHECKING

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import (
    CHECKPOINTS_LOST,
    ENTRIES_LOST,
    GENESIS,
    HEAD_LOST,
    PLACE_LOST,
    entry_json,
    record_hash,
)
from awf.infrastructure.audit_store.checkpoints import are_lost
from awf.infrastructure.audit_store.joining import Begun
from awf.infrastructure.audit_store.spill import (
    Found,
    held_by_nobody,
    opened_spill,
    spill_files,
    whole_lines,
    writer_of,
)
from awf.infrastructure.audit_store.spilled_records import SpillForms, items_of, owing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from awf.infrastructure.audit_store.database import Database
    from awf.infrastructure.audit_store.joining import Item
    from awf.infrastructure.audit_store.keys import Keys
    from awf.infrastructure.audit_store.spill import Spill

__all__ = ["Merger"]

_log = logging.getLogger("awf.audit")
_TOLD = "The audit is not whole (%s): somebody has changed %s, or what is noted about it."
_CHUNK = 1024 * 1024  # of each file in one transaction; longer than any line
_ROWS = (64, 16, 4, 1)  # one statement for many rows: the interpreter is free while SQLite works
_INSERT = {
    size: f"INSERT INTO records VALUES {','.join(['(?,?,?,?)'] * size)}"  # noqa: S608  only marks
    for size in _ROWS
}

_OTHERS = 256  # places of missing files that are kept for their writers; some of these have ended, and nobody knows which
_LOOKS, _LOOK_SECONDS = 10, 0.005  # for a head that somebody may be noting

Row = tuple[int, str, str, str]


class Merger:
    def __init__(
        self,
        database: Database,
        own: Callable[[], Sequence[Spill]],
        clock: Callable[[], float],
        held: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`held`: files that somebody is known to write, whatever became of their names in the folder."""
        self._database = database
        self._own = own
        self._clock = clock
        self._held = held
        self.added = 0  # records of the last transaction
        self.merged: dict[str, int] = {}  # how far each file was, then
        self._forms: dict[str, SpillForms] = {}  # by file
        self._ended: set[str] = set()  # files that we removed since nobody wrote them any more
        self._living: set[str] = set()  # those that we write, or whoever we merge for

    def is_idle(self) -> bool:
        """Whether everything is in the chain and no file is left over. Looks without a lock on the database."""
        merged = self._offsets(self._database.connection)
        own = {spill.name for spill in self._own()}
        return not any(
            any(self._next(found, self._begin(found.name, merged)[0]))
            or (found.name not in own and self._is_left_over(found.name))
            for found in self._files()
        )

    def run(self, finish: Callable[[sqlite3.Connection, int, str], None], *, thorough: bool = True) -> None:
        """Merge what lies there, and where it is to be thorough tidy up, too; `finish` is called in each transaction."""
        while self._once(finish, thorough):
            pass

    def _once(self, finish: Callable[[sqlite3.Connection, int, str], None], thorough: bool) -> bool:
        """Whether there is more to do."""
        now = self._clock()
        with self._database.transaction() as connection:
            merged = self._offsets(connection)
            chain = _Chain(connection, self._database.keys, self._noted(), now)
            offsets: dict[str, int] = {}
            gaps: list[AuditEntry] = []
            more = False
            for found in self._files():
                at, is_known = self._begin(found.name, merged)
                if not is_known:
                    offsets[found.name] = at
                    gaps.append(_gap(PLACE_LOST, found.name, now))
                    chain.add(gaps[-1:], found.writer)
                chunk, lost = self._next(found, at)
                if chunk:
                    offsets[found.name] = at + len(chunk)
                    forms = self._forms.setdefault(found.name, SpillForms())
                    before = functools.partial(self._read, found, 0, at)
                    chain.add(items_of(chunk, found.name, now, forms, before), found.writer)
                    more = more or len(chunk) > _CHUNK // 2
                if lost:
                    offsets[found.name] = at + len(chunk) + lost
                    gaps.append(_gap(ENTRIES_LOST, found.name, now, bytes=lost))
                    chain.add(gaps[-1:], found.writer)
            left = self._tidied(connection, merged, offsets)
            chain.close_calls(left, now)
            if chain.rows:
                chain.write()
                self._write_head(connection, chain)
            _write_offsets(connection, offsets)
            self.added = len(chain.rows)
            finish(connection, chain.sequence, chain.hash)
        if chain.rows:
            with contextlib.suppress(OSError):  # the next one is noted instead
                self._database.noted_head.note(chain.sequence, chain.hash)
            self._database.keys.mark_used()
        for gap in gaps:
            _log.error(_TOLD, gap.details["cause"], gap.details["spill"])
        self.merged = {**merged, **offsets}
        self._note()
        return more or (thorough and bool(offsets))

    def _noted(self) -> tuple[int, str] | None:
        """Somebody may be writing it right now."""
        for _ in range(_LOOKS):
            noted = self._database.noted_head.read()
            if noted is not None:
                return noted
            time.sleep(_LOOK_SECONDS)
        return None

    # -- files -----------------------------------------------------------------------------------------------------

    def _files(self) -> list[Found]:
        """Those in the folder; and our own, also where somebody has removed one."""
        found = {one.name: one for one in spill_files(self._database.folder)}
        for spill in self._own():
            found[spill.name] = Found(spill.name)
        ordered = [found[name] for name in sorted(found)]
        for one, following in itertools.pairwise(ordered):
            one.is_newest = one.writer != following.writer
        return ordered

    def _begin(self, name: str, merged: Mapping[str, int]) -> tuple[int, bool]:
        """Where the next line of it is, and whether anybody knows that. Where nobody does: rather twice than not at all.

        Other processes may have forgotten a file that somebody has removed; we still have our own.
        """
        own = next((spill for spill in self._own() if spill.name == name), None)
        if own is not None and name not in merged and not own.is_there:
            return own.merged, True
        if not self._is_nonsense(name, merged):
            return merged.get(name, 0), True
        return (own.merged if own is not None else self._seen_merged(name)), False

    def _is_nonsense(self, name: str, merged: Mapping[str, int]) -> bool:
        """Whether no place in the file is noted for it. What is written may have been cut short; what nobody writes has all it had."""
        at = merged.get(name, 0)
        if at <= 0:
            return at < 0
        with contextlib.suppress(OSError):
            return self._length(name) < at and self._is_left_over(name)
        return False

    def _seen_merged(self, name: str) -> int:
        """As far as we saw it merged before, if that is a place in it: what lies behind its end would be nonsense again."""
        seen = self.merged.get(name, 0)
        with contextlib.suppress(OSError):
            return seen if 0 < seen <= self._length(name) else 0
        return 0

    def _length(self, name: str) -> int:
        return os.stat(os.path.join(self._database.folder, name)).st_size

    def _next(self, found: Found, at: int) -> tuple[bytes, int]:
        """The next whole lines; and how much is gone behind them, of what we have written ourselves."""
        written = self._written(found.name) - at
        if written <= 0:
            return self._settled(found, at, self._whole(found, at)), 0
        data = self._read(found, at, _CHUNK)[:written]
        chunk = data[: data.rfind(b"\n") + 1]
        if len(chunk) == written:
            return self._settled(found, at, chunk), 0
        if chunk and len(data) == _CHUNK:  # it goes on behind this
            return chunk, 0
        return chunk, min(written, _CHUNK) - len(chunk)

    def _written(self, name: str) -> int:
        """How long one of our own is. Of others nobody here knows how much they had."""
        return next((spill.size for spill in self._own() if spill.name == name), 0)

    def _whole(self, found: Found, at: int) -> bytes:
        chunk = whole_lines(self._read(found, at, _CHUNK))
        # A hole may have been filled while we read: then it is not there any more.
        return whole_lines(self._read(found, at, _CHUNK)) if b"\0" in chunk else chunk

    def _settled(self, found: Found, at: int, chunk: bytes) -> bytes:
        """A line that is ahead of its call waits for it, as long as there is somebody to write that."""
        owed = owing(chunk)
        if not owed or not found.is_newest:
            return chunk
        if self._is_left_over(found.name):
            return self._whole(found, at)  # it may have written more before it ended
        return chunk[:-owed]

    def _read(self, found: Found, at: int, size: int) -> bytes:
        for spill in self._own():
            if spill.name == found.name:
                return os.pread(spill.handle, max(0, min(size, spill.size - at)), at)
        with contextlib.suppress(FileNotFoundError):
            handle = opened_spill(self._database.folder, found.name)
            try:
                return os.pread(handle, size, at)
            finally:
                os.close(handle)
        return b""

    def _tidied(
        self, connection: sqlite3.Connection, merged: Mapping[str, int], offsets: Mapping[str, int]
    ) -> set[str]:
        """Remove the files of ended writers that were merged before; the writers that are left."""
        names = {one.name for one in spill_files(self._database.folder)}
        own = {spill.name for spill in self._own()}
        for name in sorted(names - own - offsets.keys()):
            if self._removed(name, merged.get(name, 0)):
                names.discard(name)
                self._ended.add(name)
        own.update(name for name in self._held() if name not in self._ended)
        for name in self._forms.keys() - names - own:
            del self._forms[name]
        gone = self._forgotten(merged.keys() - names - own)
        connection.executemany("DELETE FROM spills WHERE name = ?", [(name,) for name in gone])
        self._living = own | (self._living & merged.keys())
        self._ended &= merged.keys() | set(self._held())
        return {writer_of(name) for name in names | own}

    def _forgotten(self, missing: set[str]) -> list[str]:
        """Files that nobody will merge any more. Of others that are not there, somebody may have removed the name alone: their
        writer goes on, and has to find how far they are merged.
        """
        ended = {name for name in missing if name in self._ended or name in self._living}
        return [*ended, *sorted(missing - ended)[_OTHERS:]]

    def _is_left_over(self, name: str) -> bool:
        try:
            handle = opened_spill(self._database.folder, name, os.O_RDWR)
        except OSError:
            return False
        try:
            return held_by_nobody(handle)
        finally:
            os.close(handle)

    def _removed(self, name: str, at: int) -> bool:
        try:
            handle = opened_spill(self._database.folder, name, os.O_RDWR)
        except OSError:
            return False
        try:
            if not held_by_nobody(handle) or whole_lines(os.pread(handle, _CHUNK, at)):
                return False
            # What is behind the last line end was never told to be safe.
            os.unlink(os.path.join(self._database.folder, name))
            return True
        finally:
            os.close(handle)

    # -- the database ----------------------------------------------------------------------------------------------

    @staticmethod
    def _offsets(connection: sqlite3.Connection) -> dict[str, int]:
        """-1 where it is no place at all."""
        return {
            _text(name): at if isinstance(at, int) and at >= 0 else -1
            for name, at in connection.execute("SELECT name, merged FROM spills")
        }

    def _write_head(self, connection: sqlite3.Connection, chain: _Chain) -> None:
        values = (chain.sequence, chain.hash, self._database.keys.mac(chain.sequence, chain.hash))
        connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)", values)

    def _note(self) -> None:
        for spill in self._own():
            spill.merged = self.merged.get(spill.name, spill.merged)


def _gap(cause: str, name: str, now: float, **more: int) -> AuditEntry:
    """Somebody has changed a file, or what is noted about it; that is said for good."""
    return AuditEntry(kind="audit_gap", created_at=now, details={"cause": cause, "spill": name, **more})


def _write_offsets(connection: sqlite3.Connection, offsets: Mapping[str, int]) -> None:
    connection.executemany("INSERT OR REPLACE INTO spills VALUES (?, ?)", list(offsets.items()))


def _last(connection: sqlite3.Connection) -> tuple[int, str] | None:
    row = connection.execute("SELECT sequence, hash FROM records ORDER BY sequence DESC LIMIT 1").fetchone()
    return (row[0], _text(row[1])) if row else None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _emptied(keys: Keys) -> str:
    return "everything that was recorded before was gone" if keys.are_used() else ""


class _Chain:
    """The end of the chain, and what is added to it in one transaction."""

    def __init__(
        self, connection: sqlite3.Connection, keys: Keys, noted: tuple[int, str] | None, now: float
    ) -> None:
        self._connection = connection
        self.rows: list[Row] = []
        last, trouble = _last(connection), ""
        head = connection.execute("SELECT sequence, hash, mac FROM head").fetchone()
        known = [(0, GENESIS), *([last] if last else []), *([noted] if noted else [])]
        if head is None:
            trouble = "the keyed head was missing" if last else _emptied(keys)
        elif not keys.made(head[0], _text(head[1]), _text(head[2])):
            trouble = "the keyed head was not of this log's key"
        else:
            known.append((head[0], _text(head[1])))
            if last and head[0] <= last[0] and known[-1] != last:
                trouble = f"the keyed head was that of record {head[0]}"
        if not trouble and last and noted is None:
            trouble = "the head that is noted beside the database was missing, or not of this log's key"
        # A cut end stays visible: the chain goes on behind where it was, not where it is now.
        self.sequence, self.hash = max(known, key=lambda one: one[0])
        if trouble:  # and where nobody can tell that any more, at least this is said for good
            self._say(HEAD_LOST, trouble, now)
        if are_lost(connection, keys):
            self._say(CHECKPOINTS_LOST, "all of them", now)

    def _say(self, cause: str, found: str, now: float) -> None:
        self._append(AuditEntry(kind="audit_gap", created_at=now, details={"cause": cause, "found": found}))

    def add(self, items: Iterable[Item], writer: str) -> None:
        for entry in items:
            if isinstance(entry, bytes):
                self._put(entry)
            elif isinstance(entry, Begun):
                self._put(entry.data)
                self._open(writer, entry.request.decode())
            elif entry.kind == "decision" and entry.request_id and not entry.is_final:
                self._append(entry)
                self._open(writer, entry.request_id)
            elif entry.kind == "effect":
                entry.follows = self._closed(writer, entry.request_id)
                self._append(entry)
            else:
                self._append(entry)

    def _append(self, entry: AuditEntry) -> None:
        self._put(entry_json(entry))

    def _put(self, data: bytes) -> None:
        sequence, previous = self.sequence + 1, self.hash
        self.sequence, self.hash = sequence, record_hash(sequence, previous, data)
        self.rows.append((sequence, previous, self.hash, data.decode()))

    def _open(self, writer: str, request: str) -> None:
        values = (self.sequence, writer, request)
        self._connection.execute("INSERT OR REPLACE INTO open_calls VALUES (?, ?, ?)", values)

    def _closed(self, writer: str, request: str) -> int:
        """The number of the decision that this is the effect of."""
        found = self._connection.execute(
            "SELECT max(sequence) FROM open_calls WHERE writer = ? AND request_id = ?", (writer, request)
        ).fetchone()[0]
        self._connection.execute("DELETE FROM open_calls WHERE sequence = ?", (found,))
        return found or 0

    def close_calls(self, living: Iterable[str], now: float) -> None:
        """Calls of writers that have ended: nobody will say any more what came of them, and that is said."""
        kept = set(living)
        for sequence, writer, request in self._connection.execute("SELECT * FROM open_calls").fetchall():
            if bytes(writer).decode("utf-8", "replace") not in kept:
                self._connection.execute("DELETE FROM open_calls WHERE sequence = ?", (sequence,))
                request_id = bytes(request).decode("utf-8", "replace")
                details = {"outcome": "unknown"}
                self._append(
                    AuditEntry(
                        kind="effect",
                        created_at=now,
                        request_id=request_id,
                        follows=sequence,
                        details=details,
                    )
                )

    def write(self) -> None:
        at = 0
        for size in _ROWS:
            while len(self.rows) - at >= size:
                self._connection.execute(
                    _INSERT[size], [value for row in self.rows[at : at + size] for value in row]
                )
                at += size
