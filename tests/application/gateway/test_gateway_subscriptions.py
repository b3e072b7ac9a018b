"""Who wants to hear of what: streams of the newer era, subscriptions of the older one, told to each server once."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gateway import gateway as gateway_module
from awf.application.gateway import server as server_module
from awf.application.gateway import watching
from awf.application.gateway.hub import Hub
from awf.domain.errors import AwfError
from awf.domain.mcp import INVALID_PARAMS, RESERVED_META, RpcError
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


# -- streams of the newer era ----------------------------------------------------------------------------------------


async def test_a_listener_hears_what_it_asked_for_under_its_own_id(house, until):
    server = speaker()
    one = await house(a=server)
    visitor = await one.modern()
    both = visitor.begin("subscriptions/listen", listens("tools", "prompts"))
    tools = visitor.begin("subscriptions/listen", listens("tools"))
    acknowledged = await both.ear.until(ACK)
    assert acknowledged["params"] == {
        "notifications": {"promptsListChanged": True, "toolsListChanged": True},
        "_meta": {SUBSCRIPTION: both.exchange.id},
    }
    await tools.ear.until(ACK)
    server.say("notifications/prompts/list_changed")
    server.say("notifications/tools/list_changed")
    heard = await both.ear.until("notifications/prompts/list_changed")
    assert heard["params"] == {"_meta": {SUBSCRIPTION: both.exchange.id}}
    await tools.ear.until("notifications/tools/list_changed")
    assert not tools.ear.of("notifications/prompts/list_changed")
    for stream in (both, tools):
        await stream.cancelled()
    assert not one.gateway.hub.listeners


async def test_only_what_can_be_heard_is_agreed_to(house, weather):
    visitor = await (await house(a=weather)).modern()
    stream = visitor.begin("subscriptions/listen", listens("tools", "prompts", "resources", uris=["u", 5]))
    acknowledged = await stream.ear.until(ACK)
    assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
    await stream.cancelled()


async def test_there_is_a_limit_to_those_who_listen(house, weather, monkeypatch):
    monkeypatch.setattr(gateway_module, "MOST_LISTENERS", 1)
    visitor = await (await house(a=weather)).modern()
    stream = visitor.begin("subscriptions/listen", listens("tools"))
    await stream.ear.until(ACK)
    with pytest.raises(RpcError, match="too many who listen"):
        await visitor.ask("subscriptions/listen", listens("tools"))
    await stream.cancelled()


@pytest.mark.parametrize("params", [{}, {"notifications": []}])
async def test_who_wants_to_listen_must_say_to_what(house, weather, params):
    with pytest.raises(RpcError, match="notifications must be an object") as caught:
        await (await (await house(a=weather)).modern()).ask("subscriptions/listen", params)
    assert caught.value.code == INVALID_PARAMS


async def test_a_stream_ends_with_an_answer_when_the_gateway_does(house, weather):
    one = await house(a=weather)
    stream = (await one.modern()).begin("subscriptions/listen", listens("tools", uris="odd"))
    await stream.ear.until(ACK)
    await one.gateway.close()
    result = await stream.answer()
    assert result["resultType"] == "complete"
    assert result["_meta"][SUBSCRIPTION] == stream.exchange.id


@pytest.mark.parametrize("modern", [False, True])
async def test_a_listener_hears_of_its_resources_from_servers_of_either_era(house, until, modern):
    server = speaker(modern)
    visitor = await (await house(a=server)).modern()
    stream = visitor.begin("subscriptions/listen", listens(uris=["u"]))
    acknowledged = await stream.ear.until(ACK)
    assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": ["u"]}
    await until(lambda: {"resourceSubscriptions": ["u"]} in server.ways[0].listening or not modern)
    server.say(UPDATED, {"uri": "u", "_meta": {"k": 1}})
    server.say(UPDATED, {"uri": "v"})
    heard = await stream.ear.until(UPDATED)
    assert heard["params"] == {"uri": "u", "_meta": {"k": 1, SUBSCRIPTION: stream.exchange.id}}
    assert len(stream.ear.of(UPDATED)) == 1
    await stream.cancelled()
    if modern:
        assert {"resourceSubscriptions": ["u"]} not in server.ways[0].listening
    else:
        assert server.seen("resources/unsubscribe") == [{"uri": "u"}]


async def test_what_a_client_that_may_be_asked_watches_is_given_back_where_it_was_watched(house):
    server = speaker()
    one = await house(a=server)
    visitor = await one.modern(capabilities={"roots": {}})
    for _ in range(2):
        stream = visitor.begin("subscriptions/listen", listens(uris=["u"]))
        await stream.ear.until(ACK)
        await stream.cancelled()
    ways = [(one.method, one.way) for one in server.received if one.method.startswith("resources/")]
    assert [method for method, _ in ways] == ["resources/subscribe", "resources/unsubscribe"] * 2
    assert ways[0][1] is ways[1][1]
    assert len(server.connected) == 1


async def test_a_way_on_which_somebody_watches_is_not_closed_for_being_idle(house, monkeypatch, until):
    server = speaker()
    one = await house(a=server)
    stream = (await one.modern(capabilities={"roots": {}})).begin("subscriptions/listen", listens(uris=["u"]))
    await stream.ear.until(ACK)
    watched = next(asked.way for asked in server.received if asked.method == "resources/subscribe")
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 0.005)
    for key, lane in one.server("a")._lanes.items():
        one.server("a")._close_when_idle(key, lane)
    await asyncio.sleep(0.05)
    assert not watched.closed
    await stream.cancelled()


async def test_a_stream_that_is_left_before_it_has_begun_gives_back_what_it_had(house):
    server = speaker()
    gate = server.hold("resources/subscribe")
    one = await house(a=server)
    stream = (await one.modern()).begin("subscriptions/listen", listens(uris=["u", "v"]))
    await gate.reached()
    server.on("resources/subscribe", lambda asked: {})
    gate.open()
    second = server.hold("resources/subscribe")
    await second.reached()  # the first is watched, the second is not yet
    await stream.cancelled()
    assert one.server("a")._anchor.subscribed == {}


async def test_a_resource_that_cannot_be_watched_is_not_agreed_to(house):
    server = speaker().on("resources/subscribe", RpcError(-32603, "no"))
    stream = (await (await house(a=server)).modern()).begin("subscriptions/listen", listens(uris=["u"]))
    assert (await stream.ear.until(ACK))["params"]["notifications"] == {}
    await stream.cancelled()


# -- subscriptions of the older era ----------------------------------------------------------------------------------


@pytest.mark.parametrize("modern", [False, True])
async def test_a_server_is_told_once_of_all_who_want_to_hear_and_when_the_last_has_enough(
    house, until, modern
):
    server = speaker(modern)
    one = await house(a=server)
    first, second = await one.visitor(), await one.visitor()
    for visitor in (first, second, first):
        assert await visitor.ask("resources/subscribe", {"uri": "u"}) == {}
    if modern:
        await until(lambda: {"resourceSubscriptions": ["u"]} in server.ways[0].listening)
    else:
        assert server.seen("resources/subscribe") == [{"uri": "u"}]
    server.say(UPDATED, {"uri": "u"})
    for visitor in (first, second):
        assert await visitor.standing.until(UPDATED)
    await first.ask("resources/unsubscribe", {"uri": "u"})
    server.say(UPDATED, {"uri": "u"})
    await second.standing.until(UPDATED, 2)
    assert len(first.standing.of(UPDATED)) == 1
    assert not server.seen("resources/unsubscribe")
    await second.ask("resources/unsubscribe", {"uri": "u"})
    if modern:
        assert {"resourceSubscriptions": ["u"]} not in server.ways[0].listening
    else:
        assert server.seen("resources/unsubscribe") == [{"uri": "u"}]


async def test_a_session_that_ends_gives_its_subscriptions_back(house):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor()
    await visitor.ask("resources/subscribe", {"uri": "u"})
    await one.gateway.leave(visitor.client)
    assert server.seen("resources/unsubscribe") == [{"uri": "u"}]
    await one.gateway.leave(visitor.client)
    assert not one.gateway.hub.clients


async def test_a_session_may_end_while_its_server_is_out_of_reach(house):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor()
    await visitor.ask("resources/subscribe", {"uri": "u"})
    server.on("resources/unsubscribe", AwfError("EXECUTION.MCP_SERVER.TIMEOUT", "slow"))
    await one.gateway.leave(visitor.client)
    assert not one.gateway.hub.clients


async def test_who_never_subscribed_cannot_end_the_subscription_of_somebody_else(house):
    server = speaker()
    one = await house(a=server)
    subscribed, other = await one.visitor(), await one.visitor()
    await subscribed.ask("resources/subscribe", {"uri": "u"})
    await other.ask("resources/unsubscribe", {"uri": "u"})
    assert not server.seen("resources/unsubscribe")


@pytest.mark.parametrize("modern", [False, True])
async def test_giving_up_what_nobody_has_is_for_the_server_to_judge_where_it_knows_the_word(house, modern):
    server = speaker(modern)
    visitor = await (await house(a=server)).visitor()
    assert await visitor.ask("resources/unsubscribe", {"uri": "u"}) == {}
    assert len(server.seen("resources/unsubscribe")) == (0 if modern else 1)


async def test_a_subscription_that_is_refused_is_none(house):
    server = speaker().on("resources/subscribe", RpcError(-32603, "no"))
    visitor = await (await house(a=server)).visitor()
    with pytest.raises(RpcError, match="no"):
        await visitor.ask("resources/subscribe", {"uri": "u"})
    assert not visitor.client.subscriptions


async def test_a_resource_that_nobody_has_cannot_be_watched(house, weather):
    both = await (await house(a=speaker(), b=speaker())).visitor()
    none = await (await house(a=weather)).visitor()
    for visitor in (both, none):
        with pytest.raises(RpcError, match="No server here has the resource w"):
            await visitor.ask("resources/subscribe", {"uri": "w"})


async def test_subscriptions_outlive_a_restart_of_the_server(house, until):
    server = speaker()
    one = await house(a=server)
    visitor = await one.visitor()
    await visitor.ask("resources/subscribe", {"uri": "u"})
    server.die()
    await until(lambda: one.server("a").restarts == 1)
    await until(lambda: len(server.seen("resources/subscribe")) == 2)


async def test_a_stream_of_a_server_of_the_newer_era_that_breaks_is_opened_again(house, until, monkeypatch):
    monkeypatch.setattr(watching, "PAUSES", (0.0,))
    server = speaker(modern=True)
    one = await house(a=server)
    visitor = await one.visitor()
    await visitor.ask("resources/subscribe", {"uri": "u"})
    wanted = {"resourceSubscriptions": ["u"]}
    await until(lambda: wanted in server.ways[0].listening)
    server.deaf = RpcError(-32603, "not now")
    server.die()
    await until(lambda: server.ways[0].connections > 1)
    server.deaf = None
    await until(lambda: wanted in server.ways[0].listening)
    server.say(UPDATED, {"uri": "u"})
    assert await visitor.standing.until(UPDATED)


@pytest.mark.parametrize("params", [None, [], {}, {"uri": 5}])
def test_an_update_of_nothing_is_told_to_nobody(params):
    Hub().updated({"method": UPDATED, "params": params})
