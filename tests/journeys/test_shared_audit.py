"""One audit for several processes over PostgreSQL: crowded, killed, with the database cut off and restarted under them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from awf.application.audit.trail import AuditTrail
from awf.bootstrap.audits import AuditServer
from awf.infrastructure.audit_store.postgres import PostgresAudit

# `AWF_AUDIT_KILLS=100` is the long form.
KILLS = int(os.environ.get("AWF_AUDIT_KILLS", "8"))
pytestmark = [pytest.mark.journey, pytest.mark.timeout(180 + 10 * KILLS)]
WRITER = Path(__file__).with_name("shared_audit_writer.py")


class Yard:
    def __init__(self, url, folder):
        self.url = url
        self.folder = folder
        self.folder.mkdir()

    def start(self, name, count=1_000_000, at_once=8):
        words = [self.url, str(self.folder), name, str(count), str(at_once)]
        return subprocess.Popen([sys.executable, str(WRITER), *words], stdout=subprocess.PIPE)

    def looked_at(self):
        async def look():
            place = str(self.folder / "reader")
            log = PostgresAudit(AuditServer(self.url), place, key_file=f"{self.folder}/signing.key")
            try:
                events = await AuditTrail(log).events(limit=10**9)
                return events, await log.verify(), await log.records(limit=10**9)
            finally:
                await log.close()

        return asyncio.run(look())

    def is_sound(self, promised):
        """Without gaps, and with all that was promised."""
        events, report, records = self.looked_at()
        assert report.is_sound, report.flaws
        assert report.notes == ()
        assert [one.sequence for one in records] == list(range(1, report.records + 1))
        known = {one.request_id: one for one in events}
        assert len(known) == len(events)  # none twice
        for what, request in promised:
            event = known[request.decode()]
            assert what == b"decision" or event.success is True, (what, event)
        return events


def killed(writer, lines):
    """What it promised, until the middle of its work and what the pipe still holds."""
    seen = [writer.stdout.readline() for _ in range(lines)]
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read()
    writer.stdout.close()
    assert writer.wait(60) == -signal.SIGKILL
    return [line.split() for line in [*seen, *rest.splitlines(keepends=True)] if line.endswith(b"\n")]


@pytest.fixture
def yard(database_url, tmp_path):
    return Yard(database_url, tmp_path / "audit")


def test_whatever_was_recorded_when_a_writer_is_killed_is_in_the_chain(yard):
    chosen = random.Random(5)
    promised = []
    living = yard.start("living")
    first = [living.stdout.readline()]
    for number in range(KILLS):
        promised += killed(yard.start(f"w{number}"), chosen.randint(1, 300))
    promised += [line.split() for line in first] + killed(living, 1)
    events = yard.is_sound(promised)
    assert {one.outcome for one in events} <= {"success", "unknown"}


def test_processes_that_write_at_once_make_one_chain_without_gaps(yard):
    writers = [yard.start(name, count=60, at_once=10) for name in "abc"]
    promised = []
    for writer in writers:
        out, _ = writer.communicate(timeout=120)
        assert writer.returncode == 0
        promised += [line.split() for line in out.splitlines()]
    events = yard.is_sound(promised)
    assert sorted(one.request_id for one in events) == sorted(
        f"{name}-{lane}-{number}" for name in "abc" for lane in range(10) for number in range(60)
    )
    assert {one.outcome for one in events} == {"success"}


def test_a_database_that_restarts_under_load_loses_and_doubles_nothing(yard, postgres):
    writers = [yard.start(name, count=150, at_once=6) for name in "ab"]
    promised = []
    for _ in range(2):
        promised += [writer.stdout.readline().split() for writer in writers for _ in range(30)]
        postgres.restart()
        promised += [writer.stdout.readline().split() for writer in writers for _ in range(30)]
        postgres.cut(yard.url)
    for writer in writers:
        with writer:
            promised += [line.split() for line in writer.stdout.read().splitlines()]
        assert writer.returncode == 0
    events = yard.is_sound(promised)
    assert len(events) == 2 * 150 * 6
    assert len(promised) == 2 * len(events)


def test_a_process_that_is_stopped_while_it_holds_the_chain_does_not_stop_the_others(yard):
    stopped = yard.start("stopped")
    first = stopped.stdout.readline()
    stopped.send_signal(signal.SIGSTOP)
    try:
        out, _ = yard.start("other", count=50, at_once=2).communicate(timeout=120)
    finally:
        stopped.send_signal(signal.SIGCONT)
    promised = [line.split() for line in [first, *out.splitlines()]] + killed(stopped, 1)
    assert len(out.splitlines()) == 200
    yard.is_sound(promised)
