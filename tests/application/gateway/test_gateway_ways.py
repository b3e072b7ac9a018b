"""The ways that clients' requests take to a server: shared or their own, opened, listened to, closed."""

from __future__ import annotations

import asyncio

from awf.application.gateway import lane as lane_module
from awf.application.gateway import server as module
from awf.testing.memory_upstreams import MemoryServer


def said(result):
    return result["content"][0]["text"]


async def test_clients_share_a_way_or_have_their_own_as_configured(house):
    shared, own = MemoryServer().tool("x"), MemoryServer().tool("y")
    one = await house(a=shared, b=own, config={"a": {"session": "shared"}, "b": {"session": "client"}})
    for visitor in (await one.visitor(capabilities={"roots": {}}), await one.visitor()):
        await visitor.call("x")
        await visitor.call("y")
    assert len(shared.ways) == 1
    assert len(own.ways) == 3


async def test_a_way_for_clients_without_a_session_closes_when_nobody_has_used_it(house, until, monkeypatch):
    server = MemoryServer().tool("x")
    one = await house(a=server)
    visitor = await one.modern(capabilities={"roots": {}})
    gate = server.hold("x")
    call = visitor.begin("tools/call", {"name": "x"})
    await gate.reached()
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.005)
    ((key, lane),) = one.server("a")._lanes.items()
    one.server("a")._close_when_idle(key, lane)  # the first look is due in ten minutes
    await asyncio.sleep(0.05)
    assert not server.ways[1].closed
    gate.open()
    await call.answer()
    await until(lambda: server.ways[1].closed)
    assert said(await visitor.call("x")) == "done"


async def test_over_a_pipe_calls_at_the_same_time_of_clients_without_a_session_have_ways_of_their_own(
    house, monkeypatch
):
    """A pipe does not show to which call a question belongs."""
    monkeypatch.setattr(module, "WAYS", 2)
    server = MemoryServer().tool("x")
    one = await house(a=server)
    visitor = await one.modern(capabilities={"roots": {}})
    gate = server.hold("x")
    calls = [visitor.begin("tools/call", {"name": "x"}) for _ in range(3)]
    await gate.reached(3)
    assert len(server.connected) == 3  # with the one that all share
    gate.open()
    assert [said(await call.answer()) for call in calls] == ["done"] * 3
    del calls
    await visitor.call("x")
    assert len(server.connected) == 3


async def test_a_call_that_is_given_up_while_its_way_opens_leaves_the_way_free(house):
    server = MemoryServer().tool("x")
    one = await house(a=server)
    visitor = await one.modern(capabilities={"roots": {}})
    call = visitor.begin("tools/call", {"name": "x"})
    async with asyncio.timeout(30):
        while not one.server("a")._opening:
            await asyncio.sleep(0)
    await call.cancelled()
    for _ in range(2):
        assert said(await visitor.call("x")) == "done"
    assert len(server.ways) == 2


async def test_abilities_we_do_not_know_open_no_more_ways(house):
    server = MemoryServer().tool("x")
    one = await house(a=server)
    for number in range(3):
        await (await one.modern(capabilities={"roots": {}, f"own{number}": {}})).call("x")
    assert len(server.ways) == 2


