"""What every audit log must promise. One suite; each adapter of the port is held to it."""

from __future__ import annotations

import math
import os
import sys

import pytest

from awf.application.audit.trail import AuditTrail
from awf.bootstrap.audits import AuditServer
from awf.domain.audit import AuditEntry, AuditFilter, AuditUnavailable
from awf.domain.audit_chain import GENESIS, entry_json, record_hash
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import SqliteAudit
from awf.infrastructure.audit_store.aside import aside_command
from awf.infrastructure.audit_store.postgres import PostgresAudit
from awf.testing.memory_audit import MemoryAudit

pytestmark = pytest.mark.anyio


def opened(kind, request, folder):
    if kind == "memory":
        return MemoryAudit()
    if kind == "sqlite":
        return SqliteAudit(str(folder))
    if kind == "sqlite aside":
        return with_process(folder)
    server = AuditServer(request.getfixturevalue("database_url"))
    return PostgresAudit(server, str(folder), key_file=str(folder / "signing.key"))


def with_process(folder):
    """It is there already and merges at once, so that it gets to do something before a test looks."""
    hurried = "from awf.infrastructure.audit_store import aside_worker as it; it._SOON_SECONDS = 0; it.main()"
    command = aside_command(os.environ)._replace(argv=(sys.executable, "-c", hurried))
    made = SqliteAudit(str(folder), aside=command)
    assert made._aside.merged([], Audit()) is not None
    return made


@pytest.fixture(params=["memory", "sqlite", "sqlite aside", "postgres"])
async def log(request, tmp_path):
    made = opened(request.param, request, tmp_path / "audit")
    yield made
    await made.close()


@pytest.fixture(params=["memory", "sqlite"])
async def immediate(request, tmp_path):
    """Only these have forms."""
    made = opened(request.param, request, tmp_path / "audit")
    yield made
    await made.close()


def told(kind="configuration", moment=1000.25, **more):
    return AuditEntry(kind=kind, created_at=moment, **more)


def call(log, request, *, tool="kb:get", success=True, **more):
    log.record(told("decision", request_id=request, tool_id=tool, decision="allow", **more))
    log.record(told("effect", request_id=request, success=success, duration_ms=3, output_hash="0f" * 32))


async def test_records_are_numbered_without_gaps_and_each_names_the_one_before(log):
    for number in range(5):
        pending = log.record(told(reason=str(number)))
        assert (pending is None) is log.is_immediate
        if pending is not None:
            await pending
    records = await log.records()
    assert [one.sequence for one in records] == [1, 2, 3, 4, 5]
    assert [one.entry.reason for one in records] == list("01234")
    previous = GENESIS
    for one in records:
        assert one.previous == previous
        assert one.hash == record_hash(one.sequence, previous, entry_json(one.entry))
        previous = one.hash


async def test_what_has_to_be_waited_for_is_in_the_chain_then(log):
    entries = [told(reason=str(number)) for number in range(300)]
    pending = [log.record(entry) for entry in entries]
    for one in pending:
        if one is not None:
            await one
    records = await log.records()
    assert [(one.sequence, one.entry.reason) for one in records] == [(n + 1, str(n)) for n in range(300)]


async def test_a_name_with_a_zero_byte_hides_no_record(log):
    log.record(told("spooled", tool_id="a\0b", context="c", reason="odd"))
    log.record(told("spooled", tool_id="kb:get", reason="plain"))
    assert len(await log.records(where=AuditFilter(kinds=("spooled",)))) == 2
    found = await log.records(where=AuditFilter(tool="kb:*"))
    assert [one.entry.reason for one in found] == ["plain"]
    found = await log.records(where=AuditFilter(context="c"))
    assert [one.entry.reason for one in found] == ["odd"]


async def test_an_empty_log_is_sound_and_says_nothing(log):
    assert await log.records() == []
    assert await log.open_calls() == frozenset()
    report = await log.verify()
    assert (report.is_sound, report.records, report.sound_until) == (True, 0, 0)


