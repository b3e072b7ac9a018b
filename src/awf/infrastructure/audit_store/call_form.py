"""Lines of calls that differ in little. What they share is written once; a call only fills in what is its own.

Two lines are written for a call, each ready for the chain: its decision, and later all of it. Both name their kind and
their call before the JSON, so that whoever merges them need not read it:

    SUM D REQUEST {decision}
    SUM C REQUEST TIME {call}       the time is that of the effect; the call has that of its decision
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry, entry_json

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CALL", "DECISION", "LineForm", "effect_in"]

DECISION, CALL = b"D ", b"C "
_PLAIN = re.compile(r"[A-Za-z0-9._:-]+")  # of an id that stands for itself, in JSON and before it
# Found again in the JSON, since nothing else in it can look so: quotes in texts are escaped.
_TIME, _REQUEST, _INPUT, _OUTPUT, _TAKEN = 1794.0625, "request", "input", "output", 7


class LineForm:
    """A `CallForm`."""

    def __init__(
        self, entry: AuditEntry, write: Callable[[bytes], None], record: Callable[[AuditEntry], None]
    ) -> None:
        self.entry = entry
        self.write = write
        self.record = record
        self.decision, self.call = _decision_form(entry), _call_form(entry)

    def begun(self, now: float, request_id: str, input_hash: str) -> _LineCall | _EntryCall:
        if not (1e-3 <= now < 1e15 and now % 1 and _PLAIN.fullmatch(request_id)):
            return _EntryCall(self, now, request_id, input_hash)
        moment, request, given = b"%r" % now, request_id.encode(), input_hash.encode()
        data = self.decision % (request, moment, given, request)
        self.write(b"%08x %b\n" % (crc32(data), data))
        return _LineCall(self, moment, request, given)


class _LineCall:
    """An `OpenCall`."""

    __slots__ = ("_form", "_input", "_moment", "_request")

    def __init__(self, form: LineForm, moment: bytes, request: bytes, given: bytes) -> None:
        self._form = form
        self._moment = moment
        self._request = request
        self._input = given

    def ended(self, now: float, duration_ms: int, output_hash: str) -> None:
        form, request = self._form, self._request
        taken = b'"durationMs":%d,' % duration_ms if duration_ms else b""
        data = form.call % (request, now, self._moment, taken, self._input, output_hash.encode(), request)
        form.write(b"%08x %b\n" % (crc32(data), data))


class _EntryCall:
    """The same for times and ids that have no form of their own."""

    def __init__(self, form: LineForm, now: float, request_id: str, input_hash: str) -> None:
        self._record = form.record
        self._entry = msgspec.structs.replace(
            form.entry, created_at=now, request_id=request_id, input_hash=input_hash
        )
        self._record(self._entry)

    def ended(self, now: float, duration_ms: int, output_hash: str) -> None:
        self._record(_effect(self._entry, now, duration_ms, output_hash))


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


def _decision_form(entry: AuditEntry) -> bytes:
    sample = msgspec.structs.replace(entry, created_at=_TIME, request_id=_REQUEST, input_hash=_INPUT)
    return DECISION + b"%b " + _opened(entry_json(sample))


def _call_form(entry: AuditEntry) -> bytes:
    sample = msgspec.structs.replace(
        entry, kind="call", created_at=_TIME, request_id=_REQUEST, input_hash=_INPUT, output_hash=_OUTPUT,
        duration_ms=_TAKEN, success=True,
    )  # fmt: skip
    return CALL + b"%b %r " + _opened(entry_json(sample))


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
