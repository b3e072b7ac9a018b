"""Resources, templates, prompts and completions of many servers behind one door."""

from __future__ import annotations

import base64
import logging

import pytest

from awf.application.gateway import resources as module
from awf.domain.errors import AwfError
from awf.domain.gateway_file import Profile
from awf.domain.mcp import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from awf.testing.memory_upstreams import MemoryServer

LIST, TEMPLATES = "resources/list", "resources/templates/list"


def shelf(*uris, templates=(), page=0, **more):
    server = MemoryServer(capabilities={"resources": {"subscribe": True}}, **more)
    server.lists["resources"] = [{"uri": uri, "name": uri} for uri in uris]
    server.lists["resourceTemplates"] = [{"uriTemplate": one, "name": one} for one in templates]
    server.page = page
    held = {*uris}

    def read(asked):
        uri = asked.params["uri"]
        fits = uri in held or any(uri.startswith(one.partition("{")[0]) for one in templates)
        return {"contents": [{"uri": uri}]} if fits else RpcError(-32002, "Resource not found")

    return server.on("resources/read", read)


async def walk(visitor, method=LIST, key="resources"):
    """All pages: the addresses on each of them."""
    pages, params = [], {}
    while True:
        page = await visitor.ask(method, params)
        pages.append([item.get("uri") or item.get("uriTemplate") for item in page[key]])
        if "nextCursor" not in page:
            return pages
        params = {"cursor": page["nextCursor"]}


# -- lists -----------------------------------------------------------------------------------------------------------


async def test_the_pages_of_one_server_are_passed_on_with_its_own_cursors(house):
    visitor = await (await house(a=shelf("u1", "u2", page=1), b=MemoryServer())).visitor()
    page = await visitor.ask(LIST)
    assert page["nextCursor"] == "1"
    assert await walk(visitor) == [["u1"], ["u2"]]


async def test_several_servers_are_listed_one_after_the_other_page_by_page(house):
    servers = {"a": shelf("a1", "a2", "a3", page=2), "b": shelf(), "c": shelf("c1"), "d": shelf()}
    for visit in ("visitor", "modern"):
        visitor = await getattr(await house(**servers), visit)()
        assert await walk(visitor) == [["a1", "a2"], ["a3"], ["c1"], []]


async def test_templates_are_listed_in_the_same_way(house):
    visitor = await (await house(a=shelf(templates=["a:{x}"]), b=shelf(templates=["b:{x}"]))).visitor()
    assert await walk(visitor, TEMPLATES, "resourceTemplates") == [["a:{x}"], ["b:{x}"]]


async def test_an_empty_page_that_has_a_next_one_is_shown(house):
    empty_first = shelf()
    pages = {None: {"resources": [], "nextCursor": "n"}, "n": {"resources": [{"uri": "u"}]}}
    empty_first.on(LIST, lambda asked: pages[asked.params.get("cursor")])
    visitor = await (await house(a=empty_first, b=shelf("b1"))).visitor()
    assert await walk(visitor) == [[], ["u"], ["b1"]]


async def test_where_nobody_has_resources_there_is_no_such_method(house, weather):
    with pytest.raises(RpcError, match="Method not found") as caught:
        await (await (await house(a=weather)).visitor()).ask(LIST)
    assert caught.value.code == METHOD_NOT_FOUND


@pytest.mark.parametrize(
    "cursor",
    [
        "junk",
        5,
        "",
        "é",
        base64.urlsafe_b64encode(b'["gone", null]').decode(),
        base64.urlsafe_b64encode(b"[1]").decode(),
        base64.urlsafe_b64encode(b"5").decode(),
    ],
)
async def test_a_cursor_we_never_gave_is_refused(house, cursor):
    visitor = await (await house(a=shelf("u"), b=shelf("v"))).visitor()
    with pytest.raises(RpcError, match="unknown cursor") as caught:
        await visitor.ask(LIST, {"cursor": cursor})
    assert caught.value.code == INVALID_PARAMS


async def test_a_cursor_that_is_nested_too_deeply_is_refused(house):
    visitor = await (await house(a=shelf("u"), b=shelf("v"))).visitor()
    with pytest.raises(RpcError, match="unknown cursor"):
        await visitor.ask(LIST, {"cursor": base64.urlsafe_b64encode(b"[" * 200_000).decode()})


