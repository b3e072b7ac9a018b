"""The chain: how a record gets its hash from the one before, and how one sees that every record has the right one.

A record's hash is SHA-256 over the canonical JSON of `{"entry": …, "previous": …, "sequence": …}`. An entry is kept in its
canonical form, so that neither writing nor checking a hash has to make that form anew.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from awf.domain.audit import AuditCheckpoint, AuditEntry, AuditFlaw, AuditRecord, FlawKind
from awf.domain.canonical import canonical, encoded_alike, sha256_hex

__all__ = ["GENESIS", "ChainWalk", "decoded_entry", "entry_json", "record_hash", "record_line", "signed_bytes"]

GENESIS = "0" * 64  # what the first record names as the one before
FLAWS_TOLD = 20

_encode = msgspec.json.Encoder(order="sorted").encode
decoded_entry = msgspec.json.Decoder(AuditEntry).decode


def entry_json(entry: AuditEntry) -> bytes:
    """The canonical form. Never raises, and can always be read again."""
    try:
        encoded = _encode(entry)
    except Exception:  # noqa: BLE001  half characters, or details that are no JSON
        return _spelled_out(entry)
    # All else are texts, and names that are no tags.
    if encoded_alike((entry.created_at, entry.duration_ms, entry.follows, *entry.details.values()), encoded):
        return encoded
    return _spelled_out(entry)


def _spelled_out(entry: AuditEntry) -> bytes:
    """Field by field. Half characters are spelled out, so that fields keep their types."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(entry):
        value = getattr(entry, field.name)
        if field.required or value != field.default:
            fields[field.encode_name] = _spelled(value)
    if entry.created_at - entry.created_at != 0:  # no moment: NaN or an infinity
        fields["createdAt"] = 0
    if not entry.details:
        fields.pop("details", None)
    written = _object(fields)
    try:
        decoded_entry(written)
    except (msgspec.DecodeError, RecursionError):  # details too deep to be read
        fields["details"] = {"omitted": {"sha256": sha256_hex(entry.details)}}
        written = _object(fields)
    return written


def _object(fields: dict[str, Any]) -> bytes:
    """Names are plain, so they sort as they are; values are written one by one, since tags are no part of a name's object."""
    return b"{%b}" % b",".join(b'"%b":%b' % (key.encode(), canonical(fields[key])) for key in sorted(fields))


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_spelled(one) for one in value] if isinstance(value, tuple) else value


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
            self.flaw("order", self.last + 1, f"{sequence!r:.40} stands where record {self.last + 1} should be")
            return
        gap = sequence > self.last + 1
        if gap:
            missing = f"record {self.last + 1} is" if sequence == self.last + 2 else _span(self.last + 1, sequence - 1)
            self.flaw("missing", self.last + 1, f"{missing} missing")
        if not _has_hash(sequence, previous, said, entry):
            self.flaw("changed", sequence, f"record {sequence} was changed: it does not have its hash")
        elif not gap and previous != self.head:
            before = f"record {sequence - 1}" if sequence > 1 else "nothing, as the first one does"
            self.flaw("order", sequence, f"record {sequence} does not follow from {before}: one of them was replaced or moved")
        self.count += 1
        self.last, self.head = sequence, said if isinstance(said, str) else ""

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
