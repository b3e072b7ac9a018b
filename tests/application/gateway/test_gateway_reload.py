"""Another configuration, definitions that are pinned, and servers that wait for their first use."""

from __future__ import annotations

import asyncio
import logging

import msgspec
import pytest

from awf.application.gateway import fleet as fleet_module
from awf.application.gateway.desk import GatewayDesk
from awf.application.gateway.pinning import compare
from awf.domain.errors import AwfError
from awf.domain.gateway_file import GatewayServer, Profile
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.pinning import Pinning
from awf.domain.sandbox import SandboxProfile, SandboxSettings
from awf.testing.memory_pins import MemoryPins
from awf.testing.memory_upstreams import MemoryServer


def said(result):
    return result["content"][0]["text"]


def pinned(**servers):
    """Pins of what these servers offer."""
    offered = {name: server.lists["tools"] for name, server in servers.items()}
    return MemoryPins(compare({}, offered, now=1.0).pins)


# -- another configuration -------------------------------------------------------------------------------------------


async def test_servers_that_are_the_same_are_kept_others_come_and_go(house, until):
    a, b, c = (MemoryServer().tool(name) for name in "xyz")
    one = await house(a=a, b=b)
    visitor = await one.visitor()
    one.memory["c"] = c
    assert await one.gateway.fleet.reload(one.file_of("ac")) == []
    assert await visitor.tools() == ["x", "z"]
    assert len(a.ways) == 1
    for kind in ("tools", "prompts", "resources"):
        assert visitor.standing.of(f"notifications/{kind}/list_changed")
    await until(lambda: b.closed)
    with pytest.raises(RpcError, match="Unknown tool: y"):
        await visitor.call("y")


async def test_a_server_that_is_configured_in_another_way_is_started_anew(house, until):
    a, again = MemoryServer().tool("x", "old"), MemoryServer().tool("x", "new")
    one = await house(a=a)
    one.memory["a"] = again
    await one.gateway.fleet.reload(one.file_of("a", {"a": {"timeout": 5}}))
    assert said(await (await one.visitor()).call("x")) == "new"
    await until(lambda: a.closed)


async def test_a_server_whose_sandbox_profile_changed_is_started_anew_and_no_other(house, until):
    a, again, b = MemoryServer().tool("x", "old"), MemoryServer().tool("x", "new"), MemoryServer().tool("y")
    changes = {"a": {"sandbox": "mine"}}

    def file(**profile):
        settings = SandboxSettings(profiles={"mine": SandboxProfile(**profile)})
        return msgspec.structs.replace(one.file_of("ab", changes), sandbox=settings)

    one = await house(a=a, b=b)
    await one.gateway.fleet.reload(file(memory=1 << 28))
    one.memory["a"] = again
    await one.gateway.fleet.reload(file(memory=1 << 28))
    assert said(await (await one.visitor()).call("x")) == "old"
    await one.gateway.fleet.reload(file(memory=1 << 29))
    assert said(await (await one.visitor()).call("x")) == "new"
    assert len(b.ways) == 1


async def test_a_call_that_is_under_way_is_finished_by_a_server_that_leaves(house, until):
    a, b = MemoryServer().tool("x"), MemoryServer().tool("y")
    gate = a.hold("x")
    one = await house(a=a, b=b)
    call = (await one.visitor()).begin("tools/call", {"name": "x"})
    await gate.reached()
    await one.gateway.fleet.reload(one.file_of("b"))
    assert not a.closed
    gate.open()
    assert said(await call.answer()) == "done"
    await until(lambda: a.closed)


async def test_a_server_that_is_leaving_is_closed_when_the_gateway_is(house):
    a, b = MemoryServer().tool("x"), MemoryServer().tool("y")
    gate = a.hold("x")
    one = await house(a=a, b=b)
    call = (await one.visitor()).begin("tools/call", {"name": "x"})
    await gate.reached()
    await one.gateway.fleet.reload(one.file_of("b"))
    await one.gateway.close()
    assert a.closed
    assert (await call.answer())["isError"]