async def test_a_server_that_cannot_be_asked_does_not_hide_the_others(house, caplog):
    broken = shelf().on(LIST, AwfError("EXECUTION.MCP_SERVER.TIMEOUT", "too slow"))
    visitor = await (
        await house(a=broken, b=shelf("b1"), c=shelf().on(LIST, RpcError(-32603, "no")))
    ).visitor()
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        assert await walk(visitor) == [["b1"], []]
    assert "resources/list of MCP server a is left out: too slow" in caplog.text


async def test_a_cursor_that_its_server_refuses_is_refused(house):
    def pages(asked):
        return (
            RpcError(INVALID_PARAMS, "stale cursor")
            if "cursor" in asked.params
            else {"resources": [{"uri": "u"}], "nextCursor": "n"}
        )

    visitor = await (await house(a=shelf().on(LIST, pages), b=shelf("b1"))).visitor()
    with pytest.raises(RpcError, match="stale cursor"):
        await walk(visitor)


async def test_items_of_no_known_shape_are_passed_on_and_not_remembered(house):
    odd = shelf().on(LIST, {"resources": [5, {"uri": 7}, {"uri": "u"}]})
    visitor = await (await house(a=odd, b=shelf())).visitor()
    assert (await visitor.ask(LIST))["resources"] == [5, {"uri": 7}, {"uri": "u"}]
    odd.on(LIST, {"resources": "odd"})
    assert (await visitor.ask(LIST))["resources"] == "odd"


async def test_a_list_of_something_else_is_an_empty_page(house):
    visitor = await (await house(a=shelf().on(LIST, {}), b=shelf("b1"))).visitor()
    assert await walk(visitor) == [["b1"]]


# -- reading ---------------------------------------------------------------------------------------------------------


async def test_one_server_is_asked_for_every_resource(house):
    visitor = await (await house(a=shelf("u"))).visitor()
    assert (await visitor.ask("resources/read", {"uri": "u"}))["contents"] == [{"uri": "u"}]
    with pytest.raises(RpcError, match="not found"):
        await visitor.ask("resources/read", {"uri": "other"})


async def test_a_resource_is_read_where_it_lies(house):
    a, b = shelf("a:1"), shelf("b:1", templates=["t:{id}/x"])
    visitor = await (await house(a=a, b=b)).visitor()
    for uri in ("a:1", "b:1", "t:5/x"):
        assert (await visitor.ask("resources/read", {"uri": uri}))["contents"] == [{"uri": uri}]
    assert [params["uri"] for params in a.seen("resources/read")] == ["a:1"]
    assert [params["uri"] for params in b.seen("resources/read")] == ["b:1", "t:5/x"]


async def test_a_resource_that_no_list_has_is_looked_for_on_each_server(house):
    a, b = shelf(), shelf()
    b.on("resources/read", {"contents": []})
    visitor = await (await house(a=a, b=b)).visitor()
    assert await visitor.ask("resources/read", {"uri": "hidden:1"}) == {"contents": []}
    assert a.seen("resources/read")


async def test_an_unreachable_server_is_passed_over_in_the_search(house):
    a, b = shelf(), shelf()
    a.on("resources/read", AwfError("EXECUTION.MCP_SERVER.TIMEOUT", "too slow"))
    b.on("resources/read", {"contents": []})
    visitor = await (await house(a=a, b=b)).visitor()
    assert await visitor.ask("resources/read", {"uri": "hidden:1"}) == {"contents": []}


@pytest.mark.parametrize(("visit", "code"), [("visitor", -32002), ("modern", INVALID_PARAMS)])
async def test_a_resource_that_nobody_has_is_told_in_the_words_of_the_era(house, visit, code):
    visitor = await getattr(await house(a=shelf("u"), b=shelf("v")), visit)()
    with pytest.raises(RpcError, match="Resource not found: w") as caught:
        await visitor.ask("resources/read", {"uri": "w"})
    assert (caught.value.code, caught.value.data) == (code, {"uri": "w"})


async def test_a_server_that_knows_the_resource_and_fails_is_believed(house):
    visitor = await (
        await house(a=shelf().on("resources/read", RpcError(-32603, "disk broken")), b=shelf())
    ).visitor()
    with pytest.raises(RpcError, match="disk broken"):
        await visitor.ask("resources/read", {"uri": "w"})


