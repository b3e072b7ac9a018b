"""One chain for all writers; nothing comes in twice, and nothing is left out."""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.audit.trail import AuditTrail
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import audit as module
from awf.infrastructure.audit_store.joining import join
from awf.infrastructure.audit_store.spill import line_of

pytestmark = pytest.mark.anyio


def told(kind, request="", **more):
    return AuditEntry(kind=kind, created_at=1.5, request_id=request, **more)


def kinds(entries):
    return [(one.kind, one.request_id) for one in entries]


def test_a_decision_and_its_effect_become_one_where_the_effect_stands():
    first, other, effect = (
        told("decision", "r", decision="allow"),
        told("spooled"),
        told("effect", "r", success=True),
    )
    assert kinds(join([first, other, effect])) == [("spooled", ""), ("call", "r")]


def test_both_halves_are_in_the_whole():
    decision = told(
        "decision", "r", tool_id="t", decision="allow", rule="x", label_before="a", details={"a": 1}
    )
    effect = told(
        "effect", "r", tool_id="t", client="c", success=False, error="E", duration_ms=4, output_hash="o",
        label_after="b", details={"b": 2},
    )  # fmt: skip
    (whole,) = join([decision, effect])
    assert whole == told(
        "call", "r", tool_id="t", decision="allow", rule="x", label_before="a", client="c", success=False, error="E",
        duration_ms=4, output_hash="o", label_after="b", details={"a": 1, "b": 2},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("decision", "effect"),
    [
        ({"tool_id": "a"}, {"tool_id": "b"}),
        ({"details": {"k": 1}}, {"details": {"k": 2}}),
        ({"decision": "deny"}, {}),
        ({"success": False}, {}),
        ({"reason": "a"}, {"reason": "b"}),
    ],
)
def test_what_would_lose_something_stays_apart(decision, effect):
    both = [told("decision", "r", **decision), told("effect", "r", **effect)]
    assert kinds(join(both)) == [("decision", "r"), ("effect", "r")]


def test_halves_without_each_other_or_without_a_name_stay_as_they_are():
    entries = [told("effect", "a"), told("decision", "b"), told("decision", ""), told("effect", "")]
    assert kinds(join(entries)) == [("effect", "a"), ("decision", "b"), ("decision", ""), ("effect", "")]


def test_of_two_decisions_with_one_name_the_later_one_has_the_effect():
    entries = [
        told("decision", "r", rule="1"),
        told("decision", "r", rule="2"),
        told("effect", "r", success=True),
    ]
    joined = join(entries)
    assert [(one.kind, one.rule) for one in joined] == [("decision", "1"), ("call", "2")]


@pytest.mark.race
async def test_many_logs_on_one_folder_make_one_chain(bench, call):
    logs = [bench.open() for _ in range(3)]
    for number in range(30):
        call(logs[number % 3], f"r{number}")
    records = await logs[0].records()
    assert [one.sequence for one in records] == list(range(1, len(records) + 1))
    for log in logs:
        assert len(await AuditTrail(log).drain()) == 30
    assert (await logs[1].verify()).is_sound


async def test_a_reader_sees_what_a_living_writer_has_recorded(bench, told, monkeypatch):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    writer, reader = bench.open(), bench.open()
    for number in range(3):
        writer.record(told(reason=str(number)))
        assert len(await reader.records()) == number + 1
    assert len(bench.spills()) == 1


async def test_a_merge_that_fails_leaves_nothing_and_the_next_one_brings_all(bench, call, monkeypatch):
    log = bench.open()
    call(log, "r1")

    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(log, "_finish", fail)
        assert not log._merged_quietly()
        with bench.sql() as connection:
            assert connection.execute("SELECT count(*) FROM records").fetchone() == (0,)
    assert len(await log.records()) == 1
    assert (await log.verify()).is_sound


async def test_a_call_whose_process_ends_before_its_effect_is_told_to_be_unknown(bench, told):
    log = bench.open()
    log.record(told("decision", request_id="r1", tool_id="kb:get", decision="allow"))
    (open_one,) = await AuditTrail(log).events()
    assert (open_one.outcome, open_one.success) == ("open", None)
    await log.close()
    (event,) = await AuditTrail(bench.open()).drain()
    assert (event.outcome, event.success, event.tool_id, event.decision) == (
        "unknown",
        None,
        "kb:get",
        "allow",
    )
    report = await bench.open().verify()
    assert (report.is_sound, report.records) == (True, 2)


