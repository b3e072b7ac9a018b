"""The audit on SQLite; implements the `AuditLog` port.

`record` copies one line to this process's spill file, and that is all a call waits for. A thread merges what was spilled into
the chain soon afterwards, or has another process do it, and so does everyone who reads. While the database cannot be written,
entries stay in the spill.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from awf.domain.audit import AuditUnavailable
from awf.domain.audit_chain import entry_json
from awf.domain.errors import AwfError
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store.call_form import BETWEEN, FORM_ID, LineForm, ReadyLine, names_form
from awf.infrastructure.audit_store.checkpoints import Checkpoints, WitnessFile, stored_checkpoints
from awf.infrastructure.audit_store.database import Database
from awf.infrastructure.audit_store.evidence import SqliteEvidence, before_the_look
from awf.infrastructure.audit_store.failures import DAMAGE, Translated, is_outside, unavailable, unusable
from awf.infrastructure.audit_store.merging import Merger
from awf.infrastructure.audit_store.packing import LONGEST, packed, shortened
from awf.infrastructure.audit_store.reading import read_records
from awf.infrastructure.audit_store.spill import CutShort, Spill, line_of
from awf.infrastructure.audit_store.verifying import verified

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from awf.domain.audit import AuditCheckpoint, AuditEntry, AuditFilter, AuditRecord, AuditReport
    from awf.domain.ports.audit_log import Ready
    from awf.infrastructure.audit_store.aside import AsideCommand
    from awf.infrastructure.audit_store.aside_wire import Answer

__all__ = ["SqliteAudit"]

T = TypeVar("T")

_log = logging.getLogger("awf.audit")
_SOON_SECONDS = 0.1  # how long an entry may wait for company
_COMPANY = 1024
_TOLD = (1, _COMPANY)  # so many lines wait when somebody has to know
_RETRY_SECONDS = 1.0
_GRACE_SECONDS = 5.0  # for an answer of the process at our side, when we close
_TRIES = 5
_ROOMS = (1024 * 1024, 2 * LONGEST)  # of a spill file: the second where the disk has no more
SPILL_LIMIT = 64 * 1024 * 1024


class SqliteAudit:
    def __init__(
        self,
        folder: str,
        settings: Audit | None = None,
        *,
        spill_limit: int = SPILL_LIMIT,
        clock: Callable[[], float] = time.time,
        aside: AsideCommand | None = None,
    ) -> None:
        """`aside`: a process that merges, so that this one need not. Raises `AwfError` where the folder holds something that
        cannot be used.
        """
        self.folder = folder
        self._clock = clock
        self._limit = spill_limit
        self._writer = os.urandom(8).hex()
        self._spills: list[Spill] = []  # those that are not merged yet, and the one that is written
        self._spill: Spill | None = None
        self._ahead_in: Spill | None = None  # the last record that was ahead of its call
        self._waiting = 0  # bytes that are not merged yet
        self._numbers = 0
        self._form_numbers = itertools.count(1)
        self._forms: WeakValueDictionary[str, LineForm] = WeakValueDictionary()
        self._known_forms: set[str] = set()  # in the spill that is written
        self._writing = threading.Lock()
        self._database = Database(folder)
        self._checkpoints = Checkpoints(self._database, settings or Audit())
        self._merger = Merger(self._database, lambda: list(self._spills), clock)
        self._merging = threading.RLock()
        self._pending = 0
        self._head = 0
        self._asked_for: dict[str, int] = {}  # of the process at our side: files, and how long they were
        self._wake, self._full = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._told = ""
        self._aside = None
        if aside is not None:
            from awf.infrastructure.audit_store.aside import Aside

            self._aside = Aside(aside, folder)

    @property
    def origin(self) -> str:
        return self._database.origin

    @property
    def public_key(self) -> str:
        """For those who check signatures elsewhere; in base 64."""
        return self._database.keys.public

    def follow(self, settings: Audit) -> None:
        """Other settings from now on."""
        self._checkpoints.settings = settings

    # -- writing ---------------------------------------------------------------------------------------------------

    is_immediate = True

    def record(self, entry: AuditEntry) -> None:
        self.add((packed(entry).decode(),))

    def form(self, entry: AuditEntry) -> LineForm:
        fitting = shortened(entry) if len(entry_json(entry)) > LONGEST else entry
        form = LineForm(next(self._form_numbers), fitting)
        self._forms[form.id] = form
        return form

    def add(self, made: Sequence[str]) -> None:
        if made:
            with self._writing:
                pending = self._placed(made)
            self._tell(pending)

    def add_ready(self, made: Ready) -> None:
        assert type(made) is ReadyLine
        line, room = made.line, made.room
        with self._writing:
            spill, pending = self._spill, self._pending + 1
            if (
                spill is not None
                and pending > 1
                and made.form in self._known_forms
                and spill.size + len(line) + room <= spill.room
                and self._waiting + len(line) <= self._limit
            ):
                try:
                    spill.put(line)
                except CutShort:
                    pending = self._placed((made.said,), room)
                else:
                    self._waiting += len(line)
                    self._pending = pending
            else:
                pending = self._placed((made.said,), room)
            if room:
                self._ahead_in = self._spill
        if pending in _TOLD:
            self._tell(pending)

    def complete(self, whole: str) -> None:
        """In the same file: there is room for it, unless another thread has taken that meanwhile."""
        line = line_of(whole.encode())
        with self._writing:
            spill = self._spill
            if (
                spill is None
                or whole[FORM_ID] not in self._known_forms
                or spill.size + len(line) > spill.room
                or spill is not self._ahead_in
            ):
                raise AuditUnavailable("what was recorded ahead of its call is in another file")
            pending = self._put(spill, line)
        self._tell(pending)

    def _placed(self, made: Sequence[str], room: int = 0) -> int:
        """One line of all of them, and `room` behind it; how many lines wait then.

        Whether somebody has removed the file is looked at once for all that waits: we can still merge what is in it.
        """
        before = spill = self._spill
        if spill is None or (self._pending == 0 and not spill.is_there):
            spill = self._new_spill()
        new = self._new_forms(made)
        line = _line_of(made, new)
        if spill.size + len(line) + room > spill.room:
            spill = self._new_spill()
            new = self._new_forms(made)
            line = _line_of(made, new)
            if len(line) > spill.room:
                raise AuditUnavailable("the entry is too long")
        if self._waiting + len(line) > self._limit:
            raise AuditUnavailable("too much waits to be merged into the audit's database")
        try:
            pending = self._put(spill, line)
        except CutShort:
            if spill is not before:
                raise
            return self._placed(made, room)
        if new:
            self._known_forms.update(form.id for form in new)
        return pending

    def _put(self, spill: Spill, line: bytes) -> int:
        spill.put(line)
        self._waiting += len(line)
        self._pending += 1
        return self._pending

    def _tell(self, pending: int) -> None:
        if pending == 1:
            self._awake()
        elif pending == _COMPANY:
            self._full.set()

    def _new_forms(self, made: Sequence[str]) -> list[LineForm]:
        """Those that have to stand in the file before this, and do not yet."""
        known, new = self._known_forms, []
        for one in made:
            if one[FORM_ID] not in known:
                form = self._forms.get(one[FORM_ID])
                if form is None:
                    if names_form(one):
                        raise AuditUnavailable("what was to be recorded has lost its form")
                elif form not in new:
                    new.append(form)
        return new

    def _new_spill(self) -> Spill:
        if self._closed:
            raise AuditUnavailable("the audit is closed")
        for _ in range(_TRIES):
            spill = self._reserved()
            if spill.is_there:
                break
            spill.close()  # somebody tidied up before we had the lock
        else:
            raise AuditUnavailable(f"{self.folder}: new files are removed at once")
        self._spills.append(spill)
        self._spill = spill
        self._known_forms = set()
        return spill

    def _reserved(self) -> Spill:
        for room in _ROOMS:
            self._numbers += 1
            try:
                return Spill(self.folder, self._writer, self._numbers, room)
            except OSError as error:
                reason = error.strerror
        raise AuditUnavailable(f"{self.folder}: {reason}")

    def _awake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="awf-audit", daemon=True)
            self._thread.start()
        self._wake.set()

    # -- merging ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        due: float | None = None
        while True:
            self._wake.wait(due)
            self._wake.clear()
            if self._closed:  # who closes it merges the rest
                return
            answer = self._asked()
            if answer is not None:
                worked, due = self._heard(answer), answer.due
            else:
                worked, due = self._merged_soon(), self._checkpoints.due_in(self._clock(), self._head)
            if not worked and not self._closed:
                self._full.wait(_RETRY_SECONDS)
                self._wake.set()

    def _merged_soon(self) -> bool:
        self._full.wait(_SOON_SECONDS)
        self._full.clear()
        return self._closed or self._merged_quietly()

    def _asked(self) -> Answer | None:
        """What the process at our side has done, for up to a second: each time this thread wants the interpreter, calls wait.

        What is recorded from now on wakes it again, so nothing is left lying.
        """
        if self._aside is None:
            return None
        self._full.clear()
        with self._writing:
            self._pending = 0
            self._asked_for = {spill.name: spill.size for spill in self._spills}
        return self._aside.merged(list(self._asked_for), self._checkpoints.settings)

    def _heard(self, answer: Answer) -> bool:
        if answer.error:
            self._tell_unwritten(answer.error)
            return False
        with self._merging:
            spills = list(self._spills)
            for spill in spills:  # a reader here may have come further meanwhile
                spill.merged = max(spill.merged, answer.merged.get(spill.name, 0))
            self._let_go()
            missed = any(self._is_missed(spill) for spill in list(self._spills))
        if missed:
            return self._merged_quietly()
        self._told = ""
        return True

    def _is_missed(self, spill: Spill) -> bool:
        """Who merges for us did not find it all: only who wrote it can read what was removed, and knows what was cut off."""
        asked_for = self._asked_for.get(spill.name, 0)
        return spill.merged < asked_for or (spill.merged < spill.size and not spill.is_there)

    def _merged_quietly(self) -> bool:
        try:
            self.merge(thorough=False)
        except (*DAMAGE, OSError, AwfError) as error:
            self._tell_unwritten(str(error))
            return False
        self._told = ""
        return True

    def _tell_unwritten(self, why: str) -> None:
        """Once for each reason, however often it is tried."""
        said = f"The audit's database cannot be written, entries wait in the spill: {why}"
        if said != self._told:
            self._told = said
            _log.error("%s", said)

    def merge(self, *, thorough: bool = True) -> None:
        """Bring into the chain what any process has spilled so far."""
        with self._merging:
            with self._writing:
                self._pending = 0
            self._merger.run(self._finish, thorough=thorough)
            self._checkpoints.tell_witness()
            self._let_go()

    def _finish(self, connection: sqlite3.Connection, sequence: int, head: str) -> None:
        self._head = sequence
        self._checkpoints.sign_if_due(connection, sequence, head, self._clock())

    def _let_go(self) -> None:
        """Of spill files that are full and merged: then they count as left over, and go with the next merge."""
        with self._writing:
            for spill in self._spills[:-1]:
                if spill.merged >= spill.size:
                    self._spills.remove(spill)
                    spill.close()
            self._waiting = sum(spill.size - spill.merged for spill in self._spills)

    # -- reading ---------------------------------------------------------------------------------------------------

    async def records(
        self,
        *,
        after: int = 0,
        before: int = 0,
        limit: int = 1000,
        where: AuditFilter | None = None,
        newest_first: bool = False,
    ) -> list[AuditRecord]:
        return await self._read(
            lambda connection: read_records(
                connection, after, before, limit, where, newest_first=newest_first
            )
        )

    async def open_calls(self) -> frozenset[int]:
        return await self._read(
            lambda connection: frozenset(
                sequence for (sequence,) in connection.execute("SELECT sequence FROM open_calls")
            )
        )

    async def checkpoints(self, *, after: int = 0, limit: int = 1000) -> list[AuditCheckpoint]:
        origin = self._database.origin
        return await self._read(lambda connection: list(stored_checkpoints(connection, origin, after, limit)))

    async def verify(self, *, public_key: str = "", witness: str = "") -> AuditReport:
        """Looks at every record. The key and the witness are those of this log, unless others are given."""
        return await _in_thread(self._verified, public_key, witness)

    def _verified(self, public_key: str, witness: str) -> AuditReport:
        with self._merging:
            damage = self._damage_met()
            with self._translated():
                before = before_the_look(self._database)  # others may add to the log meanwhile
                kept = WitnessFile(witness or self._checkpoints.settings.witness)
            with self._translated(), self._database.snapshot() as connection:
                evidence = SqliteEvidence(connection, self._database, public_key, before)
                return verified(evidence, kept, damage)

    def _damage_met(self) -> str:
        """What keeps us from merging, where that is no matter of waiting: whoever looks for damage has to hear of it."""
        try:
            self._merge_first()
        except AwfError as error:
            if isinstance(error.__cause__, DAMAGE) and not is_outside(error.__cause__):
                return str(error.__cause__)
            raise
        return ""

    async def checkpoint(self) -> AuditCheckpoint | None:
        """Sign the log as it is now; None when it is empty."""
        return await _in_thread(self._signed)

    def _signed(self) -> AuditCheckpoint | None:
        def finish(connection: sqlite3.Connection, sequence: int, head: str) -> None:
            self._head = sequence
            if sequence:
                self._checkpoints.sign(connection, sequence, head, self._clock())

        with self._merging:
            self._merge_first()
            with self._translated():
                self._merger.run(finish, thorough=False)
                self._checkpoints.tell_witness()
                newest = stored_checkpoints(self._database.connection, self._database.origin, self._head - 1)
                found = list(newest)
        return found[-1] if found else None

    async def _read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        return await _in_thread(self._looked, look)

    def _looked(self, look: Callable[[sqlite3.Connection], T]) -> T:
        with self._merging:
            self._merge_first()
            with self._translated(), self._database.snapshot() as connection:
                return look(connection)

    def looked(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """What somebody sees of the file, with everything in it that was recorded so far."""
        return self._looked(look)

    def _merge_first(self) -> None:
        """So that everything is seen."""
        if self._closed:
            raise unavailable(self.folder, "it is closed")
        try:
            self._database.assure()
            if not self._merger.is_idle():
                self.merge()
        except (*DAMAGE, OSError) as error:
            raise unusable(self._database.path, error) from error

    def _translated(self) -> Translated:
        return Translated(self._database.path)

    async def close(self) -> None:
        await _in_thread(self.close_now)

    def close_now(self) -> None:
        """Merge what is left, as far as that works; the rest is merged by whoever comes next."""
        if self._closed:
            return
        with self._writing:
            self._closed = True
            self._spill = None
        self._end_thread()
        with self._merging:
            self._merged_quietly()
            for spill in self._spills:
                spill.close()
            self._spills.clear()
            self._merged_quietly()
            self._database.close()
        if self._aside is not None:
            self._aside.close()

    def _end_thread(self) -> None:
        """Before it, what it may wait for."""
        if self._thread is None:
            return
        if self._aside is not None:
            self._aside.end()
        self._full.set()
        self._wake.set()
        if self._aside is not None:
            self._thread.join(_GRACE_SECONDS)
            if self._thread.is_alive():  # it waits for an answer
                self._aside.kill()
        self._thread.join()


async def _in_thread(work: Callable[..., T], *given: object) -> T:
    import asyncio  # here: the process that merges needs none of it

    return await asyncio.to_thread(work, *given)


def _line_of(made: Sequence[str], forms: Sequence[LineForm]) -> bytes:
    if forms:
        made = [*(form.definition() for form in forms), *made]
    return line_of((made[0] if len(made) == 1 else BETWEEN.join(made)).encode())