async def test_a_configuration_that_does_not_fit_the_servers_is_refused_and_all_stays(house):
    a, b = MemoryServer().tool("x"), MemoryServer().tool("y")
    one = await house(a=a)
    visitor = await one.visitor()
    one.memory["b"] = b
    wrong = one.file_of("ab", overrides={"a:zz": ToolOverride(rename="q")})
    problems = await one.gateway.fleet.reload(wrong)
    assert [problem.code for problem in problems] == ["USER.GATEWAY.UNKNOWN_TOOL"]
    assert await visitor.tools() == ["x"]
    assert b.closed
    assert one.gateway.fleet.file is one.file


async def test_pins_that_cannot_be_read_refuse_a_configuration_and_leave_nothing_running(house):
    class Broken(MemoryPins):
        broken = False

        def load(self):
            if self.broken:
                raise AwfError("USER.GATEWAY.INVALID_PINS", "The pins are unreadable.")
            return super().load()

    pins, b = Broken(), MemoryServer().tool("y")
    one = await house(a=MemoryServer().tool("x"), pins=pins)
    one.memory["b"] = b
    pins.broken = True
    with pytest.raises(AwfError, match="unreadable"):
        await one.gateway.fleet.reload(one.file_of("ab"))
    assert not b.connected
    pins.broken = False
    assert await (await one.visitor()).tools() == ["x"]


async def test_slow_new_servers_bring_their_tools_later(house, monkeypatch, caplog):
    monkeypatch.setattr(fleet_module, "SETTLING_SECONDS", 0.01)
    one = await house(a=MemoryServer().tool("x"))
    visitor = await one.visitor()
    slow = one.memory["b"] = MemoryServer().tool("y")
    gate = slow.hold("connect")
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        assert await one.gateway.fleet.reload(one.file_of("ab")) == []
    assert "some of the new servers are slow" in caplog.text
    assert await visitor.tools() == ["x"]
    gate.open()
    async with asyncio.timeout(30):
        while await visitor.tools() != ["x", "y"]:
            await asyncio.sleep(0.002)


async def test_a_profile_that_is_taken_away_leaves_its_clients_nothing(house):
    able = {"tools": {}, "prompts": {}}
    a = MemoryServer(capabilities=able).tool("x")
    a.lists["prompts"] = [{"name": "p"}]
    one = await house(a=a, b=MemoryServer().tool("y"), file={"profiles": {"some": Profile(tools=["b:y"])}})
    visitor = await one.visitor(profile="some")
    assert await visitor.tools() == ["y"]
    await one.gateway.fleet.reload(one.file_of("ab"))
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "x"}),
        ("prompts/get", {"name": "p"}),
        ("prompts/list", {}),
    ):
        try:
            result = await visitor.ask(method, params)
        except RpcError as error:
            assert "Internal error" not in error.message
        else:
            assert not result.get("tools")
            assert not result.get("prompts")
            assert "content" not in result
            assert "messages" not in result


async def test_problems_that_show_later_are_told_once(house, caplog, until):
    server = MemoryServer(capabilities={"tools": {"listChanged": True}}).tool("x").tool("y")
    one = await house(a=server, file={"overrides": {"a:y": ToolOverride(rename="why")}})
    visitor = await one.visitor()
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        for number in range(2):
            server.lists["tools"] = [{"name": "x", "inputSchema": {"type": "object"}, "title": str(number)}]
            server.say("notifications/tools/list_changed")
            await visitor.standing.until("notifications/tools/list_changed", number + 1)
    await until(lambda: one.gateway.fleet.problems)
    assert caplog.text.count("has no tool 'y'") == 1


# -- pins ------------------------------------------------------------------------------------------------------------


async def change(server, visitor, **more):
    server.lists["tools"] = [{**tool, **more} for tool in server.lists["tools"]]
    heard = len(visitor.standing.of("notifications/tools/list_changed"))
    server.say("notifications/tools/list_changed")
    await visitor.standing.until("notifications/tools/list_changed", heard + 1)


