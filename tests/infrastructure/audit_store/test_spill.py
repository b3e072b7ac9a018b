"""What is recorded is safe at once, or refused; half a line counts as none."""

from __future__ import annotations

import logging
import os
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from awf.domain.audit import AuditUnavailable
from awf.domain.errors import AwfError
from awf.infrastructure.audit_store import audit as module
from awf.infrastructure.audit_store.spill import Spill, line_of, lines_in, whole_lines

pytestmark = pytest.mark.anyio


def limited(size):
    """No file may become longer: what a full disk does, without filling one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def unmerged(bench, monkeypatch):
    """A log whose thread never comes to merge."""
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    return bench.open()


def test_a_line_without_its_checksum_is_told_apart():
    good = line_of(b'{"a":1}')
    chunk = good + b"\n" + good.replace(b"1", b"2") + b"short\n" + good + b"00000000 half"
    assert list(lines_in(chunk)) == [b'{"a":1}', None, None, None, b'{"a":1}']


async def test_what_was_recorded_lies_in_a_private_file_at_once(unmerged, bench, told):
    unmerged.record(told(reason="here"))
    (name,) = bench.spills()
    file = bench.folder / name
    assert b'"here"' in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(bench.folder.stat().st_mode) == 0o700
    for other in ("audit.db", "signing.key", "head.key"):
        assert stat.S_IMODE((bench.folder / other).stat().st_mode) == 0o600


async def test_who_only_reads_leaves_no_spill_file(bench):
    assert await bench.open().records() == []
    assert bench.spills() == []


async def test_a_full_disk_refuses_as_soon_as_what_was_reserved_is_used_up(
    unmerged, bench, told, monkeypatch
):
    monkeypatch.setattr(module, "_ROOMS", (8192, 4096))
    unmerged.record(told(reason="0"))
    back = limited(1000)
    kept = 1
    try:
        with pytest.raises(AuditUnavailable):
            while kept < 1000:
                unmerged.record(told(reason=f"{kept}"))
                kept += 1
        assert len(bench.spills()) == 1, "what could not be reserved is not left lying about"
    finally:
        back()
    assert 10 < kept < 1000
    unmerged.record(told(reason="again"))
    assert [one.entry.reason for one in await unmerged.records()] == [*map(str, range(kept)), "again"]
    assert (await unmerged.verify()).is_sound


async def test_where_the_disk_has_little_room_less_is_reserved(unmerged, bench, told):
    back = limited(600 * 1024)
    try:
        unmerged.record(told(reason="one"))
    finally:
        back()
    (name,) = bench.spills()
    assert (bench.folder / name).stat().st_size == 512 * 1024
    assert len(await unmerged.records()) == 1


async def test_room_is_reserved_where_the_system_has_no_call_for_it(unmerged, bench, told, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    unmerged.record(told(reason="one"))
    assert len(await unmerged.records()) == 1
    full = limited(100)
    try:
        with pytest.raises(OSError, match=r"No space|too large"):
            Spill(str(bench.folder), "0" * 16, 1, 4096)
    finally:
        full()


def test_a_hole_in_front_of_a_line_is_told_and_the_line_is_not_lost():
    good = line_of(b'{"a":1}')
    assert list(lines_in(good + bytes(30) + good)) == [b'{"a":1}', None, b'{"a":1}']
    assert list(lines_in(good[:5] + bytes(30) + good)) == [None, b'{"a":1}']


def test_a_line_counts_from_the_moment_its_first_byte_is_there():
    whole = line_of(b'{"a":1}')
    assert whole_lines(whole + bytes(20)) == whole
    assert whole_lines(whole + b"\0" + whole[1:] + bytes(20)) == whole
    assert whole_lines(whole + b"0123abcd {half") == whole
    assert whole_lines(bytes(20)) == whole_lines(b"") == b""


async def test_a_hole_is_told_and_what_lies_behind_it_is_not_lost(unmerged, bench, told):
    """As a power cut leaves it, or somebody who does not want a line to be read."""
    for number in range(5):
        unmerged.record(told(reason=f"{number}"))
    (name,) = bench.spills()
    file = bench.folder / name
    lines = file.read_bytes().rstrip(b"\0").split(b"\n")
    with file.open("r+b") as stream:
        stream.seek(len(lines[0]) + 1 + 3)
        stream.write(bytes(4))
    kept = [(one.entry.kind, one.entry.reason) for one in await bench.open().records()]
    said = [("configuration", f"{number}") for number in range(5)]
    assert kept == [said[0], ("audit_gap", ""), *said[2:]]


async def test_a_line_that_nobody_of_us_wrote_is_told_and_stops_nothing(unmerged, bench, told):
    unmerged.record(told(reason="one"))
    (name,) = bench.spills()
    strange = [line_of(data) for data in (b"C foo 1.5 {nonsense", b"C ", b"D ", b"C foo x {}", b"{")]
    with (bench.folder / name).open("r+b") as stream:
        stream.seek(unmerged._spill.size)
        stream.write(b"".join(strange))
    kinds = [one.entry.kind for one in await bench.open().records()]
    assert kinds == ["configuration", *["audit_gap"] * len(strange)]


async def test_a_spill_file_that_somebody_removes_is_replaced_and_what_it_held_is_kept(unmerged, bench, told):
    unmerged.record(told(reason="one"))
    (first,) = bench.spills()
    (bench.folder / first).unlink()
    unmerged.record(told(reason="two"))
    assert [one.entry.reason for one in await unmerged.records()] == ["one", "two"]
    unmerged.record(told(reason="three"))
    (second,) = bench.spills()
    assert second != first
    assert [one.entry.reason for one in await unmerged.records()] == ["one", "two", "three"]


CUT = r"""
import sys, os
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit, audit
audit.SqliteAudit._awake = lambda self: None

