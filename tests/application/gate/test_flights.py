"""Calls to others that are under way are stopped when their context learns a secret."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from awf.application.gate.contexts import LabelChange
from awf.application.gate.flights import Flights
from awf.application.gate.origin import Origin
from awf.application.gate.passage import Passage
from awf.application.gate.telling import Listeners
from awf.application.running.tasks import spawn
from awf.domain.label import PLAIN, Label

pytestmark = pytest.mark.anyio


def passage(context: str) -> Passage:
    tool = SimpleNamespace(facts=SimpleNamespace(name="fetch"))
    made = Passage(tool, {}, Origin(context=context, door="gateway"), "call")  # type: ignore[arg-type]
    made.task, made.under_way = asyncio.current_task(), True
    return made


def change(context: str, label: Label) -> LabelChange:
    return LabelChange(context, PLAIN, label, "files:read")


async def test_only_calls_of_that_context_are_stopped_and_each_once():
    flights, mine, other = Flights(Listeners().add), passage("a"), passage("b")
    tasks = [spawn(asyncio.Event().wait(), "a call", awaited=True) for _ in range(2)]
    mine.task, other.task = tasks
    flights.begin(mine)
    flights.begin(other)
    flights.changed(change("a", Label("secret")))
    flights.changed(change("a", Label("secret", "untrusted")))
    await asyncio.wait([tasks[0]])
    assert tasks[0].cancelled()
    assert not tasks[1].done()
    assert "secret" in mine.revoked
    assert other.revoked == ""
    tasks[1].cancel()


async def test_what_is_only_untrusted_stops_nothing():
    flights, mine = Flights(Listeners().add), passage("a")
    flights.begin(mine)
    flights.changed(change("a", Label("public", "untrusted")))
    assert mine.revoked == ""


@pytest.mark.parametrize(
    ("brings", "after", "by", "stops"),
    [
        (Label("confidential"), Label("confidential"), "web:fetch", False),
        (Label("confidential"), Label("confidential"), "files:read", True),
        (Label("confidential"), Label("secret"), "web:fetch", True),
        (Label("public", "untrusted"), Label("confidential", "untrusted"), "files:read", True),
        (Label("public", "untrusted"), Label("confidential", "untrusted"), "", True),  # of another process
        (Label("confidential"), Label("confidential"), "", False),
    ],
)
async def test_a_call_about_to_tell_something_itself_is_stopped_only_by_what_its_agent_learns_from_others(
    brings, after, by, stops
):
    flights, mine = Flights(Listeners().add), passage("a")
    mine.task = spawn(asyncio.Event().wait(), "a call", awaited=True)
    mine.label, mine.raising, mine.tool.label = PLAIN, True, brings
    mine.tool.facts.id = "web:fetch"
    flights.begin(mine)
    flights.changed(LabelChange("a", PLAIN, after, by))
    assert bool(mine.revoked) is stops
    mine.task.cancel()


async def test_a_call_that_has_ended_is_forgotten():
    flights, mine = Flights(Listeners().add), passage("a")
    flights.begin(mine)
    flights.end(mine)
    flights.end(mine)
    assert len(flights) == 0


async def test_a_call_that_has_not_left_yet_is_told_and_not_cancelled():
    flights, mine = Flights(Listeners().add), passage("a")
    mine.under_way = False
    flights.begin(mine)
    flights.changed(change("a", Label("secret")))
    assert "was not made" in mine.revoked
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_it_listens_only_while_there_is_something_to_stop():
    listeners: Listeners[LabelChange] = Listeners()
    flights, mine, other = Flights(listeners.add), passage("a"), passage("b")
    mine.under_way = other.under_way = False
    flights.begin(mine)
    flights.begin(other)
    flights.end(mine)
    listeners.tell(change("b", Label("secret")))
    assert other.revoked
    flights.end(other)
    assert listeners._all == []
    flights.begin(mine)
    listeners.tell(change("a", Label("secret")))
    assert mine.revoked