async def test_an_open_call_of_a_living_process_stays_open_when_another_one_ends(bench, told):
    one, other = bench.open(), bench.open()
    one.record(told("decision", request_id="r1", decision="allow"))
    other.record(told("decision", request_id="r1", decision="allow"))
    assert len(await one.open_calls()) == 2
    await other.close()
    assert len(await one.open_calls()) == 1
    one.record(told("effect", request_id="r1", success=True))
    outcomes = [event.outcome for event in await AuditTrail(one).events()]
    assert sorted(outcomes) == ["success", "unknown"]


async def test_a_damaged_line_is_told_in_the_chain(bench, told, monkeypatch):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    log = bench.open()
    log.record(told(reason="one"))
    log.record(told(reason="two"))
    file = bench.folder / bench.spills()[0]
    lines = file.read_bytes().rstrip(b"\0").replace(b'"one"', b'"uno"') + line_of(b'{"kind":"nonsense"}')
    with file.open("r+b") as handle:
        handle.write(lines)
    records = await bench.open().records()
    assert [one.entry.kind for one in records] == ["audit_gap", "configuration", "audit_gap"]
    assert records[0].entry.details == {"cause": "damaged line", "spill": file.name}


async def test_a_removed_file_that_another_process_has_forgotten_is_not_merged_again(
    bench, told, monkeypatch
):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    writer, other = bench.open(), bench.open()
    writer.record(told(reason="one"))
    writer.merge()
    (name,) = bench.spills()
    (bench.folder / name).unlink()
    other.record(told(reason="two"))
    other.merge()
    assert [one.entry.reason for one in await writer.records()] == ["one", "two"]


async def test_what_others_have_merged_of_a_file_that_somebody_removed_does_not_come_in_again(
    bench, told, monkeypatch
):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    writer, other = bench.open(), bench.open()
    writer.record(told(reason="one"))
    assert len(await other.records()) == 1
    (name,) = bench.spills()
    (bench.folder / name).unlink()
    other.record(told(reason="two"))
    bench.open().merge()
    writer.record(told(reason="three"))  # in another file, since that one is gone
    assert [one.entry.reason for one in await writer.records()] == ["one", "two", "three"]
    assert (await writer.verify()).is_sound


def places(bench):
    with bench.sql() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM spills ORDER BY name")]


async def test_how_far_a_removed_file_was_merged_is_forgotten_when_its_writer_needs_it_no_more(
    bench, told, monkeypatch
):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    writer, other = bench.open(), bench.open()
    writer.record(told(reason="one"))
    other.merge()
    (bench.folder / bench.spills()[0]).unlink()
    other.merge()
    assert len(places(bench)) == 1
    writer.close_now()
    assert places(bench) == []


async def test_places_of_files_that_are_gone_do_not_grow_for_ever(bench, told):
    log = bench.open()
    left_over(bench, "one")
    with bench.sql() as connection:
        rows = [(f"{number:016x}-000001.spill", 5) for number in range(1000)]
        connection.executemany("INSERT INTO spills VALUES (?, ?)", rows)
    log.merge()
    assert 0 < len(places(bench)) < 500


LEFT = "0123456789abcdef-000001.spill"


def left_over(bench, *reasons):
    """A file of a process that has ended."""
    entries = [b'{"kind":"configuration","createdAt":2.5,"reason":"%b"}' % one.encode() for one in reasons]
    (bench.folder / LEFT).write_bytes(b"".join(map(line_of, entries)))


@pytest.mark.parametrize("place", ["nonsense", b"\xff", -5, 1.5, 1_000_000, 2**62])
async def test_where_nobody_knows_how_far_a_file_is_merged_it_is_merged_whole_and_that_is_told(bench, place):
    bench.open().close_now()
    left_over(bench, "one", "two")
    with bench.sql() as connection:
        connection.execute("INSERT INTO spills VALUES (?, ?)", (LEFT, place))
    log = bench.open()
    said = [(one.entry.kind, one.entry.reason) for one in await log.records()]
    assert said == [("audit_gap", ""), ("configuration", "one"), ("configuration", "two")]
    report = await log.verify()
    assert [(flaw.kind, flaw.sequence) for flaw in report.flaws] == [("database", 1)]
    assert LEFT in report.flaws[0].message
    assert bench.spills() == []


