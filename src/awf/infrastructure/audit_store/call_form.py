"""What is written of calls that differ in little. What they share is written once for each spill file; a call only says what
is its own:

    f FORM {decision}                                       what all its decisions share
    d FORM REQUEST TIME INPUT                               a decision; times are in microseconds
    a FORM REQUEST TIME INPUT                               it has succeeded: this is ahead of the next
    c FORM REQUEST TIME INPUT ENDED MILLISECONDS OUTPUT     the whole call
    D FORM TIME (REQUEST INPUT)+                            decisions of one turn
    C FORM ENDED (REQUEST MILLISECONDS OUTPUT)+             calls that have succeeded, of one turn

What is ahead is made ready while the call is under way, and counts only where the writer was ended before the whole call
followed in the same file. Several stand in one line, with tabs between them. Whoever merges them makes of each what
`AuditLog.record` would have been told: nobody waits for that any more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry, entry_json
from awf.infrastructure.audit_store.packing import packed
from awf.infrastructure.audit_store.spill import line_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AHEAD",
    "BETWEEN",
    "CALL",
    "CALLS",
    "DECISION",
    "DECISIONS",
    "FORM",
    "FORM_ID",
    "LineForm",
    "ReadyLine",
    "WrittenForm",
    "names_form",
]

FORM, DECISION, AHEAD, CALL, DECISIONS, CALLS = b"f", b"d", b"a", b"c", b"D", b"C"
# Bytes by which a whole call is longer than what is ahead of it, at most: two numbers and a hash.
_WHOLE = 128
BETWEEN = "\t"  # never in JSON as it is
FORM_ID = slice(2, 10)
# Of an id that stands for itself, in JSON and between blanks.
_PLAIN = re.compile(r"[A-Za-z0-9._:-]+").fullmatch
_ALL_PLAIN = re.compile(r"[A-Za-z0-9._:\n-]+").fullmatch
# Times that are simple to write: sixteen digits of microseconds, and a double for each.
_FIRST, _LAST = 1e9, 4e9
# Found again in the JSON, since nothing else in it can look so: quotes in texts are escaped.
_TIME, _REQUEST, _INPUT, _OUTPUT, _TAKEN = 1794.0625, "request", "input", "output", 7


def names_form(record: str) -> bool:
    """Whether it is not an entry by itself."""
    return record.startswith(("d ", "a ", "c ", "D ", "C "))


class ReadyLine(msgspec.Struct, frozen=True, gc=False):
    """A `Ready`."""

    said: str
    form: str
    line: bytes  # of a file that knows the form
    room: int = 0  # for what has to follow in the same file


class LineForm:
    """A `CallForm`."""

    def __init__(self, number: int, entry: AuditEntry) -> None:
        self._entry = entry
        self.id = f"{number & 0xFFFFFFFF:08x}"

    def definition(self) -> str:
        """Stands in a spill file before all that name it."""
        return f"f {self.id} {entry_json(self._entry).decode()}"

    def decision(self, now: float, request_id: str, input_hash: str) -> str:
        if not (_FIRST <= now < _LAST and _PLAIN(request_id)):
            return packed(self._decided(now, request_id, input_hash)).decode()
        return f"d {self.id} {request_id} {int(now * 1e6)} {input_hash}"

    def decisions(self, now: float, request_ids: Sequence[str], input_hashes: Sequence[str]) -> list[str]:
        if not (_FIRST <= now < _LAST and _are_plain(request_ids)):
            return [self.decision(now, *call) for call in zip(request_ids, input_hashes, strict=True)]
        words = [""] * (2 * len(request_ids))
        words[::2], words[1::2] = request_ids, input_hashes
        return [f"D {self.id} {int(now * 1e6)} {' '.join(words)}"]

    def calls(
        self,
        now: float,
        request_ids: Sequence[str],
        durations_ms: Sequence[int],
        output_hashes: Sequence[str],
    ) -> list[str]:
        if not (_FIRST <= now < _LAST and _are_plain(request_ids)):
            return [
                packed(_effect(self._entry, request_id, now, taken, output)).decode()
                for request_id, taken, output in zip(request_ids, durations_ms, output_hashes, strict=True)
            ]
        words = [""] * (3 * len(request_ids))
        words[::3], words[1::3], words[2::3] = request_ids, map(str, durations_ms), output_hashes
        return [f"C {self.id} {int(now * 1e6)} {' '.join(words)}"]

    def ready(self, now: float, request_id: str, input_hash: str) -> ReadyLine:
        said = self.decision(now, request_id, input_hash)
        return ReadyLine(said, self.id, line_of(said.encode()))

    def ahead(self, decision: str) -> ReadyLine | None:
        if decision[0] != "d":
            return None
        said = f"a{decision[1:]}"
        line = line_of(said.encode())
        return ReadyLine(said, self.id, line, len(line) + _WHOLE)

    def call(self, decision: str, now: float, duration_ms: int, output_hash: str) -> str:
        if decision[0] == "d" and _FIRST <= now < _LAST:
            return f"c{decision[1:]} {int(now * 1e6)} {duration_ms} {output_hash}"
        request_id = (
            decision.split(" ")[2] if decision[0] == "d" else decoded_entry(decision.encode()).request_id
        )
        return packed(_effect(self._entry, request_id, now, duration_ms, output_hash)).decode()

    def _decided(self, now: float, request_id: str, input_hash: str) -> AuditEntry:
        own = {"created_at": now, "request_id": request_id, "input_hash": input_hash}
        return msgspec.structs.replace(self._entry, **own)


class WrittenForm:
    """The same for whoever reads what was written. What is in a line is told by its words."""

    def __init__(self, definition: bytes) -> None:
        """Raises `DecodeError`."""
        self._entry = decoded_entry(definition)
        self._decision, self._call = _decision_form(self._entry), _call_form(self._entry)
        self._latest = b"", b""  # a moment as it was written, and in JSON: calls of one turn have the same

    def decision(self, request: bytes, moment: bytes, given: bytes) -> bytes:
        """In canonical form."""
        return self._decision % (self._seconds(moment), given, request)

    def call(self, request: bytes, moment: bytes, given: bytes, taken: bytes, output: bytes) -> bytes:
        """In canonical form, with the time of its decision; without a hash of the output that is empty."""
        if not output:
            return entry_json(
                msgspec.structs.replace(
                    self._entry, kind="call", created_at=int(moment) / 1e6, request_id=request.decode(),
                    input_hash=given.decode(), success=True, duration_ms=int(taken),
                )
            )  # fmt: skip
        duration = b"" if taken == b"0" else b'"durationMs":%b,' % taken
        return self._call % (self._seconds(moment), duration, given, output, request)

    def _seconds(self, moment: bytes) -> bytes:
        """As canonical JSON has them."""
        latest, found = self._latest
        if moment != latest:
            whole, fraction = moment[:-6], moment[-6:].rstrip(b"0")
            found = b"%b.%b" % (whole, fraction) if fraction else whole
            self._latest = moment, found
        return found

    def effect(self, request: bytes, ended: bytes, taken: bytes, output: bytes) -> AuditEntry:
        """Only that, of a call whose decision is in the chain already. Raises `ValueError`."""
        return _effect(self._entry, request.decode(), int(ended) / 1e6, int(taken), output.decode())


def _are_plain(request_ids: Sequence[str]) -> bool:
    joined = "\n".join(request_ids)
    return bool(_ALL_PLAIN(joined)) and "" not in request_ids and joined.count("\n") == len(request_ids) - 1


def _effect(call: AuditEntry, request_id: str, now: float, duration_ms: int, output_hash: str) -> AuditEntry:
    return AuditEntry(
        kind="effect",
        created_at=now,
        request_id=request_id,
        tool_id=call.tool_id,
        context=call.context,
        output_hash=output_hash,
        success=True,
        duration_ms=duration_ms,
    )


def _decision_form(entry: AuditEntry) -> bytes:
    sample = msgspec.structs.replace(entry, created_at=_TIME, request_id=_REQUEST, input_hash=_INPUT)
    return _opened(entry_json(sample))


def _call_form(entry: AuditEntry) -> bytes:
    sample = msgspec.structs.replace(
        entry, kind="call", created_at=_TIME, request_id=_REQUEST, input_hash=_INPUT, output_hash=_OUTPUT,
        duration_ms=_TAKEN, success=True,
    )  # fmt: skip
    return _opened(entry_json(sample))


def _opened(data: bytes) -> bytes:
    """With a place for everything that is a call's own, in the order of their names."""
    made = data.replace(b"%", b"%%")
    for sample, place in (
        (b'"createdAt":%r' % _TIME, b'"createdAt":%b'),
        (b'"durationMs":%d,' % _TAKEN, b"%b"),
        (b'"inputHash":"%b"' % _INPUT.encode(), b'"inputHash":"%b"'),
        (b'"outputHash":"%b"' % _OUTPUT.encode(), b'"outputHash":"%b"'),
        (b'"requestId":"%b"' % _REQUEST.encode(), b'"requestId":"%b"'),
    ):
        made = made.replace(sample, place)
    return made
