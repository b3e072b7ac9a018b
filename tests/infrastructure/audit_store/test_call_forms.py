"""What calls share is written once for each spill file, and every file can be read by itself."""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.audit.trail import AuditTrail
from awf.domain.audit import AuditEntry, AuditUnavailable
from awf.infrastructure.audit_store import SqliteAudit
from awf.infrastructure.audit_store import audit as module
from awf.infrastructure.audit_store.spill import line_of, lines_in, whole_lines

pytestmark = pytest.mark.anyio

GIVEN, OUTPUT = "ab" * 32, "cd" * 32
MOMENT = 1700000000.125


def decided(tool="kb:get", **more):
    return AuditEntry(kind="decision", created_at=0.5, tool_id=tool, context="c", decision="allow", **more)


def by_itself(tool, request, moment=MOMENT):
    decision = decided(tool, input_hash=GIVEN, request_id=request)
    decision.created_at = moment
    effect = AuditEntry(
        kind="effect", created_at=moment + 1, request_id=request, tool_id=tool, context="c", output_hash=OUTPUT,
        success=True, duration_ms=3,
    )  # fmt: skip
    return decision, effect


class Call:
    def __init__(self, form, request, moment=MOMENT):
        self.decision = form.decision(moment, request, GIVEN)
        self.end = form.call(self.decision, moment + 1, 3, OUTPUT)


@pytest.fixture
def unmerged(bench, monkeypatch):
    """A log whose thread never comes to merge."""
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    return bench.open()


def pieces(file):
    return [one for line in lines_in(whole_lines(file.read_bytes())) for one in line.split(b"\t")]


def defined_and_named(file):
    """The forms that a file defines. Whatever it names, it has defined before, and nothing twice."""
    defined = []
    for one in pieces(file):
        if one[:2] == b"f ":
            assert one[2:10] not in defined, "defined twice"
            defined.append(one[2:10])
        elif one[:2] in (b"d ", b"c "):
            assert one[2:10] in defined, "named before it is defined"
    return defined


def files(bench):
    return [bench.folder / name for name in bench.spills()]


async def seen(log):
    return [(one.entry.kind, one.entry.request_id, one.entry.tool_id) for one in await log.records()]


# -- writing ---------------------------------------------------------------------------------------------------------


async def test_a_form_is_defined_once_in_a_file_before_the_first_call_of_it(unmerged, bench):
    forms = [unmerged.form(decided(f"t{number}")) for number in range(2)]
    calls = [Call(forms[number % 2], f"r{number}") for number in range(6)]
    unmerged.add([call.decision for call in calls])
    unmerged.add([call.end for call in calls])
    (file,) = files(bench)
    assert len(defined_and_named(file)) == 2
    assert await seen(unmerged) == [("call", f"r{number}", f"t{number % 2}") for number in range(6)]


async def test_a_call_whose_decision_is_in_the_file_before_is_defined_anew(unmerged, bench, told):
    form = unmerged.form(decided())
    call = Call(form, "r1")
    unmerged.add([call.decision])
    unmerged.record(told(reason="x" * (1024 * 256 - 200)))
    for _ in range(4):  # until it is full
        unmerged.record(told(reason="x" * (1024 * 256 - 200)))
    unmerged.add([call.end])
    before, after = files(bench)
    assert len(defined_and_named(before)) == len(defined_and_named(after)) == 1
    records = [one for one in await unmerged.records() if one.entry.request_id]
    assert [(one.entry.kind, one.entry.follows) for one in records] == [("decision", 0), ("effect", 1)]
    assert records[1].entry.output_hash == OUTPUT
    assert await unmerged.open_calls() == frozenset()
    assert (await unmerged.verify()).is_sound


