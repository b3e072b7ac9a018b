"""Looks at every record, and at everything that vouches for them. One pass, in memory that does not grow with the log."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from awf.domain.audit import AuditCheckpoint, AuditReport
from awf.domain.audit_chain import GENESIS, ChainWalk
from awf.infrastructure.audit_store.failures import DAMAGE, is_outside
from awf.infrastructure.audit_store.keys import signature_holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from awf.domain.audit import FlawKind
    from awf.infrastructure.audit_store.checkpoints import WitnessFile

__all__ = ["Evidence", "StoredHead", "verified"]


class StoredHead(NamedTuple):
    """As it lies in the store, of whatever type it has become."""

    sequence: Any
    hash: Any
    is_ours: bool | None  # None: it was written with a key that is not known here
    key: str = ""  # where it is none of ours


class Evidence(Protocol):
    """What a store has to say, all of it at one moment."""

    origin: str

    def records(self) -> Iterable[tuple[Any, Any, Any, Any]]:
        """Number, previous hash, hash and entry, by their numbers."""
        ...

    def head(self) -> StoredHead | None: ...

    def noted(self) -> tuple[int, str] | None:
        """What was noted beside the store."""
        ...

    @property
    def must_be_noted(self) -> bool: ...

    @property
    def was_begun(self) -> bool:
        """Whether something else than the log itself tells that it had records."""
        ...

    @property
    def signed(self) -> int:
        """Up to where something else than the checkpoints tells that there are some; 1: anywhere."""
        ...

    @property
    def is_held(self) -> bool:
        """Whether it is held against keys that somebody has kept."""
        ...

    @property
    def stranger(self) -> str:
        """The key that it signs with, where that is none of those that may."""
        ...

    def hash_of(self, sequence: int) -> Any: ...

    def has_checkpoint(self, size: int) -> bool: ...

    def open_calls(self) -> set[int]: ...

    def checkpoints(self) -> Iterator[AuditCheckpoint]: ...

    def trusts(self, key: str) -> bool | None:
        """Whether a checkpoint may be signed with it. None: nobody here can say."""
        ...

    def damage(self) -> Iterable[str]:
        """Of the store itself."""
        ...


def verified(evidence: Evidence, witness: WitnessFile, damage: str = "") -> AuditReport:
    """`damage`: what was met before, on the way to look at all of it."""
    checking = _Checking(evidence)
    walk = checking.walk
    try:
        checking.check_own_key()
        checking.walk_records()
        checking.check_head()
        checking.check_noted()
        checking.check_signed("checkpoint", evidence.checkpoints())
        checking.check_open_calls()
        checking.check_store()
        is_whole = True
    except DAMAGE as error:
        if is_outside(error):
            raise
        is_whole = False
        walk.flaw("database", walk.last + 1, f"the database is damaged behind record {walk.last}: {error}")
    checking.check_witness(witness)
    if is_whole:
        checking.check_all_signed()
    if damage and not walk.flaws:
        walk.flaw(
            "database",
            walk.last + 1,
            f"what was recorded behind record {walk.last} cannot be merged: {damage}",
        )
    return checking.report()


class _Checking:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._open: set[int] = set()
        self._signed = {"checkpoint": 0, "witness": 0}
        self._newest = 0  # of the checkpoints
        self._alone = self._first_alone = 0  # those that only the witness has
        self._foreign: Counter[str] = Counter()
        self._notes: list[str] = []
        self.walk = ChainWalk()

    def check_own_key(self) -> None:
        if key := self._evidence.stranger:
            self.walk.flaw(
                "checkpoint",
                1,
                f"this log signs with the key {key}, which is none of those it is held against: there was another log, or another key",
            )

    def walk_records(self) -> None:
        for sequence, previous, said, entry in self._evidence.records():
            self.walk.step(sequence, previous, said, entry)
            self._follow(sequence, entry)

    def _follow(self, sequence: int, entry: Any) -> None:
        """Which decisions wait for their effect."""
        found = self.walk.read(sequence, entry)
        if found is None:
            return
        if found.kind == "decision" and found.request_id and not found.is_final:
            self._open.add(sequence)
        elif found.follows:
            self._open.discard(found.follows)

    def check_head(self) -> None:
        found = self._evidence.head()
        last, head = self.walk.last, self.walk.head
        if found is None:
            if last:
                self.walk.flaw("head", last, "the keyed head is missing")
            elif self._evidence.was_begun:
                self.walk.flaw(
                    "cut", 1, "everything that was recorded is gone, and the key of this log was used"
                )
            return
        sequence = found.sequence
        if found.is_ours is None:
            self._notes.append(
                f"the head was written with the key {found.key}, which this machine does not have: only one that has it can tell"
                " whether records behind the last checkpoint were cut off"
            )
        elif not found.is_ours:
            said = "the keyed head was not written with this log's key"
            if found.key:
                said = f"the head was written with the key {found.key}, which is none of those that may"
            self.walk.flaw("head", last, said)
            return
        if sequence > last:
            self.walk.flaw(
                "cut", last + 1, f"the end is cut off: the log had {sequence} records, {last} are left"
            )
        elif (sequence, found.hash) != (last, head):
            self.walk.flaw(
                "head", sequence, f"the keyed head is that of record {sequence}, the last one is {last}"
            )

    def check_noted(self) -> None:
        last, noted = self.walk.last, self._evidence.noted()
        if noted is None:
            if last and self._evidence.must_be_noted:
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
            if not self._is_signed(one):
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
            elif kind == "witness" and not self._evidence.has_checkpoint(size):
                self._alone, self._first_alone = self._alone + 1, self._first_alone or size
            self._signed[kind] += 1
            if kind == "checkpoint":
                self._newest = max(self._newest, size)

    def check_witness(self, file: WitnessFile) -> None:
        self.check_signed("witness", file.checkpoints())
        if file.path and not self._signed["witness"]:
            self._notes.append(f"the witness file {file.path} has no checkpoint")

    def check_all_signed(self) -> None:
        """That no checkpoint is missing of which anything tells. The records are what they were; but less vouches for them."""
        known, last = self._evidence.signed, self.walk.last
        if known > self._newest:
            which = f"that of {known} records" if known > 1 else "all of them"
            self.walk.flaw("checkpoint", last + 1, f"checkpoints were signed and are missing: {which}")
        if self._alone:
            said = f"checkpoints that the witness file has are missing: {self._alone}, the first one of {self._first_alone} records"
            self.walk.flaw("checkpoint", last + 1, said)

    def _is_signed(self, one: AuditCheckpoint) -> bool:
        """Also with a key that is not known here; that is told."""
        trusted = self._evidence.trusts(one.key)
        if trusted is False or one.origin != self._evidence.origin or not signature_holds(one, one.key):
            return False
        if trusted is None:
            self._foreign[one.key] += 1
        return True

    def _hash_of(self, sequence: int) -> Any:
        return GENESIS if sequence == 0 else self._evidence.hash_of(sequence)

    def check_open_calls(self) -> None:
        """The table is a help for readers; somebody could hide a call in it."""
        for sequence in sorted(self._evidence.open_calls() ^ self._open)[:1]:
            self.walk.flaw("database", sequence, f"the list of open calls is wrong about record {sequence}")

    def check_store(self) -> None:
        for text in self._evidence.damage():
            self.walk.flaw("database", self.walk.last + 1, text)

    def report(self) -> AuditReport:
        walk = self.walk
        if self._evidence.is_held and walk.count and not any(self._signed.values()):
            self._notes.append(
                "whether these records are of the log whose key was given: there is no checkpoint yet, as in the first minute of a log,"
                " so nothing is signed with that key"
            )
        for key, count in self._foreign.items():
            what = "1 checkpoint was" if count == 1 else f"{count} checkpoints were"
            self._notes.append(
                f"{what} signed with the key {key}, which this machine does not know: take the public key from the machine that"
                " signed (signing.pub, beside its key), and name all keys that may sign with --key"
            )
        return AuditReport(
            records=walk.count,
            sound_until=walk.sound_until,
            head=walk.head,
            checkpoints=self._signed["checkpoint"],
            witnessed=self._signed["witness"],
            flaws=tuple(walk.flaws),
            notes=tuple(self._notes),
        )
