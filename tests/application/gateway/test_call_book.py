"""What the gateway remembers of its calls, and how it is watched."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from awf.application.gateway.call_book import BOUNDS, METHODS, OUTCOMES, UNKNOWN, CallBook, Figures

PATIENCE = 10


class Clock:
    def __init__(self, now=100.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def wall():
    return Clock(1_700_000_000.0)


@pytest.fixture
def book(clock, wall):
    book = CallBook(clock=clock, wall=wall)
    book.offers({"a": ["x", "y"], "b": ["x"]})
    return book


def call(book, server="a", tool="x", outcome="ok", code="", name="", client="c"):
    entry = book.begun(server, tool, name or tool, client)
    book.ended(entry, outcome, code)
    return entry


def counted(book):
    return {
        (server, tool, outcome): times
        for server, tool, outcomes in book.tallies()
        for outcome, times in outcomes.items()
        if times
    }


# -- calls -----------------------------------------------------------------------------------------------------------


def test_a_call_is_shown_while_it_runs_and_after_it_ended(book, clock):
    entry = book.begun("a", "x", "a__x", "inspector 1.0")
    running = {
        "id": "1",
        "time": 1_700_000_000.0,
        "server": "a",
        "tool": "x",
        "name": "a__x",
        "client": "inspector 1.0",
        "outcome": "running",
        "code": "",
        "duration_ms": None,
    }
    assert book.calls() == [running]
    assert book.in_flight == 1
    clock.now += 0.0125
    book.ended(entry, "error", "TIMEOUT")
    assert book.calls() == [{**running, "outcome": "error", "code": "TIMEOUT", "duration_ms": 12.5}]
    assert book.in_flight == 0


def test_the_latest_200_calls_are_kept_newest_first(book):
    for number in range(250):
        call(book, name=f"n{number}")
    assert [one["name"] for one in book.calls()] == [f"n{number}" for number in range(249, 49, -1)]


def test_a_call_that_runs_for_long_is_still_shown_after_many_others(book):
    slow = [book.begun("a", "x", f"slow{number}", "c") for number in range(2)]
    for _ in range(300):
        call(book)
    assert [one["name"] for one in book.calls()[-3:]] == ["x", "slow1", "slow0"]
    assert len(book.calls()) == 202
    for entry in slow:
        book.ended(entry, "ok", "")
    assert len(book.calls()) == 200


def test_a_call_ends_once(book, clock):
    entry = book.begun("a", "x", "x", "c")
    book.ended(entry, "cancelled", "CANCELLED")
    clock.now += 5
    book.ended(entry, "ok", "")
    assert counted(book) == {("a", "x", "cancelled"): 1}
    assert (book.calls()[0]["outcome"], book.calls()[0]["code"]) == ("cancelled", "CANCELLED")
    assert book.calls()[0]["duration_ms"] == 0


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_is_counted_for_itself(book, outcome):
    call(book, outcome=outcome)
    call(book, outcome=outcome)
    assert counted(book) == {("a", "x", outcome): 2}


def test_the_time_of_day_follows_a_machine_that_slept(book, clock, wall):
    call(book)
    wall.now += 3600  # asleep: the other clock stood still
    clock.now += 2
    wall.now += 2
    call(book)
    assert [one["time"] for one in book.calls()] == [1_700_003_602.0, 1_700_000_000.0]


def test_a_call_is_put_into_the_first_bucket_that_is_not_too_short(book, clock):
    for seconds in (0.0, 0.0005, 0.0006, 60.0, 61.0):
        clock.now = 0.0  # so that nothing is rounded
        entry = book.begun("a", "x", "x", "c")
        clock.now = seconds
        book.ended(entry, "ok", "")
    latencies = dict(book.latencies())
    assert latencies["a"].buckets == [2, 1, *[0] * 13, 1, 1]
    assert latencies["a"].seconds == pytest.approx(121.0011)
    assert sum(latencies["b"].buckets) == 0


def test_buckets_go_from_half_a_millisecond_to_a_minute():
    assert (BOUNDS[0], BOUNDS[-1]) == (0.0005, 60.0)
    assert list(BOUNDS) == sorted(set(BOUNDS))


def test_a_refused_call_says_nothing_of_the_speed_of_a_server(book):
    call(book, outcome="refused")
    assert sum(dict(book.latencies())["a"].buckets) == 0
    call(book, outcome="error")
    assert sum(dict(book.latencies())["a"].buckets) == 1


def test_servers_are_told_in_numbers(book):
    for outcome in OUTCOMES:
        call(book, outcome=outcome)
    call(book, tool="y", outcome="error")
    book.begun("a", "x", "x", "c")
    book.begun("nowhere", "x", "x", "c")
    assert book.servers() == {"a": Figures(5, 2, 1), "b": Figures(0, 0, 0)}


# -- bounds ----------------------------------------------------------------------------------------------------------


def test_names_that_clients_make_up_are_shown_but_never_counted_by_name(book):
    for number in range(1_000):
        call(book, "a", f"made-up-{number}", "refused", "UNKNOWN_TOOL")
        call(book, f"server-{number}", "x", "refused")
        call(book, "", "", "error", name=f"n{number}")
    assert counted(book) == {
        ("a", UNKNOWN, "refused"): 1000,
        (UNKNOWN, UNKNOWN, "refused"): 1000,
        (UNKNOWN, UNKNOWN, "error"): 1000,
    }
    assert [server for server, _ in book.latencies()] == ["a", "b"]
    assert book.calls()[2]["tool"] == "made-up-999"


def test_long_names_are_cut_so_that_the_last_calls_stay_small(book):
    call(book, "s" * 10_000, "t" * 10_000, name="n" * 10_000, client="c" * 10_000)
    (shown,) = book.calls()
    assert {len(shown[key]) for key in ("server", "tool", "name", "client")} == {128}


def test_short_names_of_some_length_together_are_left_alone(book):
    call(book, name="n" * 100, client="c" * 100)
    assert (book.calls()[0]["name"], book.calls()[0]["client"]) == ("n" * 100, "c" * 100)


def test_counts_stay_when_servers_change_what_they_offer(book):
    call(book)
    book.offers({"a": ["z"]})
    call(book)
    call(book, tool="z")
    call(book, tool="y")
    assert counted(book) == {("a", "x", "ok"): 2, ("a", "z", "ok"): 1, ("a", UNKNOWN, "ok"): 1}


def test_a_server_that_invents_tools_all_the_time_does_not_fill_the_memory(book):
    for round_ in range(12):
        book.offers({"a": [f"t{round_}-{number}" for number in range(500)]})
        for number in range(500):
            call(book, "a", f"t{round_}-{number}")
    counts = counted(book)
    assert len(counts) == 5_001
    assert counts["a", UNKNOWN, "ok"] == 1_000


def test_a_tool_with_an_endless_name_gets_no_count_of_its_own(book):
    book.offers({"a": ["t" * 200]})
    call(book, tool="t" * 200)
    assert counted(book) == {("a", UNKNOWN, "ok"): 1}


def test_requests_are_counted_by_known_methods_only(book):
    for method, status in [
        ("tools/call", 200),
        ("tools/call", 200),
        ("GET", 405),
        ("rm -rf", 200),
        ("evil", 200),
    ]:
        book.requested(method, status)
    book.requested("tools/list", 7_000_000)
    assert book.requests == {("tools/call", 200): 2, ("GET", 405): 1, (UNKNOWN, 200): 2, ("tools/list", 0): 1}
    assert UNKNOWN not in METHODS


def test_ended_calls_are_let_go(book):
    class Name(str):
        __slots__ = ("__weakref__",)

    name = Name("gone")
    there = weakref.ref(name)
    call(book, name=name)
    del name
    for _ in range(200):
        call(book)
    gc.collect()
    assert there() is None


# -- watching --------------------------------------------------------------------------------------------------------


async def following(watcher):
    return await asyncio.wait_for(anext(watcher), PATIENCE)


async def test_a_watcher_sees_a_call_begin_and_end(book):
    watcher = book.watch()
    entry = book.begun("a", "x", "x", "c")
    assert await following(watcher) == {"type": "call", "call": entry.shown()}
    assert entry.shown()["outcome"] == "running"
    book.ended(entry, "ok", "")
    assert (await following(watcher))["call"]["outcome"] == "ok"
    watcher.close()


async def test_a_watcher_that_waits_is_woken(book):
    watcher = book.watch()
    waiting = asyncio.ensure_future(following(watcher))  # noqa: TID251
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    call(book)
    assert (await waiting)["call"]["outcome"] == "ok"
    watcher.close()


async def test_a_slow_watcher_loses_the_oldest_and_is_told_how_many(book):
    slow, quick = book.watch(size=3), book.watch()
    for number in range(5):
        call(book, name=f"n{number}")
    assert (slow.dropped, quick.dropped) == (2, 0)
    assert [(await following(slow))["call"]["name"] for _ in range(3)] == ["n2", "n3", "n4"]
    assert [(await following(quick))["call"]["name"] for _ in range(5)] == [f"n{n}" for n in range(5)]
    slow.close()
    quick.close()


async def test_changes_of_the_state_are_told_once_until_they_are_heard(book):
    watcher = book.watch()
    book.changed()
    book.changed()
    book.reloaded("ok")
    call(book)
    book.changed()
    heard = [(await following(watcher))["type"] for _ in range(3)]
    assert heard == ["status", "call", "status"]
    book.reloaded("error")
    assert await following(watcher) == {"type": "status"}
    assert book.reloads == {"ok": 1, "error": 1}
    watcher.close()


async def test_closing_ends_the_watching_for_one_who_waits_and_for_one_who_comes_later(book):
    watcher, other = book.watch(), book.watch()

    async def all_of_it():
        return [event async for event in watcher]

    waiting = asyncio.ensure_future(all_of_it())  # noqa: TID251
    await asyncio.sleep(0)
    watcher.close()
    watcher.close()
    call(book)
    assert await asyncio.wait_for(waiting, PATIENCE) == []
    assert await asyncio.wait_for(all_of_it(), PATIENCE) == []
    assert (await following(other))["type"] == "call"
    other.close()


async def test_a_watcher_whose_waiting_was_cancelled_can_go_on(book):
    watcher = book.watch()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(watcher), 0.001)
    call(book)
    assert (await following(watcher))["type"] == "call"
    watcher.close()


async def test_a_closed_watcher_is_forgotten(book):
    watcher = book.watch()
    watcher.close()
    assert book._watchers == []
    call(book)
    assert watcher.dropped == 0
