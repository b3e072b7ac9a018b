"""The chain: how a record gets its hash from the one before, and how one sees that every record has the right one.

A record's hash is SHA-256 over the canonical JSON of `{"entry": …, "previous": …, "sequence": …}`. An entry is kept in its
canonical form, so that neither writing nor checking a hash has to make that form anew.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from awf.domain.audit import AuditCheckpoint, AuditEntry, AuditFlaw, AuditRecord, FlawKind
from awf.domain.canonical import canonical, encoded_alike, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CHECKPOINTS_LOST",
    "DAMAGED_LINE",
    "ENTRIES_LOST",
    "GENESIS",
    "HEAD_LOST",
    "PLACE_LOST",
    "ChainWalk",
    "decoded_entry",
    "entry_json",
    "reader",
    "record_hash",
    "record_line",
    "signed_bytes",
]

T = TypeVar("T")

GENESIS = "0" * 64  # what the first record names as the one before
# Causes of an `audit_gap`, after which the log is not all that was recorded.
HEAD_LOST = "head lost"  # nobody can tell whether the end was cut off before it
CHECKPOINTS_LOST = "checkpoints lost"  # those that are signed afterwards would hide that
ENTRIES_LOST = "entries lost"  # they were gone before they came into the chain
DAMAGED_LINE = "damaged line"  # what came there instead of an entry
PLACE_LOST = "place lost"  # nobody could tell which entries of a file were in the chain already
FLAWS_TOLD = 20
DEEPEST = 64  # levels of details that are kept
EXACT = 2**53 - 1

_encode = msgspec.json.Encoder(order="sorted").encode


def reader(kind: type[T]) -> Callable[[bytes | str], T]:
    """What it is given may be whatever somebody has made of a line: all that is none raises `msgspec.DecodeError`."""
    decode = msgspec.json.Decoder(kind).decode

    def decoded(data: bytes | str) -> T:
        try:
            return decode(data)
        except (RecursionError, UnicodeDecodeError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise msgspec.DecodeError(why) from error

    return decoded


decoded_entry = reader(AuditEntry)


def entry_json(entry: AuditEntry) -> bytes:
    """The canonical form. Never raises, and can always be read again."""
    moment = entry.created_at
    if type(moment) is float and moment % 1 == 0 and abs(moment) < EXACT:  # without a point
        entry = msgspec.structs.replace(entry, created_at=int(moment))
    try:
        encoded = _encode(entry)
    except Exception:  # noqa: BLE001  half characters, or details that are no JSON
        return _spelled_out(entry)
    # All else are texts, and names that are no tags.
    numbers = (entry.created_at, entry.duration_ms, entry.follows)
    if encoded_alike((*numbers, *entry.details.values()) if entry.details else numbers, encoded):
        return encoded
    return _spelled_out(entry)


def _spelled_out(entry: AuditEntry) -> bytes:
    """With everything in it made plain JSON, so that what is read again and written again is the same."""
    fields: dict[str, Any] = {}
    for field in _fields():
        value = getattr(entry, field.name)
        if field.required or value != field.default:
            fields[field.encode_name] = _plain(value, DEEPEST)
    fields["createdAt"] = entry.created_at if abs(entry.created_at) < EXACT else 0  # also for NaN
    for name in ("durationMs", "follows"):
        if name in fields and not isinstance(fields[name], int):
            fields[name] = EXACT
    if not entry.details:
        fields.pop("details", None)
    return canonical(fields)


@functools.cache
def _fields() -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(AuditEntry)  # takes longer than all the rest of it


def _plain(value: Any, room: int) -> Any:
    """For reading, not for comparing: what JSON cannot say is spelled as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int | float) and abs(value) <= EXACT:
        return value
    if isinstance(value, dict | list | tuple) and room == 0:
        return f"omitted: {sha256_hex(value)}"
    if isinstance(value, dict):
        return {_name(key): _plain(inner, room - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, room - 1) for inner in value]
    return hex(value) if isinstance(value, int) else canonical(value).decode()


def _name(key: Any) -> str:
    name = str(_plain(key, 0))
    return "($awf)" if name == "$awf" else name  # the one name that canonical JSON has taken


def record_hash(sequence: int, previous: str, entry: bytes) -> str:
    text = b'{"entry":%b,"previous":"%b","sequence":%d}' % (entry, previous.encode(), sequence)
    return hashlib.sha256(text).hexdigest()


