"""A gateway whose audit is full, locked or gone: what only reads goes on, all else is refused, and what was missed shows."""

from __future__ import annotations

import os
import shutil
import sqlite3

import pytest

pytestmark = pytest.mark.journey


def is_refused(answer) -> bool:
    return answer.result.get("isError") is True


def fill(folder):
    """Until there is no room left."""
    ballast = folder / "ballast"
    with open(ballast, "ab", buffering=0) as stream:
        try:
            while True:
                stream.write(b"\0" * 4096)
        except OSError:
            pass
    return ballast


def test_on_a_full_disk_what_only_reads_goes_on_and_the_rest_is_refused_until_there_is_room(
    opened, journey, small_disk, person, noted, until
):
    disk = small_disk("8m")
    journey.environment["AWF_STORAGE"] = str(disk / "runs")
    house = opened()
    client = house.client
    assert client.call("look").text == "look: done"
    assert client.call("write").text == "write: done"
    until(lambda: len(person.audit()) == 2, "both calls in the log")
    done = 1

    def refused_write():
        """There is room for a while that was reserved; what is merged may leave some, too, so the disk is filled again."""
        nonlocal done
        for _ in range(5000):
            fill(disk)
            answer = client.call("write")
            if is_refused(answer) and "was called" not in answer.text:
                return answer
            done += 1  # there was room for the decision, if not for the effect
        raise AssertionError("calls go on being recorded on a full disk")

    for _ in range(3):
        assert "nothing can be recorded" in refused_write().text
        assert client.call("look").text == "look: done"
    assert len(noted("write")) == done
    house.until_said("the audit cannot be written")
    (disk / "ballast").unlink()
    until(lambda: not is_refused(client.call("write")), "a call that can be recorded again")
    house.until_said("the audit can be written again")
    gaps = [one["details"] for one in person.records("audit_gap")]
    assert gaps
    assert not any(gap.get("lost") for gap in gaps)
    outcomes = {event["outcome"] for event in person.calls_of("office:look")}
    assert outcomes == {"success"}
    assert len(person.calls_of("office:look")) == len(noted("look"))  # none is missing
    carried_out = [event for event in person.calls_of("office:write") if event["outcome"] == "success"]
    assert len(carried_out) == len(noted("write"))
    person.is_sound()


def test_a_log_that_somebody_holds_keeps_no_call_waiting_and_none_is_missing(
    opened, journey, person, noted, until
):
    house = opened()
    assert house.client.call("write").text == "write: done"
    (database,) = (journey.storage / "audit").glob("*.db")
    holding = sqlite3.connect(database, isolation_level=None)
    holding.execute("begin exclusive")
    try:
        for _ in range(5):
            assert house.client.call("write").text == "write: done"
            assert house.client.call("look").text == "look: done"
    finally:
        holding.execute("rollback")
        holding.close()
    until(lambda: len(person.audit()) == 11, "all calls in the log")
    assert {event["outcome"] for event in person.audit()} == {"success"}
    person.is_sound()


def test_whoever_empties_the_files_of_a_running_gateway_ends_nothing_and_hides_nothing(
    opened, journey, person, noted, until
):
    house = opened()
    assert house.client.call("write").text == "write: done"
    until(lambda: len(person.audit()) == 1, "the call in the log")
    folder = journey.storage / "audit"
    holding = sqlite3.connect(folder / "audit.db", isolation_level=None)
    holding.execute("begin exclusive")  # nothing is merged meanwhile
    try:
        for _ in range(3):
            assert house.client.call("write").text == "write: done"
        for file in folder.glob("*.spill"):
            os.truncate(file, 0)
        for _ in range(3):
            assert house.client.call("write").text == "write: done"
            assert house.client.call("look").text == "look: done"
    finally:
        holding.execute("rollback")
        holding.close()
    until(lambda: len(person.audit()) >= 7, "the calls that came afterwards")
    assert house.client.call("write").text == "write: done"
    assert len(noted("write")) == 8
    until(lambda: person.records("audit_gap"), "word of the loss")
    assert {one["details"]["cause"] for one in person.records("audit_gap")} == {"entries lost"}
    told = journey.awf("audit", "verify").one_error("EXECUTION.AUDIT.BROKEN")
    assert "missing" in told.stderr


def test_a_log_that_was_taken_away_lets_nothing_pass_unrecorded(opened, journey, person, noted):
    """Whoever removes the record under a gateway that runs does not get a gateway that keeps none."""
    house = opened()
    assert house.client.call("write").text == "write: done"
    folder = journey.storage / "audit"
    away = journey.root / "away"
    shutil.move(folder, away)
    for _ in range(3):
        house.client.call("write")
        house.client.call("look")
    if folder.exists():
        shutil.rmtree(folder)
    shutil.move(away, folder)
    house.client.call("look")
    house.stop()
    done = [event for event in person.calls_of("office:write") if event["outcome"] == "success"]
    assert len(done) == len(noted("write"))
    person.is_sound()


def test_a_gateway_that_is_stopped_while_nothing_can_be_recorded_says_what_is_lost(
    opened, journey, small_disk, until
):
    disk = small_disk("8m")
    journey.environment["AWF_STORAGE"] = str(disk / "runs")
    house = opened()
    assert house.client.call("look").text == "look: done"
    fill(disk)
    until(lambda: is_refused(house.client.call("write")), "the end of what is left of the last block")
    assert house.client.call("look").text == "look: done"
    house.stop()
    assert "entries of the audit are lost" in house.said
