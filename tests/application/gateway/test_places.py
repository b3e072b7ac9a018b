"""Places at a server: taken, waited for in line, given back; none is lost, none is there twice."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gateway.places import Places
from awf.application.running.tasks import spawn


def taking(places, order=None, name=None):
    async def take():
        await places.take()
        if order is not None:
            order.append(name)

    return spawn(take(), "taking a place", awaited=True)


async def _steps(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_free_place_is_taken_at_once():
    places = Places(2)
    assert places.take_now()
    await places.take()
    assert not places.take_now()
    places.give_back()
    assert places.take_now()


async def test_those_who_wait_have_their_turn_in_order():
    places, order = Places(1), []
    await places.take()
    waiting = [taking(places, order, name) for name in "abc"]
    await _steps()
    assert order == []
    for _ in range(3):
        places.give_back()
        assert not places.take_now()  # it is for those who wait
        await _steps()
    assert order == ["a", "b", "c"]
    assert all(task.done() for task in waiting)


async def test_who_gives_up_waiting_is_passed_over():
    places, order = Places(1), []
    await places.take()
    first, second = taking(places, order, "a"), taking(places, order, "b")
    await _steps()
    first.cancel()
    await _steps()
    places.give_back()
    await _steps()
    assert first.cancelled()
    assert second.done()
    assert order == ["b"]


async def test_who_gives_up_in_the_moment_a_place_is_given_back_is_just_cancelled():
    places = Places(1)
    await places.take()
    waiting = taking(places)
    await _steps()
    waiting.cancel()
    places.give_back()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert places.take_now()


async def test_who_gives_up_in_the_moment_it_has_its_turn_gives_the_place_back():
    places = Places(1)
    await places.take()
    waiting = taking(places)
    await _steps()
    places.give_back()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert places.take_now()


STEP = st.tuples(st.sampled_from(["take", "now", "give", "cancel", "let run"]), st.integers(0, 5))


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3), st.lists(STEP, max_size=30))
def test_in_any_order_no_place_is_lost_or_doubled(number, steps):
    asyncio.run(_any_order(number, steps))


async def _any_order(number, steps):
    places, tasks, given_back = Places(number), [], set()
    at_once = 0

    def held():
        done = [task for task in tasks if task.done() and not task.cancelled() and task not in given_back]
        for task in done:
            task.result()
        return done

    for step, which in steps:
        if step == "take":
            tasks.append(taking(places))
        elif step == "now":
            at_once += places.take_now()
        elif step == "give" and at_once:
            at_once -= 1
            places.give_back()
        elif step == "give" and held():
            given_back.add(held()[0])
            places.give_back()
        elif step == "cancel" and tasks:
            tasks[which % len(tasks)].cancel()
        else:
            await _steps(which)
        assert len(held()) + at_once <= number
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    free = 0
    while places.take_now():
        free += 1
    assert free + len(held()) + at_once == number
