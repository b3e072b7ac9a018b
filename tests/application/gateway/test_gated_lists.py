"""Where there is a gate, nothing that a client chooses reaches a server past it: with lists, with what it gives up, with how it calls itself."""

from __future__ import annotations

import base64
import json

import pytest

from awf.domain.label import Label
from awf.domain.mcp import CLIENT_INFO, INVALID_PARAMS, RESERVED_META, RpcError
from awf.domain.override import ToolOverride
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer

pytestmark = pytest.mark.anyio
LIST, TEMPLATES = "resources/list", "resources/templates/list"
ERAS = pytest.mark.parametrize("era", ["visitor", "modern"])
SERVERS = pytest.mark.parametrize("modern", [False, True], ids=["old server", "new server"])
OPEN = {"web:send": ToolOverride(open_world=True)}
LEAK = "what only the agent knows"


def shelf(*uris, page=0, **more):
    server = MemoryServer(capabilities={"tools": {}, "resources": {"subscribe": True}}, **more).tool("send")
    server.lists["resources"] = [{"uri": uri, "name": uri} for uri in uris]
    server.lists["resourceTemplates"] = [{"uriTemplate": f"{uri}/{{x}}", "name": uri} for uri in uris]
    server.page = page
    return server.on("resources/read", lambda asked: {"contents": [{"uri": asked.params["uri"]}]})


@pytest.fixture
def gate():
    return GateLab()


@pytest.fixture
def gated(house, gate):
    async def make(file=None, config=None, **servers):
        return await house(gate=gate, file={"overrides": OPEN, **(file or {})}, config=config, **servers)

    return make


def all_of(house, name="web"):
    """Everything that a server was told, in its handshake as well."""
    server = house.memory[name]
    told = [(one.method, one.params) for one in server.received]
    return json.dumps([*told, *([way.guise.client_info, way.guise.capabilities] for way in server.ways)])


async def knows_a_secret(gate, context="gateway"):
    await gate.contexts.raise_(context, Label("secret"), "test")


def self_made(*parts):
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


# -- lists ---------------------------------------------------------------------------------------------------------------


@ERAS
@SERVERS
@pytest.mark.parametrize("method", [LIST, TEMPLATES])
async def test_a_list_says_nothing_that_its_client_has_chosen(gated, gate, era, modern, method):
    one = await gated(web=shelf("u", modern=modern))
    await knows_a_secret(gate)
    visitor = await getattr(one, era)(name=LEAK, capabilities={"roots": {LEAK: 1}, LEAK: {}})
    asked = await visitor.ask(method, {"odd": LEAK}, meta={"x": LEAK, "traceparent": LEAK}, token=LEAK)
    assert len(next(asked[key] for key in ("resources", "resourceTemplates") if key in asked)) == 1
    assert one.memory["web"].seen(method)
    assert LEAK not in all_of(one)


