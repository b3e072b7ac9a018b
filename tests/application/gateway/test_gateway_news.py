"""What servers say by themselves, and who hears it: changes, updates, logs."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gateway import server as server_module
from awf.application.gateway.hub import Hub
from awf.domain.errors import AwfError
from awf.domain.mcp import RESERVED_META, RpcError
from awf.testing.memory_upstreams import MemoryServer

SUBSCRIPTION = f"{RESERVED_META}subscriptionId"
UPDATED = "notifications/resources/updated"
ACK = "notifications/subscriptions/acknowledged"
ABLE = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "logging": {},
}


def speaker(modern=False, **more):
    server = MemoryServer(modern=modern, capabilities=ABLE, **more)
    server.lists["resources"] = [{"uri": "u"}, {"uri": "v"}]
    return server.tool("x")


def listens(*kinds, uris=None):
    wanted = {f"{kind}ListChanged": True for kind in kinds}
    return {"notifications": wanted | ({} if uris is None else {"resourceSubscriptions": uris})}


# -- lists that change -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modern", [False, True])
async def test_a_change_of_tools_is_told_when_the_new_list_is_there(house, until, modern):
    server = speaker(modern)
    one = await house(a=server)
    visitor = await one.visitor()
    await until(lambda: server.ways[0].listening or not modern)
    gate = server.hold("tools/list")
    server.tool("y")
    server.say("notifications/tools/list_changed")
    await gate.reached()
    assert not visitor.standing.heard
    gate.open()
    await visitor.standing.until("notifications/tools/list_changed")
    assert await visitor.tools() == ["x", "y"]


async def test_a_change_of_prompts_is_told_when_the_new_list_is_there(house):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor()
    server.lists["prompts"] = [{"name": "p"}]
    server.say("notifications/prompts/list_changed")
    await visitor.standing.until("notifications/prompts/list_changed")
    assert (await visitor.ask("prompts/list"))["prompts"] == [{"name": "p"}]


async def test_a_change_of_resources_is_told_at_once(house):
    server = speaker()
    visitor = await (await house(a=server)).visitor()
    server.say("notifications/resources/list_changed")
    assert await visitor.standing.until("notifications/resources/list_changed")


async def test_a_list_that_is_announced_and_the_same_is_told_all_the_same(house):
    server = speaker()
    visitor = await (await house(a=server)).visitor()
    server.say("notifications/tools/list_changed")
    assert await visitor.standing.until("notifications/tools/list_changed")


async def test_changes_in_quick_succession_are_told_together_and_end_with_the_last_list(house):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor()
    for number in range(50):
        server.tool(f"y{number}")
        server.say("notifications/tools/list_changed")
    told = 0
    while len(await visitor.tools()) < 51:
        told += 1
        await visitor.standing.until("notifications/tools/list_changed", told)
    assert len(server.seen("tools/list")) < 10
    assert len(visitor.standing.of("notifications/tools/list_changed")) < 10


async def test_a_short_lived_list_is_looked_at_again_when_someone_asks(house, until, monkeypatch):
    monkeypatch.setattr(server_module, "STALE_SECONDS", 0.0)
    server = MemoryServer(modern=True, capabilities={"tools": {}}).tool("x")
    server.list_more = {"ttlMs": 1}
    one = await house(a=server)
    visitor = await one.visitor()
    server.tool("y")
    await until(lambda: one.server("a").lifetime is not None)
    async with asyncio.timeout(30):
        while await visitor.tools() != ["x", "y"]:
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("modern", [False, True])
async def test_a_list_that_holds_or_is_announced_is_not_looked_at_again(house, modern):
    server = speaker(modern=modern)
    visitor = await (await house(a=server)).visitor()
    for _ in range(3):
        await visitor.tools()
    assert len(server.seen("tools/list")) == 1


# -- logs ------------------------------------------------------------------------------------------------------------


async def test_a_level_is_told_to_the_servers_that_log_the_least_grave_of_all(house, weather):
    server = speaker()
    one = await house(a=server, b=weather)
    first, second = await one.visitor(), await one.visitor()
    assert await first.ask("logging/setLevel", {"level": "warning"}) == {}
    await second.ask("logging/setLevel", {"level": "error"})
    await second.ask("logging/setLevel", {"level": "debug"})
    assert [params["level"] for params in server.seen("logging/setLevel")] == ["warning", "debug"]
    assert not weather.seen("logging/setLevel")


async def test_when_the_one_who_wanted_most_leaves_servers_say_less(house):
    server = speaker()
    one = await house(a=server)
    quiet, loud = await one.visitor(), await one.visitor()
    await quiet.ask("logging/setLevel", {"level": "error"})
    await loud.ask("logging/setLevel", {"level": "debug"})
    await one.gateway.leave(loud.client)
    assert [params["level"] for params in server.seen("logging/setLevel")] == ["error", "debug", "error"]


async def test_on_a_way_of_its_own_a_client_gets_exactly_its_level(house):
    server = speaker()
    one = await house(a=server)
    visitor, other = await one.visitor(capabilities={"roots": {}}), await one.visitor()
    await visitor.call("x")
    await other.ask("logging/setLevel", {"level": "debug"})
    await visitor.ask("logging/setLevel", {"level": "error"})
    levels = [
        (asked.way is server.ways[0], asked.params["level"])
        for asked in server.received
        if "level" in asked.params
    ]
    assert levels == [(True, "debug"), (False, "error")]


async def test_a_client_that_set_its_level_before_its_way_was_opened_is_not_forgotten(house):
    server = speaker()
    visitor = await (await house(a=server)).visitor(capabilities={"roots": {}})
    await visitor.ask("logging/setLevel", {"level": "error"})
    await visitor.call("x")
    assert [
        asked.params["level"]
        for asked in server.received
        if asked.way is server.ways[1] and "level" in asked.params
    ] == ["error"]


@pytest.mark.parametrize("level", [None, "loud", 5, ["error"]])
async def test_a_level_that_is_none_is_refused(house, level):
    with pytest.raises(RpcError, match="level must be one of debug, info"):
        await (await (await house(a=speaker())).visitor()).ask("logging/setLevel", {"level": level})


async def test_what_a_server_logs_to_nobody_is_heard_by_those_who_set_a_level(house):
    server = speaker()
    one = await house(a=server)
    silent, loud, grave = await one.visitor(), await one.visitor(), await one.visitor()
    await loud.ask("logging/setLevel", {"level": "debug"})
    await grave.ask("logging/setLevel", {"level": "error"})
    server.say("notifications/message", {"level": "info", "data": "d"})
    server.say("notifications/own", {"a": 1})
    assert len(loud.standing.of("notifications/message")) == 1
    assert not grave.standing.of("notifications/message")
    assert not silent.standing.of("notifications/message")
    assert all(visitor.standing.of("notifications/own") for visitor in (silent, loud, grave))


async def test_the_level_of_those_who_cannot_be_told_is_kept_for_later(house):
    server = speaker()
    one = await house(a=server)
    server.on("logging/setLevel", AwfError("EXECUTION.MCP_SERVER.TIMEOUT", "slow"))
    visitor = await one.visitor()
    assert await visitor.ask("logging/setLevel", {"level": "error"}) == {}
    assert one.server("a")._anchor.level == "error"


# -- what clients say ------------------------------------------------------------------------------------------------


async def test_what_a_client_says_goes_to_the_servers_that_know_it(house, until):
    a, b = speaker(), speaker()
    one = await house(a=a, b=b)
    visitor = await one.visitor(capabilities={"roots": {}})
    await visitor.call("a__x")
    for method in (
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/roots/list_changed",
    ):
        one.gateway.heard(visitor.client, {"method": method, "params": {"a": 1}})
    await until(lambda: a.seen("notifications/roots/list_changed"))
    assert a.seen("notifications/roots/list_changed") == [{"a": 1}]
    assert [asked.method for asked in a.received if asked.method.startswith("notifications/")] == [
        "notifications/roots/list_changed"
    ]
    assert not b.seen("notifications/roots/list_changed")


async def test_what_a_client_says_to_a_server_that_is_gone_is_lost_quietly(house, until):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor(capabilities={"roots": {}})
    await visitor.call("x")
    await server.ways[1].close()
    one.gateway.heard(visitor.client, {"method": "notifications/roots/list_changed"})
    await asyncio.sleep(0.01)
    assert not server.seen("notifications/roots/list_changed")


async def test_a_session_takes_its_way_with_it(house):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor(capabilities={"roots": {}})
    await visitor.call("x")
    assert len(server.connected) == 2
    await one.gateway.leave(visitor.client)
    assert len(server.connected) == 1
    assert server.ways[1].closed


async def test_every_list_has_a_name_for_its_change(ear):
    hub, heard = Hub(), ear()

    class One:
        def tell(self, message, exchange=None):
            return heard.send(message)

    hub.clients["1"] = One()
    for kind in ("tools", "prompts", "resources"):
        hub.changed(kind)
    assert [message["method"] for message in heard.heard] == [
        f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")
    ]
