"""The life of servers behind the gateway: they start, fail, come back, are slow, are full, and leave."""

from __future__ import annotations

import asyncio
import logging

import pytest

from awf.application.gateway import fleet as fleet_module
from awf.application.gateway import server as module
from awf.application.gateway.clockwork import Clockwork
from awf.application.gateway.desk import GatewayDesk
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.gateway_file import Profile
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.problem import Problem
from awf.testing.memory_upstreams import MemoryServer

GONE = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "It does not start.", hint="Look at its log.")


def said(result):
    return result["content"][0]["text"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.001))


async def test_a_server_is_opened_with_its_timeout_and_started_with_the_gateway(house, weather):
    one = await house(a=weather, config={"a": {"timeout_ms": 7000}})
    assert one.opened[0][1].timeout == 7.0
    assert one.server("a").state == "ready"
    assert one.server("a").restarts == 0


async def test_a_server_that_is_not_enabled_is_not_there(house, weather):
    one = await house(a=weather, b=MemoryServer(), config={"a": {"enabled": False}})
    assert list(one.gateway.fleet.servers) == ["b"]
    assert not weather.ways


async def test_a_server_that_fails_takes_its_tools_away_and_says_why(house, until, monkeypatch, caplog):
    monkeypatch.setattr(module, "PAUSES", (30.0,))
    a, b = MemoryServer().tool("x"), MemoryServer().tool("y")
    one = await house(a=a, b=b, file={"overrides": {"a:x": ToolOverride(rename="ex")}})
    visitor = await one.visitor()
    assert await visitor.tools() == ["ex", "y"]
    a.refusal = GONE
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        a.die()
        await visitor.standing.until("notifications/tools/list_changed")
    assert "MCP server a is not available: It does not start. Look at its log." in caplog.text
    assert await visitor.tools() == ["y"]
    with pytest.raises(
        RpcError, match=r"'ex' is not available now: MCP server \"a\" has failed: It does not start"
    ):
        await visitor.call("ex")
    with pytest.raises(RpcError, match="Unknown tool: nothing"):
        await visitor.call("nothing")


async def test_a_profile_does_not_learn_of_lost_tools_it_may_not_see(house, until, monkeypatch):
    monkeypatch.setattr(module, "PAUSES", (30.0,))
    a = MemoryServer().tool("x").tool("z")
    file = {"profiles": {"some": Profile(tools=["a:z", "b:*"])}}
    one = await house(a=a, b=MemoryServer().tool("y"), file=file)
    visitor = await one.visitor(profile="some")
    a.refusal = GONE
    a.die()
    await until(lambda: one.server("a").state == "failed")
    await until(lambda: not one.gateway.fleet.offers.find("x", ""))
    with pytest.raises(RpcError, match="Unknown tool: x"):
        await visitor.call("x")
    with pytest.raises(RpcError, match="not available now"):
        await visitor.call("z")


async def test_a_server_that_comes_back_brings_its_tools_back(house, until):
    server = MemoryServer().tool("x")
    one = await house(a=server)
    visitor = await one.visitor()
    server.refusal = GONE
    server.die()
    await until(lambda: one.server("a").state == "failed")
    server.refusal = None
    await until(lambda: one.server("a").state == "ready")
    await until(lambda: one.gateway.fleet.offers.find("x", ""))
    assert said(await visitor.call("x")) == "done"
    assert one.server("a").restarts == 1
    assert one.server("a").detail == ""


async def test_names_are_held_against_the_servers_that_have_answered_and_again_when_others_come(house, until):
    late, b = MemoryServer().tool("x").tool("hidden"), MemoryServer().tool("y")
    late.refusal = GONE
    one = await house(late=late, b=b, config={"late": {"deny": ["hidden"]}})
    assert one.asked[-1] == {"b": ["y"]}
    one.warnings = [Problem(code="X", message="It is about nothing.", severity="warning")]
    late.refusal = None
    await until(lambda: one.asked[-1] == {"b": ["y"], "late": ["x", "hidden"]})
    desk = GatewayDesk(one.gateway, one.book, "gateway.yaml")
    assert desk.status()["problems"] == ["It is about nothing."]