@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe", "resources/unsubscribe"])
async def test_an_address_must_be_a_text(house, method):
    visitor = await (await house(a=shelf("u"), b=shelf())).visitor()
    with pytest.raises(RpcError, match="uri must be a string"):
        await visitor.ask(method, {"uri": 5})


async def test_of_two_servers_with_one_resource_the_first_has_it(house):
    a, b = shelf("u"), shelf("u")
    visitor = await (await house(a=a, b=b)).visitor()
    await visitor.ask("resources/read", {"uri": "u"})
    assert a.seen("resources/read")
    assert not b.seen("resources/read")


async def test_a_resource_whose_first_server_is_out_of_sight_is_found_on_the_other(house):
    file = {"profiles": {"only-b": Profile(tools=["b:*", "c:*"])}}
    one = await house(a=shelf("u"), b=shelf("u"), c=shelf(), file=file)
    whole, some = await one.visitor(), await one.visitor(profile="only-b")
    await whole.ask("resources/subscribe", {"uri": "u"})
    assert await some.ask("resources/subscribe", {"uri": "u"}) == {}


async def test_what_is_remembered_of_resources_is_bounded(house, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 2)
    a, b = shelf("u1", "u2", "u3", templates=["a:{x}", "b:{x}", "c:{x}"]), shelf("v")
    one = await house(a=a, b=b)
    visitor = await one.visitor()
    for uri in ("u1", "u3", "v", "a:1", "c:1"):
        assert (await visitor.ask("resources/read", {"uri": uri}))["contents"] == [{"uri": uri}]
    assert len(one.gateway._resources._owners) <= 2
    assert len(one.gateway._resources._templates) <= 2


async def test_a_search_through_endless_lists_ends(house, monkeypatch):
    monkeypatch.setattr(module, "SWEEP_PAGES", 3)
    endless = shelf().on(LIST, lambda asked: {"resources": [{"uri": "x"}], "nextCursor": "more"})
    visitor = await (await house(a=endless, b=shelf("v"))).visitor()
    with pytest.raises(RpcError, match="not found"):
        await visitor.ask("resources/read", {"uri": "w"})
    assert len(endless.seen(LIST)) == 3


async def test_a_template_with_many_places_does_not_keep_the_gateway_busy(house):
    """With backtracking this would take longer than anyone lives."""
    hostile = shelf(templates=["x:" + "{a}" * 12 + "!", "x:" + "{a}-" * 12 + "!"])
    visitor = await (await house(a=hostile, b=shelf())).visitor()
    await visitor.ask("resources/templates/list")
    with pytest.raises(RpcError, match="No server here has the resource"):
        await visitor.ask("resources/subscribe", {"uri": "x:" + "-a" * 300})


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("plain:x", "plain:x", True),
        ("plain:x", "plain:xy", False),
        ("a:{x}", "a:1", True),
        ("a:{x}", "a:", False),
        ("a:{x}", "b:1", False),
        ("a:{x}/end", "a:1/end", True),
        ("a:{x}/end", "a:1/other", False),
        ("a:{+path}/{id}/end", "a:1/2/end", True),
        ("a:{x}/mid/{y}/end", "a:1/2/end", False),
        ("{all}", "whatever:1", True),
    ],
)
def test_what_fits_a_template(template, uri, fits):
    assert module._fits(uri, module._PLACE.split(template)) is fits


# -- prompts ---------------------------------------------------------------------------------------------------------


def stage(*names, **more):
    server = MemoryServer(capabilities={"prompts": {}, "completions": {}}, **more)
    server.lists["prompts"] = [{"name": name, "title": name.title()} for name in names]
    server.on("prompts/get", lambda asked: {"messages": [], "name": asked.params["name"]})
    return server.on("completion/complete", lambda asked: {"completion": {"values": [asked.params["ref"]]}})


async def test_prompts_have_their_own_names_or_that_of_their_server_before_it(house):
    one = await house(a=stage("both", "mine"), b=stage("both"))
    visitor = await one.visitor()
    listed = (await visitor.ask("prompts/list"))["prompts"]
    assert [prompt["name"] for prompt in listed] == ["a__both", "mine", "b__both"]
    assert listed[0]["title"] == "Both"
    assert (await visitor.ask("prompts/get", {"name": "b__both"}))["name"] == "both"
    assert one.memory["b"].seen("prompts/get")