async def test_a_definition_that_changes_is_reported_and_served(house, pins, caplog):
    server = MemoryServer().tool("x")
    one = await house(a=server, pins=pins)
    assert list(pins.load()) == ["a:x"]
    visitor = await one.visitor()
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        await change(server, visitor, description="other")
        await change(server, visitor, description="other", title="t")
    assert [change.what for change in one.gateway.fleet.changes] == ["changed: its title and its description"]
    assert "tool a:x changed: its description" in caplog.text
    assert await visitor.tools() == ["x"]
    assert one.gateway.fleet.withheld == frozenset()


async def test_in_quarantine_a_definition_that_changes_is_withheld_until_it_is_accepted(house, pins):
    server = MemoryServer().tool("x")
    one = await house(a=server, pins=pins, file={"pinning": Pinning(mode="quarantine")})
    visitor = await one.visitor()
    await change(server, visitor, description="other")
    assert await visitor.tools() == []
    assert one.gateway.fleet.withheld == {"a:x"}
    with pytest.raises(RpcError, match="Unknown tool: x"):
        await visitor.call("x")
    pins.save(compare({}, {"a": server.lists["tools"]}, now=2.0).pins)
    one.gateway.fleet.rebuild(anew=True)
    assert await visitor.tools() == ["x"]


async def test_without_pinning_nothing_is_kept(house, pins):
    await house(a=MemoryServer().tool("x"), pins=pins, file={"pinning": Pinning(mode="off")})
    assert pins.load() == {}


# -- servers that wait -----------------------------------------------------------------------------------------------

LAZY = {"start": "lazy"}


async def test_a_lazy_server_is_known_by_its_pins_and_started_when_it_is_used(house):
    server = MemoryServer().tool("x")
    one = await house(a=server, b=MemoryServer().tool("y"), config={"a": LAZY}, pins=pinned(a=server))
    visitor = await one.visitor()
    assert await visitor.tools() == ["x", "y"]
    assert one.server("a").state == "idle"
    assert not server.ways[0].connections
    assert said(await visitor.call("x")) == "done"
    assert one.server("a").state == "ready"


async def test_a_lazy_server_without_pins_has_to_be_asked(house, pins):
    one = await house(a=MemoryServer().tool("x"), config={"a": LAZY}, pins=pins)
    assert await (await one.visitor()).tools() == ["x"]
    without = await house(a=MemoryServer().tool("x"), config={"a": LAZY})
    assert await (await without.visitor()).tools() == ["x"]


async def test_a_lazy_server_that_is_starting_keeps_its_promise_meanwhile(house, until):
    server, other = MemoryServer().tool("x"), MemoryServer().tool("y")
    gate = server.hold("connect")
    one = await house(a=server, b=other, config={"a": LAZY}, pins=pinned(a=server))
    visitor = await one.visitor()
    call = visitor.begin("tools/call", {"name": "x"})
    await gate.reached()
    other.tool("z")
    other.say("notifications/tools/list_changed")
    await visitor.standing.until("notifications/tools/list_changed")
    assert await visitor.tools() == ["x", "y", "z"]
    gate.open()
    assert said(await call.answer()) == "done"


async def test_a_lazy_server_that_no_longer_has_its_tools_loses_them_when_it_starts(house, until):
    server = MemoryServer().tool("x")
    pins = pinned(a=server)
    server.lists["tools"] = []
    one = await house(a=server, config={"a": LAZY}, pins=pins)
    visitor = await one.visitor()
    assert await visitor.tools() == ["x"]
    one.server("a").start()
    await visitor.standing.until("notifications/tools/list_changed")
    assert await visitor.tools() == []
    assert [change.what for change in one.gateway.fleet.changes] == ["is no longer offered"]


async def test_a_lazy_server_is_asked_when_pins_are_no_longer_kept(house):
    server = MemoryServer().tool("x")
    one = await house(a=server, config={"a": LAZY}, pins=pinned(a=server))
    await one.gateway.fleet.reload(one.file_of("a", {"a": LAZY}, pinning=Pinning(mode="off")))
    assert await (await one.visitor()).tools() == ["x"]
    assert one.server("a").state == "ready"


