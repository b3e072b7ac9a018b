"""What is written of calls that differ in little. What they share is written once for each spill file; a call only says what
is its own:

    f FORM {decision}                                       what all its decisions share
    d FORM REQUEST TIME INPUT                               a decision
    c FORM REQUEST TIME INPUT ENDED MILLISECONDS OUTPUT     the whole call

Where a client waits, a call is written without its last word first, and at once again with it, as `C` and in the same file; only
where the writer was ended in between does the first one count. Several stand in one line, with tabs between them. Whoever merges them makes of each what `AuditLog.record` would have been
told: nobody waits for that any more.
"""

from __future__ import annotations

import re

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry, entry_json
from awf.infrastructure.audit_store.packing import packed

__all__ = [
    "BETWEEN",
    "CALL",
    "CALL_WHOLE",
    "DECISION",
    "FORM",
    "FORM_ID",
    "HASH",
    "LineForm",
    "WrittenForm",
    "names_form",
]

FORM, DECISION, CALL = b"f", b"d", b"c"
CALL_WHOLE = b"C"  # one that was written ahead of its hash
HASH = 65  # bytes that a hash takes, with the blank before it
BETWEEN = "\t"  # never in JSON as it is
FORM_ID = slice(2, 10)
_PLAIN = re.compile(
    r"[A-Za-z0-9._:-]+"
).fullmatch  # of an id that stands for itself, in JSON and between blanks
# Found again in the JSON, since nothing else in it can look so: quotes in texts are escaped.
_TIME, _REQUEST, _INPUT, _OUTPUT, _TAKEN = 1794.0625, "request", "input", "output", 7


def _written(now: float) -> str:
    """To the microsecond, as canonical JSON has it; empty where that is not so simple."""
    digits = str(int(now * 1e6)) if 1e3 <= now < 4e9 else ""
    fraction = digits[-6:].rstrip("0")
    return f"{digits[:-6]}.{fraction}" if fraction else ""


def names_form(record: str) -> bool:
    """Whether it is not an entry by itself."""
    return record.startswith(("d ", "c ", "C "))


class LineForm:
    """A `CallForm`."""

    def __init__(self, number: int, entry: AuditEntry) -> None:
        self._entry = entry
        self._now, self._moment = 0.0, ""  # calls of one turn have the same
        self.id = f"{number & 0xFFFFFFFF:08x}"

    def definition(self) -> str:
        """Stands in a spill file before all that name it."""
        return f"f {self.id} {entry_json(self._entry).decode()}"

    def decision(self, now: float, request_id: str, input_hash: str) -> str:
        moment = self._moment if now == self._now else self._new_moment(now)
        if not (moment and _PLAIN(request_id)):
            return packed(self._decided(now, request_id, input_hash)).decode()
        return f"d {self.id} {request_id} {moment} {input_hash}"

    def call_ahead(self, decision: str, now: float, duration_ms: int) -> str:
        moment = self._moment if now == self._now else self._new_moment(now)
        return f"c{decision[1:]} {moment} {duration_ms}" if moment and decision[0] == "d" else ""

    def completed(self, ahead: str, found: str) -> str:
        return f"C{ahead[1:]} {found}"

    def call(self, decision: str, now: float, duration_ms: int, output_hash: str) -> str:
        if decision[0] != "d":
            call = decoded_entry(decision.encode())
            return packed(_effect(call, now, duration_ms, output_hash)).decode()
        moment = self._moment if now == self._now else self._new_moment(now)
        return f"c{decision[1:]} {moment or repr(now)} {duration_ms} {output_hash}"

    def _new_moment(self, now: float) -> str:
        self._now, self._moment = now, _written(now)
        return self._moment

    def _decided(self, now: float, request_id: str, input_hash: str) -> AuditEntry:
        own = {"created_at": now, "request_id": request_id, "input_hash": input_hash}
        return msgspec.structs.replace(self._entry, **own)


class WrittenForm:
    """The same for whoever reads what was written. What is in a line is told by its words."""

    def __init__(self, definition: bytes) -> None:
        """Raises `DecodeError`."""
        self._entry = decoded_entry(definition)
        self._decision, self._call = _decision_form(self._entry), _call_form(self._entry)

    def decision(self, request: bytes, moment: bytes, given: bytes) -> bytes:
        """In canonical form."""
        return self._decision % (moment, given, request)

    def call(
        self, request: bytes, moment: bytes, given: bytes, _: bytes, taken: bytes, output: bytes
    ) -> bytes:
        """In canonical form, with the time of its decision; without a hash of the output that is empty."""
        if not output:
            return entry_json(
                msgspec.structs.replace(
                    self._entry, kind="call", created_at=float(moment), request_id=request.decode(),
                    input_hash=given.decode(), success=True, duration_ms=int(taken),
                )
            )  # fmt: skip
        duration = b"" if taken == b"0" else b'"durationMs":%b,' % taken
        return self._call % (moment, duration, given, output, request)

    def effect(
        self, request: bytes, _: bytes, __: bytes, ended: bytes, taken: bytes, output: bytes
    ) -> AuditEntry:
        """Only that, of a call whose decision is in the chain already. Raises `ValueError`."""
        decided = msgspec.structs.replace(self._entry, request_id=request.decode())
        return _effect(decided, float(ended), int(taken), output.decode())


def _effect(call: AuditEntry, now: float, duration_ms: int, output_hash: str) -> AuditEntry:
    return AuditEntry(
        kind="effect",
        created_at=now,
        request_id=call.request_id,
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