async def test_a_way_that_is_still_opening_when_the_gateway_closes_is_closed(house):
    server = MemoryServer(modern=True, legacy=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    gate = server.hold("connect")
    call = (await one.visitor()).begin("tools/call", {"name": "x"})
    await gate.reached()
    await one.gateway.close()
    gate.open()
    assert (await call.answer())["isError"]
    assert not server.connected


async def test_a_session_with_a_server_at_an_address_is_listened_to_from_its_first_request(house, until):
    server = MemoryServer(stateful=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    visitor = await one.visitor()
    await visitor.call("x")
    own = server.ways[1]
    await until(lambda: own.listening)
    own.say("notifications/own")
    assert visitor.standing.of("notifications/own")
    await one.gateway.leave(visitor.client)
    assert not own.listening


async def test_a_stream_of_a_session_that_ends_is_opened_again(house, until, monkeypatch):
    monkeypatch.setattr(lane_module, "PAUSES", (0.0, 0.001))
    server = MemoryServer(stateful=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    visitor = await one.visitor()
    await visitor.call("x")
    await until(lambda: server.ways[1].listening)
    server.ways[1].lose()
    await visitor.call("x")
    await until(lambda: server.ways[1].listening)


async def test_a_way_that_is_still_opening_when_its_session_ends_does_not_stay(house, until):
    server = MemoryServer(modern=True, legacy=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    visitor = await one.visitor()
    gate = server.hold("connect")
    call = visitor.begin("tools/call", {"name": "x"})
    await gate.reached()
    await call.cancelled()
    await one.gateway.leave(visitor.client)
    gate.open()
    await until(lambda: not one.server("a")._opening)
    await asyncio.sleep(0.01)
    assert len(server.connected) == 1


# -- a gateway with one client ---------------------------------------------------------------------------------------


async def test_a_gateway_with_one_client_has_one_way_to_each_server_and_speaks_as_the_client(house):
    async def asks(asked):
        return str((await asked.ask("roots/list"))["roots"])

    server = MemoryServer(modern=True, legacy=True).tool("x", asks)
    one = await house(a=server, alone=True)
    assert not server.received
    visitor = await one.visitor("2025-06-18", capabilities={"roots": {}})
    assert await visitor.tools() == ["x"]
    call = visitor.begin("tools/call", {"name": "x"})
    visitor.answered(await call.ear.until("roots/list"), {"roots": [1]})
    assert said(await call.answer()) == "[1]"
    (way,) = server.connected
    assert (way.guise.capabilities, way.era.version) == ({"roots": {}}, "2025-06-18")


async def test_a_gateway_with_one_client_crosses_where_a_server_has_only_the_newer_era(house):
    server = MemoryServer(modern=True).tool("x")
    one = await house(a=server, alone=True)
    visitor = await one.visitor(capabilities={"roots": {}})
    assert said(await visitor.call("x")) == "done"
    assert [way.era.modern for way in server.connected] == [True]


async def test_a_gateway_with_one_client_of_the_newer_era_is_like_any_other(house):
    one = await house(a=MemoryServer().tool("x"), alone=True)
    visitor = await one.modern()
    assert said(await visitor.call("x")) == "done"


async def test_servers_that_come_later_belong_to_the_one_client_too(house):
    one = await house(a=MemoryServer().tool("x"), alone=True)
    visitor = await one.visitor(capabilities={"roots": {}})
    later = one.memory["b"] = MemoryServer().tool("y")
    assert await one.gateway.fleet.reload(one.file_of("ab")) == []
    assert said(await visitor.call("y")) == "done"
    assert len(later.connected) == 1
    assert later.connected[0].guise.capabilities == {"roots": {}}


async def test_the_one_client_may_shake_hands_again(house):
    async def asks(asked):
        return str((await asked.ask("roots/list"))["roots"])

    one = await house(a=MemoryServer().tool("x", asks), alone=True)
    first = await one.visitor(capabilities={"roots": {}})
    await one.gateway.leave(first.client)
    second = await one.visitor(capabilities={"roots": {}})
    call = second.begin("tools/call", {"name": "x"})
    second.answered(await call.ear.until("roots/list"), {"roots": []})
    assert said(await call.answer()) == "[]"


async def test_what_a_server_says_by_itself_is_for_the_client_that_shook_hands_last(house):
    server = MemoryServer().tool("x")
    one = await house(a=server, alone=True)
    first = await one.visitor()
    await one.gateway.leave(first.client)
    second = await one.visitor()
    server.say("notifications/own")
    assert second.standing.of("notifications/own")
