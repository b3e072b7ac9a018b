"""What a page is told at once."""

from __future__ import annotations

import json

from awf.interfaces.web.backlog import Backlog


def call(number, outcome="running"):
    return {"type": "call", "call": {"id": str(number), "outcome": outcome}}


def test_of_a_call_only_the_latest_is_told():
    backlog = Backlog()
    for event in (call(1), call(2), call(1, "ok")):
        backlog.add(event)
    told = json.loads(backlog.take())
    assert told["calls"] == [{"id": "1", "outcome": "ok"}, {"id": "2", "outcome": "running"}]
    assert (told["skipped"], told["status"]) == (0, False)


def test_what_was_told_is_not_told_again():
    backlog = Backlog()
    backlog.add(call(1))
    backlog.add({"type": "status"})
    backlog.take()
    assert json.loads(backlog.take()) == {"calls": [], "skipped": 0, "status": False}


def test_of_too_many_the_oldest_are_left_out_and_counted():
    backlog = Backlog(limit=2)
    for number in range(5):
        backlog.add(call(number))
    backlog.add({"type": "status"})
    told = json.loads(backlog.take())
    assert [one["id"] for one in told["calls"]] == ["3", "4"]
    assert (told["skipped"], told["status"]) == (3, True)


def test_events_of_later_versions_are_passed_over():
    backlog = Backlog()
    backlog.add({"type": "weather"})
    assert json.loads(backlog.take()) == {"calls": [], "skipped": 0, "status": False}


def test_that_something_was_asked_is_told_once():
    backlog = Backlog()
    backlog.add({"type": "approvals"})
    backlog.add({"type": "approvals"})
    assert json.loads(backlog.take()) == {"calls": [], "skipped": 0, "status": False, "approvals": True}
    assert "approvals" not in json.loads(backlog.take())
