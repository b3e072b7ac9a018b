from __future__ import annotations

import asyncio

import pytest

from awf.application.gateway.vigil import Vigil

pytestmark = pytest.mark.anyio

_SECONDS = 0.5


class Clock:
    """Each look at it is counted: a vigil that goes on looks at it in every turn of the loop."""

    def __init__(self) -> None:
        self.now = 10.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now

    async def is_watched(self) -> bool:
        """Whether somebody stays awake."""
        for _ in range(3):
            await asyncio.sleep(0)
        before = self.looks
        for _ in range(3):
            await asyncio.sleep(0)
        return self.looks > before


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def in_vain(vigil: Vigil, clock: Clock) -> bool:
    """A chance after which nothing comes. Whether it was taken."""
    vigil.keep()
    taken = await clock.is_watched()
    clock.now += _SECONDS
    assert not await clock.is_watched()
    return taken


async def test_it_stays_awake_for_a_while_and_no_longer(clock: Clock) -> None:
    vigil = Vigil(_SECONDS, lambda: True, clock)
    assert not await clock.is_watched()
    vigil.keep()
    assert await clock.is_watched()
    clock.now += _SECONDS * 0.9
    assert await clock.is_watched()
    clock.now += _SECONDS * 0.2
    assert not await clock.is_watched()


async def test_whatever_happens_meanwhile_makes_it_longer(clock: Clock) -> None:
    vigil = Vigil(_SECONDS, lambda: True, clock)
    vigil.keep()
    for _ in range(5):
        clock.now += _SECONDS * 0.9
        vigil.keep()
        assert await clock.is_watched()
    clock.now += _SECONDS
    assert not await clock.is_watched()


async def test_where_nothing_comes_soon_it_hardly_tries(clock: Clock) -> None:
    vigil = Vigil(_SECONDS, lambda: True, clock)
    taken = [await in_vain(vigil, clock) for _ in range(200)]
    assert all(taken[:4])
    assert sum(taken[4:]) == 196 // 32


async def test_one_that_was_not_in_vain_makes_it_try_again(clock: Clock) -> None:
    vigil = Vigil(_SECONDS, lambda: True, clock)
    while await in_vain(vigil, clock):
        pass
    while not await clock.is_watched():  # the next one that is tried
        vigil.keep()
    vigil.keep()
    assert await clock.is_watched()
    clock.now += _SECONDS
    assert not await clock.is_watched()
    assert [await in_vain(vigil, clock) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(("seconds", "allowed"), [(0.0, True), (_SECONDS, False)])
async def test_who_does_not_want_it_has_none(clock: Clock, seconds: float, allowed: bool) -> None:
    vigil = Vigil(seconds, lambda: allowed, clock)
    vigil.keep()
    assert not await clock.is_watched()
    assert clock.looks == 0


async def test_who_does_not_want_it_any_more_is_heard_although_calls_go_on(clock: Clock) -> None:
    wanted = True
    vigil = Vigil(_SECONDS, lambda: wanted, clock)
    vigil.keep()
    assert await clock.is_watched()
    wanted = False
    vigil.keep()
    assert not await clock.is_watched()