async def test_every_field_comes_back(log):
    entry = told(
        "grant_added",
        1700000000.123456,
        request_id="r1",
        tool_id="größe:😀",
        context="c",
        client="an agent",
        door="gateway",
        grant_ids=("g1", "g2"),
        input_hash="ab" * 32,
        output_hash="cd" * 32,
        decision="allow",
        reason='a "reason"\n',
        rule="r",
        risk=("delete",),
        shadowed="deny",
        label_before="public/trusted",
        label_after="secret/untrusted",
        success=True,
        error="TIMEOUT",
        duration_ms=7,
        trace_id="t",
        details={"b": [1, 2.5, None, True, {"é": "\u2028"}], "a": {}},
    )
    log.record(entry)
    (record,) = await log.records()
    assert record.entry == entry


async def test_what_becomes_of_an_entry_after_it_was_recorded_changes_nothing(log):
    entry = told(details={"a": [1]})
    log.record(entry)
    entry.reason = "other"
    entry.details["a"].append(2)
    (record,) = await log.records()
    assert (record.entry.reason, record.entry.details) == ("", {"a": [1]})


ODD = {
    "half characters": told(tool_id="kb:\ud800", reason="\udfff", grant_ids=("\ud800",)),
    "numbers": told(
        details={"big": 2**70, "nan": math.nan, "inf": [math.inf], "edge": 2.0**60, "n": -0.0, "i": 3.0}
    ),
    "the taken name": told(details={"$awf": {"$awf": ["integer", "0x1"]}}),
    "no JSON": told(details={"bytes": b"\x00", "set": {1}, "object": object(), 1: 2}),
    "a time that is none": told(moment=math.nan),
    "a round time": told(moment=5.0),
    "a time far away": told(moment=1e300),
}


@pytest.mark.parametrize("entry", ODD.values(), ids=ODD.keys())
async def test_odd_entries_are_recorded_and_the_chain_stays_sound(log, entry):
    log.record(entry)
    log.record(told(reason="next"))
    records = await log.records()
    assert [(one.sequence, one.entry.kind) for one in records] == [(1, "configuration"), (2, "configuration")]
    assert records[0].hash == record_hash(1, GENESIS, entry_json(records[0].entry))
    assert (await log.verify()).is_sound


async def test_details_of_any_depth_are_recorded_in_part(log):
    deep = inner = {}
    for _ in range(10_000):
        inner["a"] = {}
        inner = inner["a"]
    log.record(told(details=deep))
    (record,) = await log.records()
    assert "omitted" in str(record.entry.details)
    assert (await log.verify()).is_sound
    while deep:
        deep = deep.pop("a")


async def test_pages_go_forward_and_backward(log):
    for number in range(10):
        log.record(told(reason=str(number)))

    async def numbers(**asked):
        return [one.sequence for one in await log.records(**asked)]

    assert await numbers(after=3, limit=4) == [4, 5, 6, 7]
    assert await numbers(after=8) == [9, 10]
    assert await numbers(newest_first=True, limit=3) == [10, 9, 8]
    assert await numbers(newest_first=True, before=8, limit=3) == [7, 6, 5]
    assert await numbers(newest_first=True, before=3, after=1) == [2]
    assert await numbers(after=10) == []


FILTERS = [
    (AuditFilter(tool="kb:*"), "ac"),
    (AuditFilter(tool="kb:get"), "a"),
    (AuditFilter(context="two"), "bc"),
    (AuditFilter(kinds=("spooled",)), "b"),
    (AuditFilter(kinds=("spooled", "configuration")), "bd"),
    (AuditFilter(request_id="x"), "c"),
    (AuditFilter(since=20), "bcd"),
    (AuditFilter(until=20), "a"),
    (AuditFilter(since=20, until=40, context="two"), "bc"),
    (AuditFilter(tool="none"), ""),
    (AuditFilter(tool="none", since=20, every_effect=True), "e"),
    (AuditFilter(kinds=("spooled", "effect"), context="two", every_effect=True), "be"),
    (AuditFilter(kinds=("spooled",), context="two", every_effect=True), "b"),
]


