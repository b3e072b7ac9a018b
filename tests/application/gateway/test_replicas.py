"""Gateways that know of each other: whose a name is, who is alive, and what a look costs."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from awf.application.gateway import replicas as module
from awf.application.gateway.replicas import MISSED, Replicas
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.testing.memory_replicas import MemoryReplicas

pytestmark = pytest.mark.anyio


@pytest.fixture
def register():
    return MemoryReplicas()


def gone_of(replicas):
    heard = []
    replicas.on_gone = heard.append
    return heard


async def test_a_name_says_where_it_lives(register):
    one, other = Replicas(register), Replicas(register)
    name = one.new_name()
    assert (one.elsewhere(name), other.elsewhere(name)) == ("", one.id)
    assert one.new_name() != name


@pytest.mark.parametrize(
    "name", ["", ".", "x", "g0123456789ab", "g0123456789ab.", "g0123456789ab.a b", "G0123456789AB.a"]
)
async def test_other_names_live_nowhere(register, name):
    assert Replicas(register).elsewhere(name) == ""


async def test_one_that_entered_is_found_at_its_address(register):
    one, other = Replicas(register), Replicas(register)
    await one.enter("http://one:1")
    await other.enter("http://other:1")
    assert (await one.find(other.id)).url == "http://other:1"  # it came later: somebody has to look
    assert (await other.find(one.id)).url == "http://one:1"
    looks = register.looks
    await one.find(other.id)
    assert register.looks == looks
    await other.leave()
    await one._look()
    assert await one.find(other.id) is None


async def test_many_who_ask_for_the_unknown_cost_one_look(register):
    one = Replicas(register)
    before = register.looks
    assert await asyncio.gather(*(one.find(f"g{number:012x}") for number in range(100))) == [None] * 100
    assert register.looks == before + 1


async def test_one_that_stands_still_for_some_looks_is_dead_until_it_moves_again(register):
    one, other = Replicas(register), Replicas(register)
    heard = gone_of(one)
    await other.enter("http://other:1")
    await one.enter("http://one:1")
    for _ in range(MISSED - 1):
        await one._look()
    assert await one.find(other.id) is not None
    for _ in range(20):
        await one._look(beating=False)  # looks on behalf of requests do not count, however many there are
    assert await one.find(other.id) is not None
    await one._look()
    assert await one.find(other.id) is None
    assert heard == [other.id]
    await other._look()
    await one._look()
    assert await one.find(other.id) is not None


async def test_nobody_dies_while_the_register_is_out_of_reach(register, monkeypatch):
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.001)
    one, other = Replicas(register), Replicas(register)
    heard = gone_of(one)
    await other.enter("http://other:1")
    await one.enter("http://one:1")
    register.trouble = AwfError("SYSTEM.STORE.UNAVAILABLE", "gone")
    beating = spawn(one.keep_beating(), "beating", awaited=True)
    looks = register.looks
    while register.looks < looks + 3 * MISSED:
        await asyncio.sleep(0.001)
    assert await one.find(other.id) is not None  # as it was known last
    with pytest.raises(AwfError):
        await one.find("g0123456789ab")
    register.trouble = None
    await other._look()
    beating.cancel()
    await asyncio.wait([beating])
    assert heard == []


async def test_a_register_that_does_not_answer_is_not_waited_for_long(register, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    one = Replicas(register)

    async def never():
        await asyncio.Event().wait()

    register.listed = never
    with pytest.raises(AwfError) as caught:
        await one.find("g0123456789ab")
    assert caught.value.code == "SYSTEM.STORE.UNAVAILABLE"
    one._looking.cancel()


async def test_it_leaves_in_peace_whatever_the_register_says(register):
    one = Replicas(register)
    await one.leave()
    await one.enter("http://one:1")
    register.trouble = AwfError("SYSTEM.STORE.UNAVAILABLE", "gone")
    await one.leave()


# -- what a server wants to see again ----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["opaque", "", "a.b.c", "ü\n", "awf-at-", "awf-at-g0123456789ab.inner"])
async def test_a_state_comes_back_to_where_it_was_given_out_and_as_it_was(register, state):
    one, other = Replicas(register), Replicas(register)
    given = one.mark({"resultType": "input_required", "requestState": state, "inputRequests": {}})
    params = {"name": "t", "requestState": given["requestState"]}
    assert (one.home_of(params), other.home_of(params)) == ("", one.id)
    assert one.unmark(params) == other.unmark(params) == {"name": "t", "requestState": state}


async def test_a_cursor_does_too(register):
    one, other = Replicas(register), Replicas(register)
    given = one.mark({"resources": [], "nextCursor": "page 2"})
    params = {"cursor": given["nextCursor"]}
    assert (one.home_of(params), other.home_of(params)) == ("", one.id)
    assert other.unmark(params) == {"cursor": "page 2"}


async def test_what_is_good_anywhere_or_named_already_is_left_alone(register):
    one, other = Replicas(register), Replicas(register)
    parked = f"awf-parked-{one.new_name()}"
    for state in ("awf-approval-approval_1", parked):
        result = {"requestState": state}
        assert one.mark(result) is result
    assert other.home_of({"requestState": parked}) == one.id
    assert other.home_of({"requestState": "awf-approval-approval_1"}) == ""
    with_state_of_server = one.mark({"requestState": "awf-approval-approval_1.e30="})
    assert other.home_of(with_state_of_server) == one.id
    assert one.unmark(with_state_of_server) == {"requestState": "awf-approval-approval_1.e30="}
    for plain in ({"content": []}, msgspec.Raw(b"{}"), {"nextCursor": None}, {"requestState": 5}):
        assert one.mark(plain) is plain
    for odd in ({}, {"cursor": 5}, {"requestState": None}, {"requestState": ["awf-at-"]}):
        assert one.home_of(odd) == ""
        assert one.unmark(odd) is odd