def record_line(record: AuditRecord) -> bytes:
    """A record as one canonical line. Without its `hash` it is what the hash is over."""
    entry = entry_json(record.entry)
    parts = (entry, record.hash.encode(), record.previous.encode(), record.sequence)
    return b'{"entry":%b,"hash":"%b","previous":"%b","sequence":%d}' % parts


def signed_bytes(checkpoint: AuditCheckpoint) -> bytes:
    """What the signature of a checkpoint is over."""
    fields = msgspec.to_builtins(checkpoint)
    del fields["signature"]
    return canonical(fields)


class ChainWalk:
    """Takes the records one by one and tells what is wrong with each. Goes on behind a flaw, so that all are found."""

    def __init__(self) -> None:
        self.first = 1
        self.last = 0
        self.head = GENESIS
        self.count = 0
        self.flaws: list[AuditFlaw] = []
        self._sound_until: int | None = None

    def begin_at(self, sequence: int, previous: str) -> None:
        """For a part of a log that does not begin with the first record."""
        self.first, self.last, self.head = sequence, sequence - 1, previous

    def step(self, sequence: Any, previous: Any, said: Any, entry: Any) -> None:
        """Whatever lies in the store is taken, of whatever type it has become."""
        if not isinstance(sequence, int) or sequence <= self.last:
            self.flaw(
                "order", self.last + 1, f"{sequence!r:.40} stands where record {self.last + 1} should be"
            )
            return
        gap = sequence > self.last + 1
        if gap:
            missing = (
                f"record {self.last + 1} is"
                if sequence == self.last + 2
                else _span(self.last + 1, sequence - 1)
            )
            self.flaw("missing", self.last + 1, f"{missing} missing")
        if not _has_hash(sequence, previous, said, entry):
            self.flaw("changed", sequence, f"record {sequence} was changed: it does not have its hash")
        elif not gap and previous != self.head:
            before = f"record {sequence - 1}" if sequence > 1 else "nothing, as the first one does"
            self.flaw(
                "order",
                sequence,
                f"record {sequence} does not follow from {before}: one of them was replaced or moved",
            )
        self.count += 1
        self.last, self.head = sequence, said if isinstance(said, str) else ""

    def read(self, sequence: int, entry: Any) -> AuditEntry | None:
        """What the record says, whose turn was just taken; where that is that others are missing, it is a flaw."""
        try:
            found = decoded_entry(entry)
        except (msgspec.DecodeError, TypeError):
            self.flaw("changed", sequence, f"record {sequence} is no entry of an audit")
            return None
        if found.kind == "audit_gap":
            self._tell_gap(sequence, found.details)
        return found

    def _tell_gap(self, sequence: int, details: dict[str, Any]) -> None:
        cause, file = details.get("cause"), details.get("spill")
        if cause == HEAD_LOST:
            said = (
                f"record {sequence} says that {details.get('found')}: records before it may have been cut off"
            )
            self.flaw("cut", sequence, said)
        elif cause == CHECKPOINTS_LOST:
            said = f"record {sequence} says that checkpoints were signed and were missing then: {details.get('found')}"
            self.flaw("checkpoint", sequence, said)
        elif cause == ENTRIES_LOST:
            said = f"entries are missing before record {sequence}, {details.get('bytes')} bytes: {file} was cut short"
            self.flaw("missing", sequence, said)
        elif cause == DAMAGED_LINE:
            said = f"record {sequence} stands for entries that are missing: a line of {file} was damaged"
            self.flaw("missing", sequence, said)
        elif cause == PLACE_LOST:
            said = f"record {sequence} says that nobody knew how far {file} was merged: entries behind it may stand there twice"
            self.flaw("database", sequence, said)

    def flaw(self, kind: FlawKind, sequence: int, message: str) -> None:
        if len(self.flaws) < FLAWS_TOLD:
            self.flaws.append(AuditFlaw(kind, sequence, message))
        if self._sound_until is None or sequence - 1 < self._sound_until:
            self._sound_until = max(self.first - 1, min(sequence - 1, self.last))

    @property
    def sound_until(self) -> int:
        return self.last if self._sound_until is None else self._sound_until


def _has_hash(sequence: int, previous: Any, said: Any, entry: Any) -> bool:
    if not (isinstance(previous, str) and isinstance(said, str) and isinstance(entry, bytes)):
        return False
    return previous.isascii() and record_hash(sequence, previous, entry) == said


def _span(first: int, last: int) -> str:
    return f"records {first} to {last} are"