async def test_a_prompt_is_not_lost_to_another_that_has_the_name_it_would_get(house):
    one = await house(a=stage("x"), b=stage("x", "a__x"))
    visitor = await one.visitor()
    names = [prompt["name"] for prompt in (await visitor.ask("prompts/list"))["prompts"]]
    assert len(set(names)) == 3
    for name in names:
        await visitor.ask("prompts/get", {"name": name})
    asked = [(server, params["name"]) for server in "ab" for params in one.memory[server].seen("prompts/get")]
    assert sorted(asked) == [("a", "x"), ("b", "a__x"), ("b", "x")]


async def test_prompts_without_a_name_are_left_out(house):
    server = stage("p")
    server.lists["prompts"] += [{"title": "x"}, {"name": 5}]
    visitor = await (await house(a=server)).visitor()
    assert [prompt["name"] for prompt in (await visitor.ask("prompts/list"))["prompts"]] == ["p"]


async def test_the_list_of_prompts_is_one_page(house):
    visitor = await (await house(a=stage("p"))).visitor()
    with pytest.raises(RpcError, match="unknown cursor"):
        await visitor.ask("prompts/list", {"cursor": "x"})


async def test_the_list_of_prompts_in_the_newer_era_says_how_long_it_holds(house):
    result = await (await (await house(a=stage("p"))).modern()).ask("prompts/list")
    assert (result["resultType"], result["ttlMs"]) == ("complete", 0)


async def test_an_unknown_prompt_is_refused_unless_there_is_one_server_to_ask(house):
    alone = await (await house(a=stage("p"))).visitor()
    assert (await alone.ask("prompts/get", {"name": "hidden"}))["name"] == "hidden"
    among = await (await house(a=stage("p"), b=stage("q"))).visitor()
    with pytest.raises(RpcError, match="Unknown prompt: hidden"):
        await among.ask("prompts/get", {"name": "hidden"})
    with pytest.raises(RpcError, match="Unknown prompt: None"):
        await among.ask("prompts/get")


# -- completion ------------------------------------------------------------------------------------------------------


async def test_completions_are_asked_of_the_server_that_has_the_prompt_or_the_resource(house):
    a, b = stage("p"), stage("p", "q")
    b.capabilities["resources"] = a.capabilities["resources"] = {}
    b.lists["resourceTemplates"] = [{"uriTemplate": "b:{x}"}]
    visitor = await (await house(a=a, b=b)).visitor()

    async def completed(**ref):
        result = await visitor.ask(
            "completion/complete", {"ref": ref, "argument": {"name": "n", "value": "v"}}
        )
        return result["completion"]["values"][0]

    assert await completed(type="ref/prompt", name="b__p") == {"type": "ref/prompt", "name": "p"}
    assert await completed(type="ref/prompt", name="q") == {"type": "ref/prompt", "name": "q"}
    assert await completed(type="ref/resource", uri="b:{x}") == {"type": "ref/resource", "uri": "b:{x}"}
    assert not a.seen("completion/complete")
    assert len(b.seen("completion/complete")) == 3


@pytest.mark.parametrize("ref", [{"name": "none"}, {"uri": 5}, {}, {"uri": "nowhere:1"}])
async def test_a_reference_that_leads_nowhere_is_refused(house, ref):
    a, b = stage("p"), stage("q")
    a.capabilities["resources"] = {}
    visitor = await (await house(a=a, b=b)).visitor()
    with pytest.raises(RpcError, match="leads to nothing") as caught:
        await visitor.ask("completion/complete", {"ref": ref})
    assert caught.value.code == INVALID_PARAMS


async def test_the_only_server_decides_itself_about_a_reference(house):
    visitor = await (await house(a=stage("p"), b=MemoryServer())).visitor()
    result = await visitor.ask("completion/complete", {"ref": {"uri": "any"}})
    assert result["completion"]["values"] == [{"uri": "any"}]


@pytest.mark.parametrize("ref", [None, "x"])
async def test_a_reference_must_be_an_object(house, ref):
    with pytest.raises(RpcError, match="ref must be an object") as caught:
        await (await (await house(a=stage("p"))).visitor()).ask("completion/complete", {"ref": ref})
    assert caught.value.code == INVALID_PARAMS


async def test_where_no_server_completes_there_is_no_such_method(house, weather):
    with pytest.raises(RpcError, match="Method not found"):
        await (await (await house(a=weather)).visitor()).ask("completion/complete", {"ref": {"name": "p"}})
