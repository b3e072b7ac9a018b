"""Sessions of the older era: opened, found by whoever opened them, and over at some time."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.running.tasks import spawn
from awf.domain.mcp import RpcError
from awf.interfaces.mcp.gateway import sessions as module
from awf.interfaces.mcp.gateway.sessions import Sessions, legacy_client

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "n"}}


class Standing:
    def __init__(self, is_open=True):
        self.open, self.closed, self.pulses = is_open, 0, 0

    def close(self):
        self.open = False
        self.closed += 1

    def pulse(self):
        self.pulses += 1


class Clock:
    now = 10_000.0


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def sessions(house, weather, clock):
    one = await house(a=weather)
    made = Sessions(one.gateway, lambda: clock.now)
    made.house = one
    yield made
    await made.close()


async def opened(sessions, key="k"):
    client = sessions.new_client(HELLO, key, "")
    await sessions.house.gateway.greet(client)
    return sessions.open(client)


def test_a_client_is_what_its_first_message_says():
    client = legacy_client(HELLO, id="i", key="k", profile="p")
    assert (client.id, client.key, client.profile, client.version) == ("i", "k", "p", "2025-06-18")
    assert (client.modern, client.capabilities, client.name) == (False, {"roots": {}}, "n")


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", ""])
def test_a_version_without_a_handshake_is_answered_with_the_newest_that_has_one(version):
    odd = {"protocolVersion": version, "capabilities": [], "clientInfo": 5}
    client = legacy_client(odd, id="", key="", profile="")
    assert (client.version, client.capabilities, client.info) == ("2025-11-25", {}, {})


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}])
def test_a_first_message_says_the_version(params):
    with pytest.raises(RpcError, match="initialize needs protocolVersion"):
        legacy_client(params, id="", key="", profile="")


async def test_a_session_is_found_only_by_whoever_opened_it(sessions):
    session = await opened(sessions)
    assert len(sessions) == 1
    assert sessions.find(session.client.id, "k") is session
    assert sessions.find(session.client.id, "other") is None
    assert sessions.find("guessed", "k") is None
    assert session.client.id != (await opened(sessions)).client.id


async def test_a_session_that_ends_takes_its_requests_and_its_stream_with_it(sessions):
    session = await opened(sessions)
    session.standing = Standing()
    task = session.tasks[1] = spawn(asyncio.Event().wait(), "a request", awaited=True)
    assert sessions.streams == 1
    await sessions.end(session)
    await asyncio.wait([task])
    assert task.cancelled()
    assert session.standing.closed == 1
    assert not sessions.house.gateway.hub.clients
    assert (len(sessions), sessions.streams) == (0, 0)
    await sessions.end(session)
    assert session.standing.closed == 1


async def test_a_session_that_nobody_has_used_for_long_ends(sessions, clock, until):
    idle, used, busy, listening = [await opened(sessions) for _ in range(4)]
    busy.tasks[1] = spawn(asyncio.Event().wait(), "a request", awaited=True)
    listening.standing = Standing()
    clock.now += module.IDLE_SECONDS + 1
    sessions.find(used.client.id, "k")
    sessions.sweep()
    await until(lambda: len(sessions) == 3)
    assert sessions.find(idle.client.id, "k") is None
    listening.standing.open = False
    clock.now += module.IDLE_SECONDS + 1
    sessions.sweep()
    await until(lambda: len(sessions) == 1)
    assert sessions.find(busy.client.id, "k") is busy


async def test_of_too_many_sessions_the_one_idle_for_longest_ends_and_all_of_it(
    sessions, clock, until, monkeypatch, caplog
):
    monkeypatch.setattr(module, "MOST", 2)
    first = await opened(sessions)
    clock.now += 1
    second = await opened(sessions)
    clock.now += 1
    sessions.find(first.client.id, "k")
    second.standing = Standing()
    third = await opened(sessions)
    assert len(sessions) == 2
    assert sessions.find(second.client.id, "k") is None
    await until(lambda: second.standing.closed)
    await until(lambda: set(sessions.house.gateway.hub.clients) == {first.client.id, third.client.id})
    assert "more than 2 sessions" in caplog.text


async def test_a_pulse_goes_to_every_session_that_listens(sessions):
    session = await opened(sessions)
    await opened(sessions)
    session.standing = Standing()
    sessions.pulse()
    assert session.standing.pulses == 1


async def test_of_finished_streams_only_the_latest_are_kept(sessions, monkeypatch):
    monkeypatch.setattr(module, "LOGS", 2)
    session = await opened(sessions)
    under_way, *finished = [session.new_log() for _ in range(5)]
    for log in finished:
        log.finish(0.0, written=True)
    latest = session.new_log()
    assert list(session.logs.values()) == [under_way, *finished[-2:], latest]
    assert len({log.name for log in (under_way, *finished, latest)}) == 6


async def test_of_finished_streams_not_too_much_is_kept(sessions, monkeypatch):
    monkeypatch.setattr(module, "KEPT_BYTES", 100)
    session = await opened(sessions)
    first, second = session.new_log(), session.new_log()
    for log in (first, second):
        log.add(b"x" * 60)
        log.finish(0.0, written=True)
    session.new_log()
    assert first not in session.logs.values()
    assert second in session.logs.values()


async def test_finished_streams_are_not_kept_for_long(sessions):
    session = await opened(sessions)
    now = asyncio.get_running_loop().time()
    old, young = session.new_log(), session.new_log()
    old.finish(now - module.KEPT_SECONDS - 1, written=True)
    young.finish(now, written=True)
    sessions.sweep()
    assert list(session.logs.values()) == [young]
