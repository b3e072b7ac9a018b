"""The audit under real processes: killed, crowded, on a full disk, locked out."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from awf.application.audit.trail import AuditTrail
from awf.infrastructure.audit_store import SqliteAudit

pytestmark = pytest.mark.journey

ROUNDS = 20
WRITER = Path(__file__).with_name("audit_writer.py")


def start(folder, name, *arguments):
    return subprocess.Popen(
        [sys.executable, str(WRITER), str(folder), name, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def looked_at(folder):
    """Every event and what a look at the whole log says, by a process of its own kind: a reader."""

    async def look():
        log = SqliteAudit(str(folder))
        try:
            events = await AuditTrail(log).events(limit=10**9)
            return events, await log.verify(), await log.records(limit=10**9)
        finally:
            await log.close()

    return asyncio.run(look())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "audit"


def test_whatever_was_recorded_when_a_writer_is_killed_is_in_the_log(folder):
    chosen = random.Random(11)
    promised: list[bytes] = []
    for number in range(ROUNDS):
        with start(folder, f"w{number}", "1000000") as writer:
            seen = [writer.stdout.readline() for _ in range(chosen.randint(1, 600))]
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read()  # the pipe still holds what was promised before the end
        assert writer.returncode == -signal.SIGKILL
        promised += [line for line in [*seen, *rest.splitlines(keepends=True)] if line.endswith(b"\n")]
    events, report, records = looked_at(folder)
    assert report.is_sound, report.flaws
    assert [one.sequence for one in records] == list(range(1, report.records + 1))
    known = {one.request_id: one for one in events}
    assert len(known) == len(events)
    for line in promised:
        what, request = line.split()
        event = known[request.decode()]
        if what == b"effect":
            assert event.success is True
    assert {one.outcome for one in events} <= {"success", "unknown"}
    assert not list(folder.glob("*.spill"))


def test_processes_that_write_at_once_make_one_chain_without_gaps(folder):
    names = ["a", "b", "c"]
    writers = [start(folder, name, "1500") for name in names]
    while any(writer.poll() is None for writer in writers):
        _, report, _ = looked_at(folder)
        assert report.is_sound, report.flaws
        for writer in writers:  # so that nobody waits for us
            if writer.poll() is None:
                os.set_blocking(writer.stdout.fileno(), False)
                writer.stdout.read()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    events, report, records = looked_at(folder)
    assert report.is_sound
    assert [one.sequence for one in records] == list(range(1, len(records) + 1))
    assert sorted(one.request_id for one in events) == sorted(
        f"{name}-{n}" for name in names for n in range(1500)
    )
    assert {one.outcome for one in events} == {"success"}


def test_on_a_full_disk_what_is_refused_is_not_there_and_what_was_taken_is(small_disk):
    disk = small_disk("3m")
    ballast = disk / "ballast"
    folder = disk / "audit"
    start(folder, "first", "1").communicate(timeout=60)
    ballast.write_bytes(b"x" * (1024 * 1024))
    writer = start(folder, "full", "1000000")
    out, _ = writer.communicate(timeout=120)
    assert writer.returncode == 7  # refused
    promised = [line.split() for line in out.splitlines(keepends=True) if line.endswith(b"\n")]
    assert promised
    ballast.unlink()
    events, report, _ = looked_at(folder)
    assert report.is_sound, report.flaws
    known = {one.request_id: one for one in events}
    for what, request in promised:
        assert what == b"decision" or known[request.decode()].success is True
    assert {request.decode() for _, request in promised} <= known.keys()
    assert len(known) <= len({request for _, request in promised}) + 2


def test_a_log_on_a_disk_that_became_read_only_is_told(journey, small_disk):
    disk = small_disk("4m")
    start(disk / "audit", "w", "5").communicate(timeout=60)
    journey.environment["AWF_STORAGE"] = str(disk)
    assert len(journey.awf("audit", "list", "-o", "json").succeeded().json()) == 5
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for command in ("list", "verify", "export"):
        journey.awf("audit", command).one_error("SYSTEM.AUDIT.UNAVAILABLE")


def test_a_database_that_somebody_holds_keeps_no_call_waiting(folder):
    start(folder, "first", "1").communicate(timeout=60)
    other = sqlite3.connect(folder / "audit.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writer = start(folder, "w", "500", "impatient")
    out, err = writer.communicate(timeout=120)
    assert writer.returncode == 0
    assert len(out.splitlines()) == 1000
    assert err.count(b"wait in the spill") == 1
    assert list(folder.glob("*.spill"))
    other.execute("ROLLBACK")
    other.close()
    events, report, _ = looked_at(folder)
    assert report.is_sound
    assert len(events) == 501


def test_one_changed_byte_ends_the_check_with_status_3(journey):
    folder = journey.storage / "audit"
    folder.parent.mkdir(exist_ok=True)
    start(folder, "w", "50").communicate(timeout=60)
    assert "Sound" in journey.awf("audit", "verify").succeeded().stdout
    listed = journey.awf("audit", "list", "-o", "json", "-n", "5").succeeded().json()
    assert [one["requestId"] for one in listed] == [f"w-{n}" for n in range(45, 50)]
    database = folder / "audit.db"
    data = bytearray(database.read_bytes())
    place = data.index(b'"w-30"') + 3
    data[place] ^= 1
    database.write_bytes(data)
    told = journey.awf("audit", "verify").one_error("EXECUTION.AUDIT.BROKEN")
    assert "was changed" in told.stderr
    error = journey.awf("audit", "verify", "-o", "json").json()["error"]
    assert json.dumps(error["exit_status"]) == "3"