async def test_who_writes_a_file_knows_how_far_it_is_merged_whatever_is_noted(bench, told, monkeypatch):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    log = bench.open()
    log.record(told(reason="one"))
    log.merge()
    bench.alter("UPDATE spills SET merged = 'nonsense'")
    log.record(told(reason="two"))
    assert [one.entry.reason for one in await log.records()] == ["one", "", "two"]


def merge_few_times(log):
    """What goes on and on shows as a failure."""
    times = itertools.count()

    def finish(*_):
        assert next(times) < 5, "there is no end to it"

    log._merger.run(finish)


@pytest.mark.parametrize(("left", "again"), [(20, []), (0, []), (-1, ["one"])])
async def test_a_file_that_is_cut_when_its_writer_has_ended_is_told_once(bench, left, again):
    log = bench.open()
    left_over(bench, "one", "two")
    log.merge(thorough=False)
    file = bench.folder / LEFT
    os.truncate(file, left if left >= 0 else file.stat().st_size + left)
    merge_few_times(log)
    assert [one.entry.reason for one in await log.records()] == ["one", "two", "", *again]
    assert [(one.kind, one.sequence) for one in (await log.verify()).flaws] == [("database", 3)]
    assert bench.spills() == []


async def test_what_a_process_has_seen_merged_it_does_not_merge_again_whatever_is_noted(bench):
    log = bench.open()
    left_over(bench, "one", "two")
    log.merge(thorough=False)
    bench.alter("UPDATE spills SET merged = 'nonsense'")
    merge_few_times(log)
    assert [one.entry.reason for one in await log.records()] == ["one", "two", ""]


async def test_a_name_that_is_no_text_among_the_places_stops_nothing(bench):
    bench.open().close_now()
    left_over(bench, "one")
    with bench.sql() as connection:
        connection.execute("INSERT INTO spills VALUES (?, 3)", (b"\xff\xfe",))
    assert [one.entry.reason for one in await bench.open().records()] == ["one"]


LOOK = """
import asyncio, sys
from awf.infrastructure.audit_store import SqliteAudit
log = SqliteAudit(sys.argv[1])
report = asyncio.run(log.verify())
print(report.records, report.sound_until, *[flaw.message for flaw in report.flaws])
log.close_now()
"""


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "link to nowhere"])
async def test_what_is_called_like_a_spill_file_and_is_none_stops_nothing_and_is_told(bench, told, kind):
    log = bench.open()
    log.record(told(reason="one"))
    log.close_now()
    path = bench.folder / LEFT
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "link" else "nowhere")
    looked = subprocess.run(
        [sys.executable, "-c", LOOK, str(bench.folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )  # a pipe could keep it waiting
    assert looked.stdout.startswith(f"1 1 {path} is called like a spill file and is none"), looked.stderr
    log = bench.open()
    log.record(told(reason="two"))
    assert [one.entry.reason for one in await log.records()] == ["one", "two"]


async def test_files_that_are_not_ours_are_left_alone(bench, told):
    log = bench.open()
    for name in ("notes.txt", "abc.spill", "0123456789abcdef-000001.spill.part"):
        (bench.folder / name).write_text("mine", encoding="utf-8")
    log.record(told())
    await log.close()
    assert {one.name for one in bench.folder.iterdir()} >= {"notes.txt", "abc.spill"}


@given(
    st.lists(
        st.tuples(st.sampled_from(["decision", "effect", "spooled"]), st.sampled_from(["", "a", "b"])),
        max_size=12,
    )
)
def test_joining_loses_no_half_and_makes_none_up(given_entries):
    entries = [
        told(kind, request, success=True if kind == "effect" else None) for kind, request in given_entries
    ]
    joined = join(entries)
    halves = sum(2 if one.kind == "call" else 1 for one in joined)
    assert halves == len(given_entries)
    for request in ("a", "b"):
        before = sum(1 for kind, name in given_entries if name == request and kind != "spooled")
        after = sum(
            2 if one.kind == "call" else 1
            for one in joined
            if one.request_id == request and one.kind != "spooled"
        )
        assert before == after