async def test_what_was_refused_defines_nothing(bench, monkeypatch):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    log = bench.open(spill_limit=1000)
    forms = [log.form(decided(f"t{number}")) for number in range(20)]
    refused = []
    for number, form in enumerate(forms):
        try:
            log.add([Call(form, f"r{number}").decision])
        except AuditUnavailable:
            refused.append(number)
    assert 0 < len(refused) < 20
    log.merge()
    log.add([Call(forms[number], f"again{number}").decision for number in refused[:2]])
    for file in files(bench):
        defined_and_named(file)
    found = await seen(log)
    assert found[-2:] == [("decision", f"again{number}", f"t{number}") for number in refused[:2]]
    assert "audit_gap" not in [kind for kind, *_ in found]


async def test_a_disk_that_was_full_when_a_file_was_to_be_begun_leaves_no_form_undefined(
    unmerged, bench, monkeypatch
):
    monkeypatch.setattr(module, "_ROOMS", (2048,))
    forms = [unmerged.form(decided(f"t{number}")) for number in range(3)]
    kept = 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    unmerged.add([Call(forms[0], "r0").decision])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # what a full disk does, without filling one
    try:
        with pytest.raises(AuditUnavailable):
            while kept < 100:
                kept += 1
                unmerged.add([Call(forms[kept % 3], f"r{kept}").decision])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for number, form in enumerate(forms):
        unmerged.add([Call(form, f"again{number}").decision])
    assert [len(defined_and_named(file)) for file in files(bench)] == [3, 3]
    assert [request for _, request, _ in await seen(unmerged)] == [
        *(f"r{number}" for number in range(kept)), "again0", "again1", "again2",
    ]  # fmt: skip


async def test_nothing_of_a_batch_is_recorded_when_it_is_refused(unmerged, bench):
    form = unmerged.form(decided())
    calls = [Call(form, f"r{number}") for number in range(4)]
    odd = [Call(form, "ü" * 120_000) for _ in range(5)]
    with pytest.raises(AuditUnavailable, match="too long"):
        unmerged.add([one.decision for one in (*calls, *odd)])
    assert await unmerged.records() == []
    unmerged.add([calls[0].decision])
    assert await seen(unmerged) == [("decision", "r0", "kb:get")]


async def test_nothing_to_record_records_nothing(unmerged):
    unmerged.add(())
    assert await unmerged.records() == []


async def test_what_a_form_that_is_gone_has_made_is_recorded_or_refused_but_never_taken_and_lost(unmerged):
    call = Call(unmerged.form(decided()), "r1")
    gc.collect()
    try:
        unmerged.add([call.decision])
    except AuditUnavailable:
        assert await unmerged.records() == []
    else:
        assert await seen(unmerged) == [("decision", "r1", "kb:get")]


async def test_a_form_that_is_gone_leaves_what_was_recorded_with_it(unmerged):
    form = unmerged.form(decided("old"))
    call = Call(form, "r1")
    unmerged.add([call.decision])
    del form
    gc.collect()
    other = unmerged.form(decided("new"))
    unmerged.add([Call(other, "r2").decision, call.end])
    assert await seen(unmerged) == [("decision", "r2", "new"), ("call", "r1", "old")]


async def test_a_thousand_forms_are_told_apart(unmerged, bench):
    forms = [unmerged.form(decided(f"t{number}")) for number in range(1000)]
    calls = [Call(form, f"r{number}") for number, form in enumerate(forms)]
    for start in range(0, 1000, 50):
        unmerged.add([call.decision for call in calls[start : start + 50]])
    unmerged.add([call.end for call in calls])
    assert sum(len(defined_and_named(file)) for file in files(bench)) >= 1000
    assert await seen(unmerged) == [("call", f"r{number}", f"t{number}") for number in range(1000)]
    assert (await unmerged.verify()).is_sound


@pytest.mark.parametrize(
    "tool", ["kb:100%", "%b%s%%", "a\tb\nc", '"createdAt":1794.0625', "ü😀", "\ud800", ""]
)
async def test_names_of_any_kind_come_back_as_if_they_were_recorded_by_themselves(bench, unmerged, tool):
    form = unmerged.form(decided(tool))
    call = Call(form, "r1")
    unmerged.add([call.decision])
    unmerged.add([call.end])
    other = bench.open(folder=bench.folder.parent / "other")
    for entry in by_itself(tool, "r1"):
        other.record(entry)
    assert [one.hash for one in await unmerged.records()] == [one.hash for one in await other.records()]


