"""Lines of calls that differ in little. What they share is written once; a call only fills in what is its own.

Two lines are written for a call, each ready for the chain: its decision, and later all of it. Both name their kind and
their call before the JSON, so that whoever merges them need not read it:

    SUM D REQUEST {decision}
    SUM C REQUEST TIME {call}       the time is that of the effect; the call has that of its decision
"""

from __future__ import annotations

import re
from zlib import crc32

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry, entry_json
from awf.infrastructure.audit_store.packing import packed
from awf.infrastructure.audit_store.spill import line_of

__all__ = ["CALL", "DECISION", "LineForm", "effect_in"]

DECISION, CALL = b"D ", b"C "
_PLAIN = re.compile(r"[A-Za-z0-9._:-]+").fullmatch  # of an id that stands for itself, in JSON and before it
# Found again in the JSON, since nothing else in it can look so: quotes in texts are escaped.
_TIME, _REQUEST, _INPUT, _OUTPUT, _TAKEN = 1794.0625, "request", "input", "output", 7


class LineForm:
    """A `CallForm`."""

    def __init__(self, entry: AuditEntry) -> None:
        self._entry = entry
        self._decision, self._call = _decision_form(entry), _call_form(entry)

    def decision(self, now: float, request_id: str, input_hash: str) -> bytes:
        if not _has_form(now, request_id):
            return line_of(packed(self._decided(now, request_id, input_hash)))
        data = (self._decision % (request_id, now, input_hash, request_id)).encode()
        return b"%08x %b\n" % (crc32(data), data)

    def call(
        self,
        now: float,
        duration_ms: int,
        output_hash: str,
        decided_at: float,
        request_id: str,
        input_hash: str,
    ) -> bytes:
        if not _has_form(decided_at, request_id):
            decided = self._decided(decided_at, request_id, input_hash)
            return line_of(packed(_effect(decided, now, duration_ms, output_hash)))
        taken = f'"durationMs":{duration_ms},' if duration_ms else ""
        filled = self._call % (request_id, now, decided_at, taken, input_hash, output_hash, request_id)
        data = filled.encode()
        return b"%08x %b\n" % (crc32(data), data)

    def _decided(self, now: float, request_id: str, input_hash: str) -> AuditEntry:
        own = {"created_at": now, "request_id": request_id, "input_hash": input_hash}
        return msgspec.structs.replace(self._entry, **own)


def _has_form(now: float, request_id: str) -> bool:
    """Whether both are written in JSON as they are written here."""
    return bool(1e-3 <= now < 1e15 and now % 1 and _PLAIN(request_id))


def effect_in(rest: bytes) -> AuditEntry:
    """Only the effect, of a call whose decision is in the chain already. `rest`: of its line, behind the request."""
    moment, _, data = rest.partition(b" ")
    call = decoded_entry(data)
    return _effect(call, float(moment), call.duration_ms, call.output_hash)


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


def _decision_form(entry: AuditEntry) -> str:
    sample = msgspec.structs.replace(entry, created_at=_TIME, request_id=_REQUEST, input_hash=_INPUT)
    return f"{DECISION.decode()}%s {_opened(entry_json(sample))}"


def _call_form(entry: AuditEntry) -> str:
    sample = msgspec.structs.replace(
        entry, kind="call", created_at=_TIME, request_id=_REQUEST, input_hash=_INPUT, output_hash=_OUTPUT,
        duration_ms=_TAKEN, success=True,
    )  # fmt: skip
    return f"{CALL.decode()}%s %r {_opened(entry_json(sample))}"


def _opened(data: bytes) -> str:
    """With a place for everything that is a call's own, in the order of their names."""
    made = data.decode().replace("%", "%%")
    for sample, place in (
        (f'"createdAt":{_TIME!r}', '"createdAt":%r'),
        (f'"durationMs":{_TAKEN},', "%s"),
        (f'"inputHash":"{_INPUT}"', '"inputHash":"%s"'),
        (f'"outputHash":"{_OUTPUT}"', '"outputHash":"%s"'),
        (f'"requestId":"{_REQUEST}"', '"requestId":"%s"'),
    ):
        made = made.replace(sample, place)
    return made