@ERAS
@pytest.mark.parametrize("servers", [1, 2])
async def test_a_list_goes_on_only_where_its_server_has_said_so(gated, era, servers):
    shelves = {"web": shelf("u1", "u2", page=1), "kb": shelf("k1")}
    one = await gated(**dict(list(shelves.items())[:servers]))
    visitor = await getattr(one, era)()
    for cursor in (
        "1",
        LEAK,
        self_made("web", LEAK),
        self_made("web", LEAK, "00"),
        self_made("web", LEAK, None),
    ):
        with pytest.raises(RpcError, match="unknown cursor") as caught:
            await visitor.ask(LIST, {"cursor": cursor})
        assert caught.value.code == INVALID_PARAMS
    assert one.memory["web"].seen(LIST) == []
    seen, params = [], {}
    while True:
        page = await visitor.ask(LIST, params)
        seen += [item["uri"] for item in page["resources"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert seen == [*(["k1"] if servers == 2 else []), "u1", "u2"]


async def test_a_cursor_of_one_list_leads_nowhere_in_another(gated):
    visitor = await (await gated(web=shelf("u1", "u2", page=1))).visitor()
    cursor = (await visitor.ask(LIST))["nextCursor"]
    with pytest.raises(RpcError, match="unknown cursor"):
        await visitor.ask(TEMPLATES, {"cursor": cursor})


@ERAS
async def test_when_a_resource_is_looked_for_its_servers_hear_nothing_of_the_request(gated, gate, era):
    one = await gated(web=shelf("u"), kb=shelf("k"))
    await knows_a_secret(gate)
    visitor = await getattr(one, era)()
    await visitor.ask("resources/read", {"uri": "k"}, meta={"x": LEAK})
    assert one.memory["web"].seen(LIST)
    assert LEAK not in all_of(one)


@ERAS
async def test_a_server_that_asks_something_while_it_lists_gets_no_answer(gated, era):
    async def nosy(asked):
        with pytest.raises(RpcError, match="Nobody here can answer"):
            await asked.way.ask("elicitation/create", {"message": "?"})
        return {"resources": []}

    one = await gated(web=shelf().on(LIST, nosy))
    visitor = await getattr(one, era)(capabilities={"elicitation": {}})
    assert (await visitor.ask(LIST))["resources"] == []


async def test_without_a_gate_a_list_is_passed_on_as_it_came(house):
    one = await house(web=shelf("u"))
    visitor = await one.visitor(name="name of a client", capabilities={"roots": {}})
    await visitor.ask(LIST, {"odd": 1}, meta={"x": 2})
    assert one.memory["web"].seen(LIST) == [{"odd": 1, "_meta": {"x": 2}}]
    assert "name of a client" in all_of(one)


# -- what is given up ------------------------------------------------------------------------------------------------------


async def test_what_nobody_has_cannot_be_given_up_at_a_server_that_reaches_others(gated, gate):
    one = await gated(web=shelf("u"))
    visitor = await one.visitor()
    await knows_a_secret(gate)
    with pytest.raises(RpcError) as refused:
        await visitor.ask("resources/unsubscribe", {"uri": LEAK})
    assert refused.value.data["code"] == "PERMISSION_DENIED"
    assert LEAK not in all_of(one)
    assert gate.of_kind("decision")[-1].code == "level:open_world"


async def test_what_the_server_may_not_be_told_is_given_up_here(gated, gate):
    one = await gated(web=shelf("u"))
    visitor = await one.visitor()
    await visitor.ask("resources/subscribe", {"uri": "u"})
    await knows_a_secret(gate)
    with pytest.raises(RpcError):
        await visitor.ask("resources/unsubscribe", {"uri": "u"})
    one.memory["web"].say("notifications/resources/updated", {"uri": "u"})
    assert visitor.standing.of("notifications/resources/updated") == []
    assert one.memory["web"].seen("resources/unsubscribe") == []


async def test_what_a_session_that_ends_gives_up_counts_as_of_its_context(gated, gate):
    one = await gated(web=shelf("u"))
    visitor = await one.visitor()
    await visitor.ask("resources/subscribe", {"uri": "u"}, headers={"x-awf-context": "ctx-1"})
    await one.gateway.leave(visitor.client)
    assert one.memory["web"].seen("resources/unsubscribe") == [{"uri": "u"}]
    [ended] = [entry for entry in gate.of_kind("decision") if entry.tool_id == "web:resources/unsubscribe"]
    assert ended.context == "ctx-1"


# -- how a client calls itself ----------------------------------------------------------------------------------------------


@ERAS
@SERVERS
async def test_servers_hear_that_awf_asks_and_what_they_may_ask_back(gated, era, modern):
    one = await gated(web=shelf("u", modern=modern), config={"web": {"session": "client"}})
    able = {"elicitation": {"form": {LEAK: 1}, LEAK: {}}, "sampling": {}, "experimental": {LEAK: {}}}
    visitor = await getattr(one, era)(name=LEAK, capabilities=able)
    await visitor.call("send")
    assert LEAK not in all_of(one)
    plain, web = {"elicitation": {"form": {}}, "sampling": {}}, one.memory["web"]
    meta = web.seen("tools/call")[-1].get("_meta", {})
    guise = web.received[-1].way.guise
    told = meta.get(f"{RESERVED_META}clientInfo", guise.client_info)
    assert told == CLIENT_INFO
    assert meta.get(f"{RESERVED_META}clientCapabilities", guise.capabilities) == plain