def told(reason):
    return AuditEntry(kind="configuration", created_at=1.5, reason=reason)

log = SqliteAudit(sys.argv[1])
log.record(told("merged before"))
log.merge()
log.record(told("0"))
log.record(told("1"))
path, size = os.path.join(sys.argv[1], log._spill.name), log._spill.size
os.truncate(path, {"0": 0, "half a line": size - 20, "zeros": 0}[sys.argv[2]])
if sys.argv[2] == "zeros":
    os.truncate(path, log._spill.room)
if sys.argv[3] == "more":
    for number in range(2, 5):
        log.record(told(str(number)))
log.merge()
log.record(told("afterwards"))
log.close_now()
"""


@pytest.mark.parametrize("more", ["more", ""])
@pytest.mark.parametrize("how", ["0", "half a line", "zeros"])
async def test_a_spill_file_that_somebody_cuts_ends_nobody_and_what_is_lost_is_told(bench, how, more):
    process = subprocess.run(
        [sys.executable, "-c", CUT, str(bench.folder), how, more],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    log = bench.open()
    kept = [(one.entry.kind, one.entry.reason) for one in await log.records()]
    first = [("configuration", "0")] if how == "half a line" else []
    # Behind the end, but on a page that the file still has, what is written is lost without a signal, and told as well.
    kept_on = ["2", "3", "4"] if more and how != "half a line" else []
    behind = [("configuration", one) for one in [*kept_on, "afterwards"]]
    assert kept == [("configuration", "merged before"), *first, ("audit_gap", ""), *behind]
    report = await log.verify()
    assert [(flaw.kind, flaw.sequence) for flaw in report.flaws] == [("missing", 2 + len(first))]


async def test_who_ends_without_having_merged_leaves_word_of_what_was_cut_off(unmerged, bench, told):
    unmerged._database.connection.execute("PRAGMA busy_timeout=1")
    unmerged.record(told(reason="lost"))
    os.truncate(bench.folder / bench.spills()[0], 0)
    with bench.sql() as other:
        other.execute("BEGIN IMMEDIATE")
        unmerged.close_now()
        other.execute("ROLLBACK")
    log = bench.open()
    assert {(one.entry.kind, one.entry.details["cause"]) for one in await log.records()} == {
        ("audit_gap", "damaged line")
    }
    assert {flaw.kind for flaw in (await log.verify()).flaws} == {"missing"}


async def test_what_is_cut_off_when_it_is_in_the_chain_is_no_loss(unmerged, bench, told):
    unmerged.record(told(reason="one"))
    unmerged.merge()
    (name,) = bench.spills()
    os.truncate(bench.folder / name, 0)
    unmerged.record(told(reason="two"))
    assert [one.entry.reason for one in await unmerged.records()] == ["one", "two"]
    assert (await unmerged.verify()).is_sound


async def test_where_no_other_file_can_be_begun_for_one_that_was_cut_entries_are_refused(
    unmerged, bench, told
):
    unmerged.record(told(reason="one"))
    unmerged.merge()
    os.truncate(bench.folder / bench.spills()[0], 0)
    back = limited(10)
    try:
        for _ in range(2):
            with pytest.raises(AuditUnavailable):
                unmerged.record(told(reason="refused"))
    finally:
        back()
    unmerged.record(told(reason="two"))
    assert [one.entry.reason for one in await unmerged.records()] == ["one", "two"]
    assert (await unmerged.verify()).is_sound


async def test_a_folder_that_is_taken_away_refuses_and_is_not_made_again(unmerged, bench, told):
    unmerged.record(told(reason="one"))
    assert len(await unmerged.records()) == 1
    shutil.rmtree(bench.folder)
    with pytest.raises(AuditUnavailable):
        unmerged.record(told(reason="two"))
    with pytest.raises(AwfError) as error:
        await unmerged.records()
    assert error.value.code == "SYSTEM.AUDIT.UNAVAILABLE"
    assert not bench.folder.exists()


async def test_what_was_taken_away_for_good_is_told_when_the_log_is_closed(unmerged, bench, told, caplog):
    unmerged.record(told(reason="one"))
    unmerged.merge()
    unmerged.record(told(reason="two"))
    spill = unmerged._spill
    shutil.rmtree(bench.folder)
    with caplog.at_level(logging.ERROR, "awf"):
        unmerged.close_now()
    said = f"{spill.size - spill.merged} bytes in {spill.name}, which somebody has removed"
    assert [one.getMessage() for one in caplog.records if "lost" in one.message] == [
        f"Entries of the audit are lost: {said}."
    ]


async def test_a_full_spill_is_begun_anew_and_the_old_one_goes_when_it_is_merged(bench, told, monkeypatch):
    monkeypatch.setattr(module, "_ROOMS", (500,))
    log = bench.open()
    for number in range(20):
        log.record(told(reason=f"{number}"))
    assert [one.entry.reason for one in await log.records()] == [f"{number}" for number in range(20)]
    log.merge()
    assert len(bench.spills()) == 1
    await log.close()
    assert bench.spills() == []


async def test_no_more_than_so_much_waits_for_the_database(bench, told, monkeypatch):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    log = bench.open(spill_limit=1000)
    with pytest.raises(AuditUnavailable, match="too much"):
        for _ in range(100):
            log.record(told(reason="x" * 50))
    waiting = len(await log.records())
    assert 0 < waiting < 20
    log.record(told(reason="again"))
    assert len(await log.records()) == waiting + 1


async def test_a_closed_log_refuses(bench, told):
    log = bench.open()
    log.record(told())
    await log.close()
    await log.close()
    with pytest.raises(AuditUnavailable):
        log.record(told())
    with pytest.raises(AwfError):
        await log.records()


async def test_an_entry_too_long_to_keep_loses_its_details_and_long_texts(bench, told):
    log = bench.open()
    log.record(told(reason="r" * 300_000, details={"text": "x" * 400_000}, grant_ids=("g",) * 1000))
    (record,) = await log.records()
    assert len(record.entry.reason) == 4096
    assert record.entry.details.keys() == {"omitted"}
    assert (await log.verify()).is_sound


WRITER = r"""
import sys, os, signal
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit, audit
audit.SqliteAudit._awake = lambda self: None
log = SqliteAudit(sys.argv[1])
log.record(AuditEntry(kind="configuration", created_at=1.5, reason="safe"))
os.pwrite(log._spill.handle, b"123abcd {half of a line}\n", log._spill.size + 1)
os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_what_a_killed_writer_left_is_merged_once_and_its_file_removed(bench, told):
    subprocess.run([sys.executable, "-c", WRITER, str(bench.folder)], check=False, timeout=60)
    assert len(bench.spills()) == 1
    for _ in range(2):
        log = bench.open()
        assert [one.entry.reason for one in await log.records()] == ["safe"]
        assert bench.spills() == []
        await log.close()


