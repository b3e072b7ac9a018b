"""Lines of nothing but decisions, or calls, are read in one go: to the same end as record by record."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import entry_json
from awf.infrastructure.audit_store import spilled_records
from awf.infrastructure.audit_store.call_form import LineForm
from awf.infrastructure.audit_store.joining import Begun
from awf.infrastructure.audit_store.spill import line_of
from awf.infrastructure.audit_store.spilled_records import SpillForms, items_of

MOMENT = 1700000000.125
FORMS = [
    LineForm(number, AuditEntry(kind="decision", created_at=0.5, tool_id=f"kb:{number}", decision="allow"))
    for number in (1, 2)
]
UNKNOWN = LineForm(3, AuditEntry(kind="decision", created_at=0.5, decision="allow"))
SAID = [
    (form.decision(MOMENT, f"tool-{number}", digit * 64), form.call(form.decision(MOMENT, f"tool-{number}", digit * 64), MOMENT + 1, taken, "c" * 64))
    for form in (*FORMS, UNKNOWN)
    for number in (1, 2)
    for digit, taken in (("a", 0), ("b", 7))
]  # fmt: skip
RECORDS = st.sampled_from(
    [record for pair in SAID for record in pair]
    + ["a" + SAID[0][0][1:], "a" + SAID[1][0][1:], "", "d", "c", "d ", "xd 00000001 tool-1 1 ab"]
    + [f"{SAID[0][0]} more", SAID[0][0][:-1], SAID[0][1][:-1], f"x{SAID[0][1]}", f"{SAID[0][1]}\n"[:-1] + " ", SAID[0][1].upper()]
    + [entry_json(AuditEntry(kind="effect", created_at=1.0, request_id="tool-1", success=True)).decode()]
)  # fmt: skip


def items(lines):
    """What they are worth, in a form that can be compared."""
    defined = [form.definition() for form in FORMS]
    chunk = b"".join(line_of("\t".join(line).encode()) for line in [defined, *lines] if line)
    found = items_of(chunk, "0" * 16 + "-000001.spill", 5.0, SpillForms())
    return [
        ("begun", one.data) if isinstance(one, Begun) else one if isinstance(one, bytes) else entry_json(one)
        for one in found
    ]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=6), max_size=5))
@example([[SAID[0][0], SAID[1][0]], [SAID[0][1], SAID[1][1]]])  # one call, decided twice
@example([[SAID[0][0]], [SAID[1][1]]])  # the end of another one
@example([["a" + SAID[0][0][1:]], [SAID[0][1]]])
def test_a_line_of_many_records_says_what_they_say_one_by_one(lines):
    found = items(lines)
    with pytest.MonkeyPatch.context() as patched:
        for way in ("_take_calls", "_take_decisions"):
            patched.setattr(spilled_records._Reading, way, lambda *_: False)
        assert found == items(lines)


def test_calls_whose_decisions_are_at_hand_are_whole():
    firsts = SAID[0::2]  # one for each tool and request
    told = items([[decision for decision, _ in firsts[:2]], [call for _, call in firsts[:2]]])
    assert len(told) == 2
    assert all(b'"kind":"call"' in one and b'"success":true' in one for one in told)