REQUESTS = st.sampled_from(
    ["tool-1", "a.b:c_d", "two words", "tab\there", "\n", '"', "\\", "ü", "\ud800", "d", "c"]
)
MOMENTS = st.sampled_from([MOMENT, 1700000000.0, 0.0, 1e-5, 1e16, -1.5])


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from(["t1", "t2", "t%"]), REQUESTS, MOMENTS),
        max_size=6,
        unique_by=lambda one: one[1],
    ),
    st.integers(0, 6),
)
def test_a_batch_of_plain_and_odd_calls_records_what_entries_of_their_own_record(calls, ended):
    with tempfile.TemporaryDirectory() as folder:
        one, other = SqliteAudit(f"{folder}/one"), SqliteAudit(f"{folder}/other")
        forms = {tool: one.form(decided(tool)) for tool, *_ in calls}
        made = [Call(forms[tool], request, moment) for tool, request, moment in calls]
        singly = [by_itself(tool, request, moment) for tool, request, moment in calls]
        for batch in ([call.decision for call in made], [call.end for call in made[:ended]]):
            if batch:
                one.add(batch)
        for entry in (*(decision for decision, _ in singly), *(effect for _, effect in singly[:ended])):
            other.record(entry)
        try:
            assert rows(one) == rows(other)
        finally:
            one.close_now()
            other.close_now()


def rows(log):
    log.merge()
    return log.looked(lambda connection: connection.execute("SELECT entry FROM records").fetchall())


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "add", "long", "merge", "forget", "remove"]), st.integers(0, 5)
        ),
        max_size=30,
    )
)
def test_whatever_happens_between_calls_no_file_names_a_form_that_it_does_not_define(steps):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_ROOMS", (1500,))
        patched.setattr(module.SqliteAudit, "_awake", lambda self: None)
        log = SqliteAudit(folder, spill_limit=4000)
        forms, kept = {}, []
        for number, (what, which) in enumerate(steps):
            if what == "merge":
                log.merge()
            elif what == "forget":
                forms.pop(which, None)
            elif what == "remove" and log._spill is not None:
                Path(folder, log._spill.name).unlink(missing_ok=True)
            elif what in ("add", "long"):
                form = forms.setdefault(which, None) or log.form(decided(f"t{which}"))
                forms[which] = form
                request = f"r{number}" + ("-" * 900 if what == "long" else "")
                try:
                    log.add([Call(form, request).decision])
                except AuditUnavailable:
                    continue
                kept.append(request)
        log.merge()
        found = log.looked(
            lambda connection: connection.execute(
                "SELECT json_extract(entry, '$.kind'), json_extract(entry, '$.requestId') FROM records ORDER BY sequence"
            ).fetchall()
        )
        log.close_now()
    assert [(bytes(kind).decode(), bytes(request or b"").decode()) for kind, request in found] == [
        ("decision", request) for request in kept
    ]


# -- merging ---------------------------------------------------------------------------------------------------------


async def test_who_merges_the_rest_of_a_file_finds_the_forms_in_what_another_has_merged(unmerged, bench):
    forms = [unmerged.form(decided(f"t{number}")) for number in range(2)]
    first, second = Call(forms[0], "r0"), Call(forms[1], "r1")
    unmerged.add([first.decision])
    unmerged.merge()
    unmerged.add([second.decision, first.end])
    other = bench.open()
    assert await seen(other) == [("decision", "r0", "t0"), ("decision", "r1", "t1"), ("effect", "r0", "t0")]
    unmerged.add([second.end, Call(forms[0], "r2").decision])
    assert (await seen(bench.open()))[3:] == [("effect", "r1", "t1"), ("decision", "r2", "t0")]
    assert (await unmerged.verify()).is_sound