async def test_while_the_database_is_locked_entries_wait_and_it_is_told_once(
    bench, told, caplog, monkeypatch
):
    log = bench.open()
    log._database.connection.execute("PRAGMA busy_timeout=1")
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    with caplog.at_level(logging.ERROR, "awf"), bench.sql() as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(3):
            log.record(told(reason=str(number)))
            assert not log._merged_quietly()
        with pytest.raises(AwfError) as error:
            await log.records()
        assert error.value.code == "SYSTEM.AUDIT.UNAVAILABLE"
        assert "locked" in error.value.message
        assert "Another process has locked it" in error.value.hint
        other.execute("ROLLBACK")
    assert [one.entry.reason for one in await log.records()] == ["0", "1", "2"]
    assert len([one for one in caplog.records if "wait in the spill" in one.message]) == 1


async def test_a_full_disk_is_not_taken_for_damage_by_who_looks_for_that(unmerged, told):
    unmerged.record(told(reason="one"))
    unmerged.merge()
    full = unmerged._database.connection.execute
    full("PRAGMA max_page_count=1")  # no more than there are
    for number in range(100):
        unmerged.record(told(reason=f"{number}" + "x" * 1000))
    with pytest.raises(AwfError, match="full") as error:
        await unmerged.verify()
    assert error.value.code == "SYSTEM.AUDIT.UNAVAILABLE"
    assert "room" in error.value.hint
    full(f"PRAGMA max_page_count={2**31}")
    report = await unmerged.verify()
    assert (report.is_sound, report.records) == (True, 101)