async def test_a_lazy_server_that_cannot_start_says_so_to_the_call(house):
    server = MemoryServer().tool("x")
    server.refusal = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "It does not start.")
    one = await house(a=server, config={"a": LAZY}, pins=pinned(a=server))
    result = await (await one.visitor()).call("x")
    assert result["isError"]
    assert "It does not start." in said(result)


# -- what people see -------------------------------------------------------------------------------------------------


async def test_the_desk_shows_servers_tools_profiles_and_what_has_changed(house, pins):
    server = MemoryServer().tool("x").tool("y")
    overrides = {
        "a:x": ToolOverride(rename="ex", hide_fields=["h"], defaults={"d": "1"}, rename_fields={"r": "s"})
    }
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in ("h", "d", "r")}}
    server.lists["tools"][0]["inputSchema"] = schema
    file = {
        "pinning": Pinning(mode="quarantine"),
        "profiles": {"p": Profile(tools=["a:x"], description="Some.")},
        "overrides": overrides,
    }
    one = await house(a=server, b=MemoryServer(), config={"b": {"enabled": False}}, pins=pins, file=file)
    visitor = await one.visitor()
    await visitor.call("ex")
    server.lists["tools"][1]["title"] = "new"
    server.say("notifications/tools/list_changed")
    await visitor.standing.until("notifications/tools/list_changed")
    desk = GatewayDesk(one.gateway, one.book, "gateway.yaml", clock=lambda: 5.0)
    status = desk.status()
    assert {
        key: status[key] for key in ("version", "started", "config", "sessions", "streams", "in_flight")
    } == {
        "version": "1",
        "started": 5.0,
        "config": "gateway.yaml",
        "sessions": 1,
        "streams": 0,
        "in_flight": 0,
    }
    shown = {one["name"]: one for one in status["servers"]}
    assert (shown["a"]["state"], shown["a"]["calls"], shown["a"]["protocol"]) == ("ready", 1, "2025-11-25")
    assert (shown["b"]["state"], shown["b"]["tools"], shown["b"]["since"]) == ("disabled", 0, 5.0)
    assert status["profiles"] == [{"name": "p", "description": "Some.", "tools": 1, "path": "/mcp/p"}]
    assert status["drift"] == [
        {"id": "a:y", "kind": "changed", "what": "changed: its title", "quarantined": True}
    ]
    first, second = desk.tools()
    assert (first["id"], first["name"], first["profiles"], first["quarantined"]) == (
        "a:x",
        "ex",
        ["p"],
        False,
    )
    assert first["original"]["inputSchema"] == schema
    assert first["edits"] == {"hidden": ["h"], "sent": ["d"], "renamed": {"r": "s"}}
    assert (second["id"], second["original"]["title"], second["quarantined"]) == ("a:y", "new", True)
    assert desk.gauges()["server_up"] == {"a": True}
    assert desk.calls()[0]["name"] == "ex"
    desk.watch().close()


async def test_the_desk_tells_what_is_wrong_with_the_configuration(house):
    one = await house(a=MemoryServer().tool("x"), file={"overrides": {"a:xx": ToolOverride(rename="q")}})
    desk = GatewayDesk(one.gateway, one.book, "gateway.yaml")
    assert desk.status()["problems"] == ["The server 'a' has no tool 'xx'. did you mean 'a:x'?"]
    assert desk.tools()[0]["edits"] == {"hidden": [], "sent": [], "renamed": {}}


def test_a_server_is_configured_with_one_way_of_saying_how_long_it_may_take():
    assert GatewayServer(command="x", timeout_ms=500).patience == 0.5
    assert GatewayServer(command="x", timeout=5).patience == 5


async def test_a_tool_that_is_named_like_a_request_stops_no_reload(house, caplog):
    one = await house(a=MemoryServer().tool("resources/read").tool("x"))
    assert "a:resources/read" in caplog.text
    assert await one.gateway.fleet.reload(one.file_of(["a"])) == []
    assert [problem.code for problem in one.gateway.fleet.warnings] == ["USER.GATEWAY.RESERVED_NAME"]
    visitor = await one.visitor()
    assert await visitor.tools() == ["x"]