async def test_a_merge_that_fails_and_is_done_again_knows_its_forms(unmerged, bench):
    form = unmerged.form(decided())
    unmerged.add([Call(form, "r0").decision])

    def fail(*_):
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        unmerged._merger.run(fail)
    unmerged.add([Call(form, "r1").decision])
    assert await seen(unmerged) == [("decision", "r0", "kb:get"), ("decision", "r1", "kb:get")]


def changed(file, before, after):
    data = file.read_bytes()
    assert data.count(before) == 1
    with file.open("r+b") as handle:
        handle.write(data.replace(before, after))


async def test_when_the_line_of_a_definition_is_damaged_every_call_of_it_is_told_and_the_others_are_kept(
    unmerged, bench
):
    lost, good = unmerged.form(decided("lost")), unmerged.form(decided("good"))
    unmerged.add([Call(lost, "r0").decision])
    unmerged.add([Call(good, "r1").decision])
    unmerged.add([Call(lost, "r2").decision, Call(good, "r3").decision])
    changed(files(bench)[0], b'"toolId":"lost"', b'"toolId":"last"')
    gap = ("audit_gap", "", "")
    assert await seen(bench.open()) == [gap, ("decision", "r1", "good"), gap, ("decision", "r3", "good")]
    unmerged.add([Call(lost, "r4").decision, Call(good, "r5").decision])
    assert (await seen(bench.open()))[4:] == [gap, ("decision", "r5", "good")]
    assert {flaw.kind for flaw in (await unmerged.verify()).flaws} == {"missing"}


def appended(log, data):
    log._spill.put(line_of(data))


@pytest.mark.parametrize(
    "record",
    [
        b"d %b r9 1500000000500000",
        b"d %b r9",
        b"d %b r9 1500000000500000 ab cd",
        b"d %b r0 1500000000500000 ab",
        b"d %b",
        b"d",
        b"d ffffffff r9 1500000000500000 ab",
        b"c %b r9 1500000000500000 ab 1500000001500000",
        b"c %b r9 1500000000500000 1500000001500000 3",
        b"C %b r9 1500000000500000 ab 1500000001500000 3",
        b"D %b r9 1500000000500000 ab",
        b"a %b r9 1500000000500000",
        b"a %b r9 1500000000.5 ab",
        b"a %b r9 1500000000500000 ab 1500000001500000 3 cd",
        b"a ffffffff r9 1500000000500000 ab",
        b"c ffffffff r0 1500000000500000 ab 1500000001500000 3",
        b"c %b r9 1500000000500000 ab 1500000001500000 three cd",
        b"c %b r9 1500000000500000 ab late 3 cd",
        b"c ffffffff r0 1500000000500000 ab 1500000001500000 3 cd",
        b"f %b {",
        b'f 00000009 {"kind":"nonsense","createdAt":1}',
        b"f",
        b"x %b r9 1500000000500000 ab",
        b"",
    ],
)
async def test_a_record_that_nobody_of_us_wrote_is_told_and_its_neighbours_are_kept(unmerged, bench, record):
    form = unmerged.form(decided())
    calls = [Call(form, f"r{number}") for number in range(2)]
    unmerged.add([calls[0].decision])
    name = form.id.encode()
    bad = record.replace(b"%b", name)
    appended(unmerged, b"\t".join([calls[1].decision.encode(), bad, calls[1].end.encode()]))
    unmerged.add([Call(form, "r2").decision])
    found = await seen(bench.open())
    assert sorted(found) == [
        ("audit_gap", "", ""), ("call", "r1", "kb:get"), ("decision", "r0", "kb:get"), ("decision", "r2", "kb:get"),
    ]  # fmt: skip
    assert {flaw.kind for flaw in (await unmerged.verify()).flaws} == {"missing"}