async def test_a_database_that_was_removed_is_not_begun_anew_and_can_be_put_back(bench, told):
    log = bench.open()
    log.record(told(reason="one"))
    assert len(await log.records()) == 1
    copy = bench.copy("elsewhere")
    for file in bench.folder.glob("audit.db*"):
        file.unlink()
    log.record(told(reason="two"))
    with pytest.raises(AwfError, match="gone"):
        await log.records()
    assert not (bench.folder / "audit.db").exists()
    shutil.copy(copy / "audit.db", bench.folder / "audit.db")
    assert [one.entry.reason for one in await log.records()] == ["one", "two"]
    assert (await log.verify()).is_sound


@pytest.mark.race
async def test_many_threads_may_record_at_once(bench, told):
    log = bench.open()

    def write(name):
        for number in range(200):
            log.record(told(reason=f"{name}-{number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reasons = [one.entry.reason for one in await log.records()]
    assert len(reasons) == 800
    for name in "abcd":
        assert [one for one in reasons if one.startswith(name)] == [
            f"{name}-{number}" for number in range(200)
        ]


async def test_the_thread_merges_by_itself(bench, told):
    log = bench.open()
    merged = threading.Event()
    run = log._merger.run
    log._merger.run = lambda *given, **more: (run(*given, **more), merged.set())
    log.record(told())
    assert merged.wait(60)
    with sqlite3.connect(bench.folder / "audit.db") as connection:
        assert connection.execute("SELECT count(*) FROM records").fetchone() == (1,)
    connection.close()