@pytest.mark.parametrize(("where", "expected"), FILTERS)
async def test_filters_choose_records(log, where, expected):
    log.record(told("grant_added", 10.5, reason="a", tool_id="kb:get", context="one"))
    log.record(told("spooled", 20.5, reason="b", context="two"))
    log.record(told("level_raised", 30.5, reason="c", tool_id="kb:put", context="two", request_id="x"))
    log.record(told("configuration", 40.5, reason="d"))
    if where.every_effect:
        log.record(told("effect", 5.5, reason="e"))
    assert "".join(one.entry.reason for one in await log.records(where=where)) == expected


async def test_a_call_is_one_event_however_it_is_kept(log):
    call(log, "r1")
    log.record(told("decision", request_id="r2", tool_id="kb:put", decision="allow", input_hash="ab" * 32))
    trail = AuditTrail(log)
    assert [(one.request_id, one.outcome, one.success) for one in await trail.events()] == [
        ("r1", "success", True),
        ("r2", "open", None),
    ]
    assert [one.request_id for one in await trail.drain()] == ["r1"]
    log.record(told("effect", request_id="r2", success=False, error="EXECUTION_FAILED", duration_ms=9))
    events = await trail.events()
    assert [(one.request_id, one.outcome) for one in events] == [("r1", "success"), ("r2", "failure")]
    assert (events[1].tool_id, events[1].input_hash, events[1].error) == (
        "kb:put",
        "ab" * 32,
        "EXECUTION_FAILED",
    )
    assert await log.open_calls() == frozenset()
    drained = await trail.drain(after=events[0].sequence)
    assert drained == [events[1]]
    assert await trail.drain(after=events[1].sequence) == []


async def test_a_denial_is_an_event_by_itself(log):
    log.record(told("decision", request_id="r1", tool_id="no:such", decision="deny", reason="unknown tool"))
    (event,) = await AuditTrail(log).drain()
    assert (event.success, event.outcome, event.decision, event.reason) == (
        False,
        "denied",
        "deny",
        "unknown tool",
    )
    assert await log.open_calls() == frozenset()


async def test_what_was_recorded_is_sound(log):
    for number in range(20):
        call(log, f"r{number}")
    report = await log.verify()
    assert report.is_sound
    assert report.sound_until == report.records
    assert report.head == (await log.records(newest_first=True, limit=1))[0].hash


async def test_a_log_in_memory_can_be_told_to_refuse():
    log = MemoryAudit()
    log.refusal = "full"
    with pytest.raises(AuditUnavailable, match="full"):
        log.record(told())
    assert await log.records() == []


class Begun:
    """A call of a form, whose decision is recorded."""

    def __init__(self, log, form, now, request_id, input_hash):
        self.log, self.form, self.decision = log, form, form.decision(now, request_id, input_hash)
        log.add([self.decision])

    def ended(self, now, duration_ms, output_hash):
        self.log.add([self.form.call(self.decision, now, duration_ms, output_hash)])


def decided(**more):
    fields = {"tool_id": "kb:100%", "context": "c", "client": 'a "client" ü😀', "door": "gateway"}
    fields |= {"grant_ids": ("g1",), "decision": "allow", "rule": "%b\n", "reason": '"requestId":"request"'}
    return told("decision", 0.5, **fields, label_before="public/trusted", risk=("delete",), **more)


def effect(moment, request, taken):
    fields = {"tool_id": "kb:100%", "context": "c", "output_hash": "cd" * 32, "success": True}
    return told("effect", moment, request_id=request, duration_ms=taken, **fields)


@pytest.mark.parametrize("request_id", ["tool-1f", "ein Wort", '"', "ü", "a\nb"])
@pytest.mark.parametrize("moment", [1700000000.123456, 1700000000.0, 0.0, 1e16, math.nan])
@pytest.mark.parametrize("taken", [0, 3])
async def test_a_form_records_what_entries_of_their_own_record(immediate, request_id, moment, taken):
    begun = Begun(immediate, immediate.form(decided()), moment, request_id, "ab" * 32)
    immediate.record(told("spooled"))
    begun.ended(moment + 0.25, taken, "cd" * 32)
    by_form = [one.entry for one in await immediate.records()]
    other = type(immediate)() if isinstance(immediate, MemoryAudit) else SqliteAudit(f"{immediate.folder}-2")
    expected = decided(input_hash="ab" * 32)
    expected.created_at, expected.request_id = moment, request_id
    for entry in (expected, told("spooled"), effect(moment + 0.25, request_id, taken)):
        other.record(entry)
    assert by_form == [one.entry for one in await other.records()]
    assert [one.hash for one in await immediate.records()] == [one.hash for one in await other.records()]
    assert (await immediate.verify()).is_sound
    await other.close()