@pytest.mark.parametrize(
    "bad",
    [
        b"d %b r\xff9 1500000000500000 ab",
        b"d %b r9 1500000000500000 a\xffb",
        b'd %b r"9 1500000000500000 ab',
        b"d %b r9 soon ab",
        b"d %b  1500000000500000 ab",
        b"d %b r9 1500000000500000 ab\tc %b r9 1500000000500000 ab 1500000001500000 three cd",
        b"d %b r9 1500000000500000 ab\tc %b r9 1500000000500000 ab 1500000001500000 3 c\xffd",
        b'd %b r9 1500000000500000 ab\tc %b r9 1500000000500000 ab 1500000001500000 3 cd","success":false,"x":"',
    ],
)
async def test_foreign_bytes_in_a_record_get_no_further_than_the_spill(unmerged, bench, bad):
    form = unmerged.form(decided())
    unmerged.add([Call(form, "r0").decision])
    appended(unmerged, bad.replace(b"%b", form.id.encode()))
    unmerged.add([Call(form, "r2").decision])
    found = await seen(bench.open())
    assert (found[0], found[-1]) == (("decision", "r0", "kb:get"), ("decision", "r2", "kb:get"))
    assert ("audit_gap", "", "") in found
    assert {flaw.kind for flaw in (await unmerged.verify()).flaws} == {"missing"}