async def test_a_call_that_is_under_way_when_its_server_dies_is_told_and_others_go_on(house):
    a, b = MemoryServer().tool("x"), MemoryServer().tool("y")
    one = await house(a=a, b=b)
    visitor = await one.visitor()
    gates = a.hold("x"), b.hold("y")
    calls = [visitor.begin("tools/call", {"name": name}) for name in "xy"]
    for gate in gates:
        await gate.reached()
    a.die()
    dead = await calls[0].answer()
    assert dead["isError"]
    assert said(dead) == "The server died."
    gates[1].open()
    assert said(await calls[1].answer()) == "done"


async def test_a_call_that_finds_its_server_dead_has_it_looked_at_at_once(house, until):
    server = MemoryServer(modern=True, capabilities={"tools": {}}).tool("x")
    server.deaf = RpcError(-32601, "there is no listening here")
    one = await house(a=server)
    visitor = await one.visitor()
    server._tools["x"] = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "gone")
    lists = len(server.seen("tools/list"))
    assert said(await visitor.call("x")) == "gone"
    await until(lambda: len(server.seen("tools/list")) > lists)


async def test_a_server_that_failed_is_not_asked(house, until, monkeypatch):
    monkeypatch.setattr(module, "PAUSES", (30.0,))
    server = MemoryServer(capabilities={"prompts": {}})
    server.lists["prompts"] = [{"name": "p"}]
    one = await house(a=server)
    visitor = await one.visitor()
    server.refusal = GONE
    server.die()
    await until(lambda: one.server("a").state == "failed")
    with pytest.raises(RpcError, match="Unknown prompt"):
        await visitor.ask("prompts/get", {"name": "p"})
    with pytest.raises(AwfError, match='"a" is not available: It does not start') as caught:
        one.server("a").check_alive()
    assert "tried again in" in caught.value.hint


async def test_a_server_that_never_started_cannot_be_reached(house, until, monkeypatch):
    monkeypatch.setattr(module, "PAUSES", (30.0,))
    server = MemoryServer()
    server.refusal = GONE
    one = await house(a=server)
    visitor = await one.visitor()
    assert visitor.greeting["capabilities"] == {"tools": {"listChanged": True}}
    with pytest.raises(AwfError, match="It does not start"):
        await one.server("a").lane_for(visitor.client)


async def test_a_server_whose_list_does_not_come_has_failed(house, until, monkeypatch):
    monkeypatch.setattr(module, "PAUSES", (30.0,))
    server = MemoryServer().tool("x")
    server.hold("tools/list")
    one = await house(a=server, config={"a": {"timeout_ms": 10}})
    assert one.server("a").state == "failed"
    assert one.server("a").detail == "it did not answer within 0.01 s"


async def test_a_server_whose_list_is_refused_has_failed(house, monkeypatch):
    monkeypatch.setattr(module, "PAUSES", (30.0,))
    one = await house(a=MemoryServer().on("tools/list", RpcError(-32603, "no list today")))
    assert (one.server("a").state, one.server("a").detail) == ("failed", "no list today")


async def test_the_first_clients_wait_for_slow_servers_only_so_long(house, until, monkeypatch, caplog):
    monkeypatch.setattr(fleet_module, "SETTLING_SECONDS", 0.01)
    slow = MemoryServer().tool("late")
    gate = slow.hold("connect")
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        one = await house(a=slow, b=MemoryServer().tool("soon"))
    assert "still waiting for a" in caplog.text
    visitor = await one.visitor()
    for wanted in (["soon"], ["late", "soon"]):
        async with asyncio.timeout(30):
            while await visitor.tools() != wanted:
                await asyncio.sleep(0.001)
        gate.open()


