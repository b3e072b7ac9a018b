"""What is recorded of calls together, for those of one turn: the same as of each by itself."""

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
IDS = ["tool-1", "tool-2", "tool-3", "A.b:c-9"]
NUMBERS = st.lists(st.sampled_from(range(len(IDS))), min_size=1, max_size=4, unique=True)
TURNS = st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1]), NUMBERS), max_size=8)


def read(lines):
    """What they are worth, in a form that can be compared."""
    defined = [form.definition() for form in FORMS]
    chunk = b"".join(line_of("\t".join(line).encode()) for line in [defined, *lines] if line)
    found = items_of(chunk, "0" * 16 + "-000001.spill", 5.0, SpillForms())
    return [
        ("begun", one.data) if isinstance(one, Begun) else one if isinstance(one, bytes) else entry_json(one)
        for one in found
    ]


class Turn:
    """Decisions, or the ends of calls, of one form. What each call is like follows from its number."""

    def __init__(self, ends, form, numbers):
        self.ends, self.form = ends, FORMS[form]
        self.ids = [IDS[number] for number in numbers]
        self.given = [f"{number}a" * 32 for number in numbers]
        self.times = [number * 7 for number in numbers]
        self.outputs = [f"{number}b" * 32 for number in numbers]

    def together(self):
        if self.ends:
            return self.form.calls(MOMENT + 1, self.ids, self.times, self.outputs)
        return self.form.decisions(MOMENT, self.ids, self.given)

    def one_by_one(self):
        decisions = [self.form.decision(MOMENT, *one) for one in zip(self.ids, self.given, strict=True)]
        ended = zip(decisions, self.times, self.outputs, strict=True)
        return (
            [self.form.call(decision, MOMENT + 1, *rest) for decision, *rest in ended]
            if self.ends
            else decisions
        )


def decided_once(turns):
    """As a gateway does it: no id is used twice, and a call ends once at most."""
    begun, ended, kept = {}, set(), []
    for ends, form, numbers in turns:
        if ends:
            chosen = [one for one in numbers if begun.get(one, form) == form and one not in ended]
            ended.update(chosen)
        else:
            chosen = [one for one in numbers if one not in begun and one not in ended]
            begun.update(dict.fromkeys(chosen, form))
        if chosen:
            kept.append(Turn(ends, form, chosen))
    return kept


@settings(max_examples=300, deadline=None)
@given(TURNS, st.randoms(use_true_random=False))
@example([(False, 0, [0, 1]), (True, 0, [1, 0])], None)
def test_calls_recorded_together_say_what_each_says_by_itself(turns, chance):
    made = decided_once(turns)
    apart = read([turn.one_by_one() for turn in made])
    assert read([turn.together() for turn in made]) == apart
    if chance is not None:  # and where some are recorded so, some so
        mixed = [turn.together() if chance.random() < 0.5 else turn.one_by_one() for turn in made]
        assert read(mixed) == apart


def test_calls_whose_decisions_are_at_hand_are_whole():
    told = read([Turn(False, 0, [0, 1]).together(), Turn(True, 0, [1, 0]).together()])
    assert len(told) == 2
    assert all(b'"kind":"call"' in one and b'"success":true' in one for one in told)
    assert b"tool-2" in told[0]


def test_calls_of_one_turn_are_one_record():
    assert len(Turn(False, 0, [0, 1, 2, 3]).together()) == 1
    assert len(Turn(True, 0, [0, 1, 2, 3]).together()) == 1


ODD_IDS = ["a b", "a\tb", "a\nb", 'a"b', "ä", "", "a\\b"]


@pytest.mark.parametrize("odd", ODD_IDS)
@pytest.mark.parametrize("moment", [MOMENT, 5.25, 9e9])
def test_an_id_or_a_time_that_has_no_short_form_is_recorded_all_the_same(odd, moment):
    form = FORMS[0]
    ids, given, outputs = ["tool-1", odd], ["ab" * 32, "cd" * 32], ["ef" * 32, "01" * 32]
    lines = [form.decisions(moment, ids, given), form.calls(moment + 1, ids, [3, 4], outputs)]
    told = b"\n".join(one if isinstance(one, bytes) else b"" for one in read(lines))
    for one in (*given, *outputs):
        assert one.encode() in told