WRITER = r"""
import os, signal, sys
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit, audit
audit.SqliteAudit._awake = lambda self: None
log = SqliteAudit(sys.argv[1])
form = log.form(AuditEntry(kind="decision", created_at=0.5, tool_id="kb:get", decision="allow"))
made = [form.decision(1700000000.125, f"r{number}", "ab") for number in range(2)]
log.add(made)
log.add([form.call(made[0], 1700000001.125, 3, "cd")])
os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_a_writer_that_is_killed_between_decision_and_call_leaves_one_that_is_told_to_be_unknown(bench):
    ended = subprocess.run([sys.executable, "-c", WRITER, str(bench.folder)], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    for _ in range(2):
        log = bench.open()
        events = {event.request_id: event.outcome for event in await AuditTrail(log).drain()}
        assert events == {"r0": "success", "r1": "unknown"}
        assert await log.open_calls() == frozenset()
        assert (await log.verify()).is_sound
        assert bench.spills() == []
        await log.close()


# -- ahead of their hashes -------------------------------------------------------------------------------------------


class Ahead(Call):
    """One whose end is recorded before its hash is known, and then."""

    def __init__(self, form, request):
        super().__init__(form, request)
        self.form = form  # kept as long as something of it is to be added
        self.end_ahead = form.ahead(self.decision)

    def steps(self, log):
        """One after the other: what is recorded of it."""
        yield log.add([self.decision])
        yield log.add_ready(self.end_ahead)
        yield log.complete(self.end)


async def hashes(log):
    records = await log.records()
    return [(one.entry.kind, one.entry.input_hash, one.entry.output_hash) for one in records]


@pytest.mark.parametrize("merged_after", [(), (0,), (1,), (0, 1)])
async def test_what_is_told_ahead_of_its_hash_is_in_the_chain_once_and_with_it(unmerged, bench, merged_after):
    call = Ahead(unmerged.form(decided()), "r1")
    for at, _ in enumerate(call.steps(unmerged)):
        if at in merged_after:
            bench.open().merge()
    effect = "effect" if {0, 1} & {*merged_after} else "call"
    found = await hashes(unmerged)
    assert found[-1] == (effect, GIVEN if effect == "call" else "", OUTPUT)
    assert found[:-1] == ([] if effect == "call" else [("decision", GIVEN, "")])
    assert await unmerged.open_calls() == frozenset()
    assert (await unmerged.verify()).is_sound


async def test_it_waits_for_its_hash_as_long_as_its_writer_lives_and_nothing_else_does(unmerged, bench):
    form = unmerged.form(decided())
    call = Ahead(form, "r1")
    unmerged.add([Call(form, "r0").decision, call.decision])
    unmerged.add_ready(call.end_ahead)
    decided_only = [("decision", "r0", "kb:get"), ("decision", "r1", "kb:get")]
    assert await seen(bench.open()) == await seen(unmerged) == decided_only
    unmerged.complete(call.end)
    assert (await hashes(bench.open()))[2:] == [("effect", "", OUTPUT)]


@pytest.mark.parametrize("merged", [False, True])
async def test_what_another_thread_records_before_the_hash_comes_loses_nothing(unmerged, bench, told, merged):
    call = Ahead(unmerged.form(decided()), "r1")
    for _ in call.steps(unmerged):
        unmerged.record(told("configuration", reason="meanwhile"))
        if merged:
            bench.open().merge()
    found = [one.entry for one in await unmerged.records() if one.entry.kind != "configuration"]
    assert [(one.kind, one.input_hash, one.output_hash, one.success) for one in found] == (
        [("decision", GIVEN, "", None), ("effect", "", "", True), ("effect", "", OUTPUT, True)]
        if merged
        else [("call", GIVEN, "", True), ("effect", "", OUTPUT, True)]
    )
    assert await unmerged.open_calls() == frozenset()
    assert (await unmerged.verify()).is_sound


async def test_one_whose_form_is_unknown_is_told_and_what_follows_is_kept(unmerged, bench):
    form = unmerged.form(decided())
    unmerged.add([Call(form, "r0").decision])
    appended(unmerged, b"a ffffffff r9 1500000000500000 ab")
    unmerged.add([Call(form, "r1").decision])
    assert sorted(await seen(bench.open())) == [
        ("audit_gap", "", ""), ("decision", "r0", "kb:get"), ("decision", "r1", "kb:get"),
    ]  # fmt: skip


@pytest.mark.parametrize("digits", range(1, 7))
async def test_it_is_in_one_file_with_its_hash_wherever_a_new_one_is_begun(
    unmerged, bench, monkeypatch, digits
):
    monkeypatch.setattr(module, "_ROOMS", (3000,))
    form = unmerged.form(decided())
    for number in range(100):
        for _ in Ahead(form, f"{number:0{digits}}").steps(unmerged):
            pass
    unmerged.merge()
    assert len(unmerged._spills) == 1
    found = await hashes(unmerged)
    calls, in_two = found.count(("call", GIVEN, OUTPUT)), found.count(("decision", GIVEN, ""))
    assert calls + in_two == 100
    assert len(found) == 100 + in_two
    assert found.count(("effect", "", OUTPUT)) == in_two  # those whose halves are in two files
    assert await unmerged.open_calls() == frozenset()
    await unmerged.close()
    assert await hashes(bench.open()) == found


async def test_a_hash_that_finds_another_file_is_refused_and_the_record_counts_as_it_is(
    unmerged, bench, monkeypatch, told
):
    monkeypatch.setattr(module, "_ROOMS", (3000,))
    call = Ahead(unmerged.form(decided()), "r1")
    unmerged.add([call.decision])
    unmerged.add_ready(call.end_ahead)
    unmerged.record(told(reason="x" * 2800))  # of another thread
    with pytest.raises(AuditUnavailable):
        unmerged.complete(call.end)
    found = await hashes(unmerged)
    assert found[0] == ("call", GIVEN, "")
    assert len(unmerged._spills) == 1


async def test_what_its_writer_adds_before_it_ends_is_seen_by_who_looks_at_that_moment(
    unmerged, bench, monkeypatch
):
    """It is read, then its writer adds the rest and is gone, then it is found to be left over."""
    call = Ahead(unmerged.form(decided()), "r1")
    steps = call.steps(unmerged)
    next(steps)
    next(steps)
    reader = bench.open()
    left_over = reader._merger._is_left_over

    def late(name):
        for _ in steps:
            pass
        unmerged._spill.close()
        return left_over(name)

    monkeypatch.setattr(reader._merger, "_is_left_over", late)
    reader.merge()
    monkeypatch.undo()
    assert await hashes(reader) == [("call", GIVEN, OUTPUT)]
    assert await reader.open_calls() == frozenset()


@pytest.mark.parametrize("request_id", ["two words", "ü", ""])
def test_an_odd_id_cannot_go_ahead(unmerged, request_id):
    form = unmerged.form(decided())
    assert form.ahead(form.decision(MOMENT, request_id, GIVEN)) is None


@pytest.mark.parametrize("moment", [0.25, 5e9])
def test_an_odd_time_cannot_go_ahead(unmerged, moment):
    form = unmerged.form(decided())
    assert form.ahead(form.decision(moment, "r1", GIVEN)) is None


def as_the_gate_does(log, call):
    """The steps of a call by itself, also where its hash finds another file."""
    log.add([call.decision])
    yield
    log.add_ready(call.end_ahead)
    yield
    with contextlib.suppress(AuditUnavailable):
        log.complete(call.end)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["step", "step", "step", "step", "entry", "batch", "merge"]), max_size=60))
def test_whatever_happens_between_a_record_and_its_hash_each_call_has_one_decision_and_has_succeeded(doings):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_ROOMS", (1500,))
        patched.setattr(module.SqliteAudit, "_awake", lambda self: None)
        log, reader = SqliteAudit(folder), SqliteAudit(folder)
        form, requests, steps = log.form(decided()), [], iter(())
        for number, what in enumerate(doings):
            if what == "entry":  # of another thread
                log.record(
                    AuditEntry(kind="configuration", created_at=MOMENT, reason="x" * (number * 37 % 400))
                )
            elif what == "batch":
                requests.append(f"b{number}")
                made = Call(form, requests[-1])
                log.add([made.decision])
                log.add([made.end])
            elif what == "merge":
                reader.merge()
            elif next(steps, "over") == "over":
                requests.append(f"r{number}")
                steps = as_the_gate_does(log, Ahead(form, requests[-1]))
                next(steps)
        for _ in steps:
            pass
        log.close_now()
        found = [json.loads(entry) for (entry,) in rows(reader)]
        still_open = reader.looked(
            lambda connection: connection.execute("SELECT * FROM open_calls").fetchall()
        )
        reader.close_now()
    assert still_open == []
    assert {one["kind"] for one in found} <= {"call", "decision", "effect", "configuration"}
    for request in requests:
        about = [one for one in found if one.get("requestId") == request]
        assert sum(one["kind"] in ("call", "decision") for one in about) == 1, about
        assert [one["inputHash"] for one in about if one["kind"] != "effect"] == [GIVEN], about
        assert all(one["success"] for one in about if one["kind"] != "decision"), about
        assert len(about) > 1 or about[0]["kind"] == "call", about
        if "entry" not in doings and "batch" not in doings:
            assert [one.get("outputHash") for one in about] == [OUTPUT] or len(about) == 2, about


CUT_SHORT = r"""
import os, signal, sys
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit, audit
audit.SqliteAudit._awake = lambda self: None
log = SqliteAudit(sys.argv[1])
form = log.form(AuditEntry(kind="decision", created_at=0.5, tool_id="kb:get", decision="allow"))
decision = form.decision(1700000000.125, "r0", "ab")
log.add([decision])
log.add_ready(form.ahead(decision))
os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_a_writer_that_is_killed_before_the_hash_leaves_what_it_has_told(bench):
    ended = subprocess.run([sys.executable, "-c", CUT_SHORT, str(bench.folder)], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    log = bench.open()
    (event,) = await AuditTrail(log).drain()
    assert (event.request_id, event.outcome, event.input_hash, event.output_hash) == (
        "r0",
        "success",
        "ab",
        "",
    )
    assert [kind for kind, *_ in await seen(log)] == ["call"]
    assert await log.open_calls() == frozenset()
    assert (await log.verify()).is_sound
    assert bench.spills() == []