async def test_a_call_of_a_tool_whose_server_is_starting_waits_for_it(house):
    server = MemoryServer().tool("x")
    gate = server.hold("connect")
    one = await house(a=server, start=False)
    one.gateway.fleet.start()
    visitor = await one.visitor(greeted=False)
    call = visitor.begin("tools/call", {"name": "x"})
    await gate.reached()
    gate.open()
    assert said(await call.answer()) == "done"


# -- time and places -------------------------------------------------------------------------------------------------


async def test_a_call_that_takes_too_long_is_ended_and_the_server_told(house):
    server = MemoryServer().tool("x")
    server.hold("x")
    one = await house(a=server)
    one.server("a")._clockwork = Clockwork(0.03)  # only for calls: the start has all the time it needs
    result = await (await one.visitor()).call("x")
    assert result["_meta"]["awf/error"] == {"code": "TIMEOUT"}
    assert 'MCP server "a" did not answer within 60 s. Raise its `timeout`' in said(result)
    assert server.seen("notifications/cancelled")
    assert one.server("a").in_flight == 0


async def test_a_call_that_shows_progress_may_take_longer(house, until):
    steps = []

    async def slow(asked):
        loop = asyncio.get_running_loop()
        while len(steps) < 4:
            exchange = next(iter(asked.way.hearer._busy))
            exchange.deadline = loop.time() + 0.001  # nearly over
            asked.progress(len(steps))
            steps.append(exchange.deadline - loop.time())
            await asyncio.sleep(0)
        return "done"

    one = await house(a=MemoryServer().tool("x", slow), config={"a": {"timeout": 60}})
    call = (await one.visitor()).begin("tools/call", {"name": "x"}, token=1)
    assert said(await call.answer()) == "done"
    assert all(left > 50 for left in steps)
    assert len(call.ear.of("notifications/progress")) == 4


async def test_while_a_client_thinks_no_time_runs(house):
    async def asks(asked):
        return (await asked.ask("elicitation/create", {"message": "?"}))["action"]

    one = await house(a=MemoryServer().tool("x", asks))
    visitor = await one.visitor(capabilities={"elicitation": {}})
    call = visitor.begin("tools/call", {"name": "x"})
    question = await call.ear.until("elicitation/create")
    clockwork = one.server("a")._clockwork
    assert [exchange.deadline for exchange in clockwork._running] == [float("inf")]
    clockwork._look()
    assert not call.task.done()
    visitor.answered(question, {"action": "accept"})
    assert said(await call.answer()) == "accept"


async def test_more_calls_than_a_server_may_have_wait_for_their_turn(house):
    server = MemoryServer().tool("x")
    gate = server.hold("x")
    one = await house(a=server, config={"a": {"concurrency": 2}})
    visitor = await one.visitor()
    calls = [visitor.begin("tools/call", {"name": "x"}) for _ in range(3)]
    await gate.reached(2)
    await asyncio.sleep(0.01)
    assert len(server.seen("tools/call")) == 2
    await calls[0].cancelled()
    await gate.reached(2)
    assert len(server.seen("tools/call")) == 3
    gate.open()
    assert [said(await call.answer()) for call in calls[1:]] == ["done", "done"]


async def test_a_call_that_waits_too_long_for_its_turn_is_told(house):
    server = MemoryServer().tool("x").tool("y")
    gate = server.hold("x")
    one = await house(a=server, config={"a": {"concurrency": 1}})
    visitor = await one.visitor()
    first = visitor.begin("tools/call", {"name": "x"})
    await gate.reached()
    one.server("a")._clockwork = Clockwork(0.03)
    assert (await visitor.call("y"))["_meta"]["awf/error"] == {"code": "TIMEOUT"}
    gate.open()
    assert said(await first.answer()) == "done"
    assert said(await visitor.call("y")) == "done"