DAMAGED = [
    "D",
    "C 00000001",
    "D 00000001 1700000000125000",
    "D 00000001 1700000000125000 tool-1",
    "D 00000001 1700000000125000 tool-1 xyz",
    "D 00000001 1700000000125000  ab",
    "D 00000001 170000000012500x tool-1 ab",
    'D 00000001 1700000000125000 tool"1 ab',
    "D 00000001 1700000000125000 tool-1 ab tool-1 cd",
    "D 00000003 1700000000125000 tool-1 ab",
    "C 00000001 1700000000125000 tool-1 1",
    "C 00000001 1700000000125000 tool-1 1 ab tool-2",
    "C 00000001 1700000000125000 tool-1 1.5 ab",
    "C 00000001 1700000000125000 tool-1 1 ab ",
    "C 00000001 17000000001250000 tool-1 1 ab",
    "C 00000003 1700000000125000 tool-1 1 ab",
    *UNKNOWN.decisions(MOMENT, ["tool-1"], ["ab"]),
]


@pytest.mark.parametrize("damaged", DAMAGED)
def test_what_nobody_of_us_wrote_is_told_and_harms_no_other(damaged):
    before, after = Turn(False, 0, [2]), Turn(True, 0, [2])
    told = read([before.together(), [damaged], after.together()])
    assert len(told) == 2
    assert b'"kind":"audit_gap"' in told[0]
    assert b'"kind":"call"' in told[1]


def test_a_second_decision_of_a_call_is_told():
    told = read([Turn(False, 0, [0]).together(), Turn(False, 0, [1, 0]).together()])
    assert [b"audit_gap" in bytes(one) for one in told if isinstance(one, bytes)] == [True]


def test_several_records_in_one_line_are_taken_one_by_one():
    """As an older version left them."""
    decisions, ends = Turn(False, 0, [0, 1]).one_by_one(), Turn(True, 0, [0, 1]).one_by_one()
    assert read([decisions, ends]) == read([*([one] for one in decisions), *([one] for one in ends)])


# -- a call by itself ----------------------------------------------------------------------------------------------------

SAID = [
    (f"d {form.id} tool-{number} 1700000000125000 {digit * 64}", f" 1700000001125000 {taken} {'c' * 64}")
    for form in (*FORMS, UNKNOWN)
    for number in (1, 2)
    for digit, taken in (("a", 0), ("b", 7))
]
LINES = st.sampled_from(
    [[line] for begun, rest in SAID for line in (begun, "a" + begun[1:], "c" + begun[1:] + rest)]
    + [["d"], ["a"], ["c"], [""], [SAID[0][0], "a" + SAID[0][0][1:]], [SAID[0][0] + " 1700000001125000"]]
    + [[SAID[0][0][:-1]], ["c" + SAID[0][0][1:]], ["c" + SAID[0][0][1:] + SAID[0][1] + " "], [SAID[0][0].upper()]]
    + [[entry_json(AuditEntry(kind="effect", created_at=1.0, request_id="tool-1", success=True)).decode()]]
)  # fmt: skip
CALLS = st.sampled_from(SAID).map(
    lambda said: [[said[0]], ["a" + said[0][1:]], ["c" + said[0][1:] + said[1]]]
)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(LINES.map(lambda line: [line]) | CALLS, max_size=8).map(
        lambda some: [line for one in some for line in one]
    )
)
@example(
    [
        [SAID[0][0] + " 1700000001125000"],
        ["a" + SAID[0][0][1:] + " 1700000001125000"],
        ["c" + SAID[0][0][1:] + SAID[0][1]],
    ]
)
@example([[SAID[0][0]], ["a" + SAID[0][0][1:]], ["c" + SAID[0][0][1:] + SAID[0][1]]] * 2)
def test_a_call_that_is_read_whole_says_what_its_three_lines_say(lines):
    found = read(lines)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spilled_records._Reading, "_is_taken_whole", lambda *_: False)
        assert found == read(lines)


def test_a_call_by_itself_is_read_whole(monkeypatch):
    begun, rest = SAID[0]
    monkeypatch.setattr(spilled_records._Reading, "take", None)
    defined = SpillForms()
    defined.learn(FORMS[0].id.encode(), FORMS[0].definition()[11:].encode())
    chunk = b"".join(line_of(line.encode()) for line in (begun, "a" + begun[1:], "c" + begun[1:] + rest))
    [found] = items_of(chunk, "0" * 16 + "-000001.spill", 5.0, defined)
    assert b'"kind":"call"' in found