@pytest.mark.parametrize("request_id", ["tool-1f", "a.b:c", "ein Wort", "ü", ""])
@pytest.mark.parametrize("moment", [1700000000.123456, 0.0, 1e16, math.nan])
async def test_what_is_ready_is_recorded_like_any_other(immediate, request_id, moment):
    form = immediate.form(decided())
    made = form.ready(moment, request_id, "ab" * 32)
    assert made.said == form.decision(moment, request_id, "ab" * 32)
    immediate.add_ready(made)
    immediate.add_ready(form.ready(1700000000.5, "tool-2", "ab" * 32))
    expected = decided(input_hash="ab" * 32)
    expected.created_at, expected.request_id = moment, request_id
    first, second = [one.entry for one in await immediate.records()]
    assert entry_json(first) == entry_json(expected)
    assert (second.kind, second.request_id) == ("decision", "tool-2")
    assert (await immediate.verify()).is_sound


@pytest.mark.parametrize("moment", [0.0, 5.5, -1.5, 1e16, math.nan])
async def test_an_end_at_an_odd_time_is_recorded_like_any_other(immediate, moment):
    begun = Begun(immediate, immediate.form(decided()), 1700000000.5, "tool-1", "ab" * 32)
    begun.ended(moment, 3, "cd" * 32)
    other = type(immediate)() if isinstance(immediate, MemoryAudit) else SqliteAudit(f"{immediate.folder}-2")
    expected = decided(input_hash="ab" * 32)
    expected.created_at, expected.request_id = 1700000000.5, "tool-1"
    for entry in (expected, effect(moment, "tool-1", 3)):
        other.record(entry)
    assert [one.hash for one in await immediate.records()] == [one.hash for one in await other.records()]
    assert await immediate.open_calls() == frozenset()
    assert (await immediate.verify()).is_sound
    await other.close()


async def test_a_call_of_a_form_is_open_until_it_ended(immediate):
    begun = Begun(immediate, immediate.form(decided()), 5.25, "tool-1", "ab" * 32)
    assert await immediate.open_calls() == {1}
    begun.ended(6.5, 1250, "cd" * 32)
    records = await immediate.records()
    assert [one.entry.kind for one in records] == ["decision", "effect"]
    assert records[1].entry == effect_following(1)
    assert await immediate.open_calls() == frozenset()
    assert (await immediate.verify()).is_sound


def effect_following(number):
    entry = effect(6.5, "tool-1", 1250)
    entry.follows = number
    return entry


@pytest.mark.parametrize("by_form", ["decision", "effect"])
async def test_one_half_by_a_form_and_the_other_by_itself_are_one_call(immediate, by_form):
    begun = Begun(immediate, immediate.form(decided()), 5.25, "tool-1", "ab" * 32)
    if by_form == "decision":
        immediate.record(told("effect", 6.5, request_id="tool-1", success=False, error="TIMEOUT"))
    else:
        again = decided(input_hash="ab" * 32, request_id="tool-1")
        immediate.record(again)  # the later one is the one that counts
        begun.ended(6.5, 1250, "cd" * 32)
    *_, last = await immediate.records()
    assert last.entry.success is (by_form == "effect")
    assert (await immediate.verify()).is_sound


async def test_a_form_of_a_log_that_is_out_of_reach_says_so(immediate):
    form = immediate.form(decided())
    begun = Begun(immediate, form, 5.25, "tool-1", "ab" * 32)
    if isinstance(immediate, MemoryAudit):
        immediate.refusal = "full"
    else:
        await immediate.close()
    with pytest.raises(AuditUnavailable):
        Begun(immediate, form, 5.25, "tool-2", "ab" * 32)
    with pytest.raises(AuditUnavailable):
        begun.ended(6.5, 1, "cd" * 32)