async def test_a_question_leaves_the_place_of_its_call_to_others(house):
    async def asks(asked):
        return (await asked.ask("elicitation/create", {"message": "?"}))["action"]

    server = MemoryServer().tool("x", asks).tool("y")
    one = await house(a=server, config={"a": {"concurrency": 1}})
    visitor = await one.visitor(capabilities={"elicitation": {}})
    first = visitor.begin("tools/call", {"name": "x"})
    question = await first.ear.until("elicitation/create")
    assert said(await visitor.call("y")) == "done"
    visitor.answered(question, {"action": "accept"})
    assert said(await first.answer()) == "accept"
    for _ in range(2):
        assert said(await visitor.call("y")) == "done"


async def test_a_question_in_one_call_and_a_full_server_do_not_wait_for_each_other(house):
    """Many servers do one thing at a time: the second call is answered after the first."""
    first_done = asyncio.Event()

    async def asks(asked):
        action = (await asked.ask("elicitation/create", {"message": "?"}))["action"]
        first_done.set()
        return action

    async def waits(asked):
        await first_done.wait()
        return "after the first"

    server = MemoryServer().tool("x", asks).tool("y", waits)
    one = await house(a=server, config={"a": {"concurrency": 1}})
    visitor = await one.visitor(capabilities={"elicitation": {}})
    first = visitor.begin("tools/call", {"name": "x"})
    question = await first.ear.until("elicitation/create")
    second = visitor.begin("tools/call", {"name": "y"})
    async with asyncio.timeout(30):
        while len(server.seen("tools/call")) < 2:
            await asyncio.sleep(0)
    visitor.answered(question, {"action": "accept"})
    done, waiting = await asyncio.wait([first.task, second.task], timeout=5)
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting)
    assert len(done) == 2
    assert said(first.task.result()) == "accept"
    assert said(second.task.result()) == "after the first"


# -- the end ---------------------------------------------------------------------------------------------------------


async def test_closing_lets_go_of_everything_and_tells_whoever_waits(house):
    server = MemoryServer().tool("x")
    gate = server.hold("x")
    one = await house(a=server)
    visitor = await one.visitor()
    call = visitor.begin("tools/call", {"name": "x"})
    await gate.reached()
    await one.gateway.close()
    assert (await call.answer())["isError"]
    assert not server.connected
    assert server.closed == 1
    one.server("a").start()
    assert one.server("a")._supervising.done()


async def test_a_server_that_was_never_started_closes_too(house, weather):
    one = await house(a=weather, start=False)
    await one.gateway.close()
    assert one.server("a").settled.is_set()


async def test_who_waits_for_fresh_lists_does_not_outlive_the_server(house, until):
    server = MemoryServer().tool("x")
    one = await house(a=server)
    server.hold("tools/list")
    waiting = spawn(one.server("a").refreshed(), "waiting", awaited=True)
    await asyncio.sleep(0)
    await one.server("a").close()
    async with asyncio.timeout(30):
        await waiting


async def test_a_server_at_an_address_without_anything_to_announce_is_not_listened_to(house):
    server = MemoryServer(modern=True, capabilities={"tools": {}}).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    await asyncio.sleep(0.01)
    assert not server.ways[0].listening
    assert one.server("a").state == "ready"


async def test_a_listening_that_breaks_off_is_begun_again(house, until):
    server = MemoryServer(modern=True, capabilities={"tools": {"listChanged": True}}).tool("x")
    one = await house(a=server)
    await until(lambda: server.ways[0].listening)
    assert server.ways[0].listening == [{"toolsListChanged": True}]
    server.die()
    await until(lambda: one.server("a").restarts == 1 and server.ways[0].listening)


async def test_a_listening_that_fails_is_no_reason_to_give_a_server_up(house, until):
    server = MemoryServer(modern=True, capabilities={"tools": {"listChanged": True}}).tool("x")
    server.deaf = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "no stream")
    one = await house(a=server)
    await until(lambda: len(server.seen("tools/list")) >= 2)
    assert one.server("a").state == "ready"
