"""A gateway has a process that merges its audit: calls are recorded whatever becomes of it, and it is never left behind."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import sys

import psutil
import pytest

pytestmark = [pytest.mark.journey, pytest.mark.usefixtures("noted")]
PROGRAM = "awf.infrastructure.audit_store.aside_worker"


@pytest.fixture
def mergers(journey):
    """Those of this journey's audit, whoever is their parent."""
    folder = str(journey.storage / "audit")

    def look():
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if PROGRAM in words and folder in words and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    return look


@pytest.fixture
def merged(journey):
    """How many calls with their end are in the database, for somebody who merges nothing."""

    def look():
        connection = sqlite3.connect(journey.storage / "audit" / "audit.db")
        try:
            found = connection.execute("SELECT count(*) FROM records WHERE json_extract(entry, '$.success')")
            return found.fetchone()[0]
        finally:
            connection.close()

    return look


def test_calls_come_into_the_log_by_a_process_that_ends_with_the_gateway(
    journey, stage, person, mergers, merged, until
):
    house = stage.House(journey, sys.modules["journeys_gate_files"].office_file())
    for _ in range(3):
        assert house.client.call("look").text == "look: done"
    until(lambda: merged() == 3, "three calls")
    (merger,) = mergers()
    assert merger.ppid() == house.running.pid
    assert set(merger.environ()) <= {"PATH", "HOME", "TMPDIR"} | {"LC_CTYPE"}  # the last one is Python's
    merger.send_signal(signal.SIGINT)  # as Ctrl+C would, if it were in the same group
    house.stop(signal.SIGINT)
    assert mergers() == []
    assert "merges the audit" not in house.said
    assert len(person.calls_of("office:look")) == 3
    person.is_sound()


def test_when_that_process_is_killed_nothing_is_lost_and_the_log_says_so_once(
    opened, person, mergers, merged, until
):
    house = opened()
    assert house.client.call("look").text == "look: done"
    until(lambda: merged() == 1, "a call")
    (merger,) = mergers()
    merger.kill()
    for number in range(2, 5):
        assert house.client.call("look").text == "look: done"
        until(lambda number=number: merged() == number, "one more")
    assert mergers() == []
    assert house.said.count("The process that merges the audit has ended") == 1
    assert len(person.calls_of("office:look")) == 4
    person.is_sound()


def test_when_the_gateway_is_killed_that_process_brings_in_what_is_left_and_goes(
    journey, stage, person, mergers, merged, until
):
    house = stage.House(journey, sys.modules["journeys_gate_files"].office_file())
    assert house.client.call("look").text == "look: done"
    until(mergers, "the process")
    for _ in range(20):
        assert house.client.call("look").text == "look: done"
    house.running.send(signal.SIGKILL)
    house.running.process.wait(60)
    until(lambda: not mergers(), "its end")
    assert merged() >= 20  # what came of the last one may not have been written down yet
    assert len(person.calls_of("office:look")) == 21
    person.is_sound()
