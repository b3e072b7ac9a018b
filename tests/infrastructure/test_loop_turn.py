"""The end of a turn: everything that came first is taken in before, and nothing is left for another turn."""

from __future__ import annotations

import asyncio
import logging
import os

import pytest

from awf.infrastructure.loop_turn import LoopTurn

pytestmark = pytest.mark.anyio


async def next_turn():
    await asyncio.sleep(0)


async def test_what_is_asked_for_is_done_in_its_order_and_not_before_the_turn_is_over():
    turn, done = LoopTurn(), []
    for number in range(3):
        turn.at_end(lambda number=number: done.append(number))
    assert done == []
    await next_turn()
    assert done == [0, 1, 2]


async def test_everything_that_was_ready_in_the_turn_comes_before_its_end():
    turn, seen = LoopTurn(), []
    loop = asyncio.get_running_loop()

    def comes(name):
        seen.append(name)
        turn.at_end(lambda: seen.append(f"end of {name}"))

    for name in ("a", "b", "c"):
        loop.call_soon(comes, name)
    await next_turn()
    assert seen == ["a", "b", "c"]
    await next_turn()
    assert seen == ["a", "b", "c", "end of a", "end of b", "end of c"]


async def test_what_is_asked_for_at_the_end_still_belongs_to_the_turn():
    turn, done = LoopTurn(), []

    def first():
        done.append("first")
        turn.at_end(lambda: done.append("third"))

    turn.at_end(first)
    turn.at_end(lambda: done.append("second"))
    await next_turn()
    assert done == ["first", "second", "third"]


async def test_one_that_fails_is_told_and_keeps_no_other_from_its_work(caplog):
    turn, done = LoopTurn(), []

    def fails():
        raise RuntimeError("oh")

    turn.at_end(fails)
    turn.at_end(lambda: done.append("other"))
    with caplog.at_level(logging.ERROR, logger="awf.turns"):
        await next_turn()
    assert done == ["other"]
    assert "end of a turn failed" in caplog.text


async def test_each_turn_does_only_its_own_work():
    turn, done = LoopTurn(), []
    for number in range(3):
        turn.at_end(lambda number=number: done.append(number))
        await next_turn()
        assert done == list(range(number + 1))
    await next_turn()
    assert done == [0, 1, 2]


async def test_the_same_work_asked_for_twice_is_done_twice():
    turn, done = LoopTurn(), []

    def work():
        done.append(1)

    turn.at_end(work)
    turn.at_end(work)
    await next_turn()
    assert done == [1, 1]


def test_it_serves_one_loop_after_another():
    turn, done = LoopTurn(), []

    async def once(name):
        turn.at_end(lambda: done.append(name))
        await next_turn()

    asyncio.run(once("one"))
    asyncio.run(once("two"))
    assert done == ["one", "two"]


async def test_one_that_meets_a_cancelled_future_does_not_end_all_turns_to_come():
    """`CancelledError` is no `Exception`; the loop only tells of it and goes on, so the turns have to go on, too."""
    turn, done, told = LoopTurn(), [], []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context))
    cancelled = loop.create_future()
    cancelled.cancel()
    turn.at_end(cancelled.result)
    turn.at_end(lambda: done.append("same turn"))
    await next_turn()
    turn.at_end(lambda: done.append("next turn"))
    await next_turn()
    assert done == ["same turn", "next turn"]


async def test_it_says_that_it_is_ending_as_long_as_it_does():
    turn, seen = LoopTurn(), []

    def looks():
        seen.append(turn.is_ending)

    def fails():
        looks()
        turn.at_end(looks)
        raise RuntimeError("oh")

    turn.at_end(fails)
    looks()
    await next_turn()
    looks()
    assert seen == [False, True, True, False]


@pytest.mark.parametrize("patient", [False, True])
async def test_one_that_is_patient_takes_in_what_has_come_meanwhile(patient):
    turn, seen = LoopTurn(), []
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    try:
        loop.add_reader(reading, lambda: seen.append(os.read(reading, 9)))
        await next_turn()
        before = turn.looks
        turn.at_end(lambda: seen.append("end"), patient=patient)
        turn.at_end(lambda: seen.append(turn.looks - before))
        os.write(writing, b"came")
        while len(seen) < 3:
            await next_turn()
        assert seen == ([b"came", "end", 1] if patient else ["end", 0, b"came"])
    finally:
        loop.remove_reader(reading)
        os.close(reading)
        os.close(writing)


async def test_who_comes_first_says_whether_it_is_patient():
    turn, done = LoopTurn(), []
    turn.at_end(lambda: done.append("first"))
    turn.at_end(lambda: done.append("second"), patient=True)
    await next_turn()
    assert done == ["first", "second"]
