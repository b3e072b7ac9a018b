"""What the gateway says of itself, and lists fetched to their end."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gateway.greeting import joined_capabilities, joined_instructions
from awf.application.gateway.listing import fetch_all
from awf.domain import paging
from awf.domain.errors import AwfError
from awf.domain.mcp import Era, RpcError
from awf.domain.ports.upstream import Guise
from awf.testing.memory_upstreams import MemoryServer


def era(**capabilities):
    return Era(modern=False, version="2025-11-25", capabilities=capabilities)


def test_a_gateway_can_do_what_any_of_its_servers_can():
    first = era(tools={}, resources={"subscribe": False, "more": {"a": 1}}, logging={})
    second = era(resources={"subscribe": True, "more": {"b": 2}}, prompts={"listChanged": True})
    assert joined_capabilities([first, second]) == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "more": {"a": 1, "b": 2}},
        "logging": {},
        "prompts": {"listChanged": True},
    }


def test_a_gateway_without_servers_still_has_a_list_of_tools():
    assert joined_capabilities([]) == {"tools": {"listChanged": True}}
    assert joined_capabilities([era(tools={"listChanged": False})])["tools"] == {"listChanged": True}


@pytest.mark.parametrize("name", ["tasks", "experimental", "extensions"])
def test_what_does_not_say_whom_it_is_for_is_offered_for_one_server_only(name):
    assert name in joined_capabilities([era(**{name: {"x": 1}})])
    assert name not in joined_capabilities([era(**{name: {"x": 1}}), era()])


def test_where_servers_say_different_things_the_first_counts():
    assert joined_capabilities([era(own={"n": 1}), era(own={"n": 2})])["own"] == {"n": 1}
    assert joined_capabilities([era(own=None), era(own={"n": 2})])["own"] == {"n": 2}


ABILITY = st.dictionaries(st.sampled_from("abc"), st.booleans(), max_size=3)


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["tools", "prompts", "logging"]), ABILITY, max_size=3), max_size=4
    )
)
def test_no_server_loses_an_ability_by_company(capabilities):
    joined = joined_capabilities([era(**one) for one in capabilities])
    for one in capabilities:
        for name, abilities in one.items():
            assert all(joined[name].get(key) for key, value in abilities.items() if value is True)


def test_instructions_are_told_with_the_name_of_their_server_where_there_are_several():
    assert joined_instructions([]) == ""
    assert joined_instructions([("a", "Do.")]) == "Do."
    assert joined_instructions([("a", ""), ("b", "Go.")]) == "# b\nGo."
    assert joined_instructions([("a", "Do."), ("b", "Go.")], "All.") == "All.\n\n# a\nDo.\n\n# b\nGo."
    assert joined_instructions([("a", "")], "All.") == "All."


# -- lists -----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def fetched():
    """A function that fetches the tools of a server."""

    async def fetch(server, kind="tools"):
        way = server.open(Guise(), None)
        return await fetch_all(way, kind, await way.connect())

    return fetch


async def test_a_list_is_fetched_to_its_end(fetched):
    server = MemoryServer()
    for number in range(5):
        server.tool(f"t{number}")
    server.page = 2
    tools, lifetime = await fetched(server)
    assert [tool["name"] for tool in tools] == ["t0", "t1", "t2", "t3", "t4"]
    assert [params.get("cursor") for params in server.seen("tools/list")] == [None, "2", "4"]
    assert lifetime == 0.0


async def test_what_a_server_does_not_have_is_not_asked_for(fetched):
    server = MemoryServer(capabilities={"tools": {}})
    assert await fetched(server, "prompts") == ((), math.inf)
    assert not server.received


async def test_a_server_that_says_nothing_of_itself_is_asked(fetched):
    silent = MemoryServer(capabilities={}).on("prompts/list", RpcError(-32601, "no"))
    assert await fetched(silent, "prompts") == ((), math.inf)
    assert await fetched(silent.tool("x")) != ((), math.inf)


async def test_an_error_in_a_list_is_an_error(fetched):
    with pytest.raises(RpcError, match="broken"):
        await fetched(MemoryServer().on("tools/list", RpcError(-32603, "broken")))


@pytest.mark.parametrize("ttl, seconds", [(1500, 1.5), (0, 0.0), (-5, 0.0), ("x", 0.0), (None, 0.0)])
async def test_a_list_holds_for_as_long_as_it_says(fetched, ttl, seconds):
    server = MemoryServer().on("tools/list", {"tools": [], "ttlMs": ttl})
    assert (await fetched(server))[1] == seconds


async def test_what_is_no_tool_is_left_out(fetched):
    server = MemoryServer().on("tools/list", {"tools": [5, {"name": "x"}, None]})
    assert (await fetched(server))[0] == ({"name": "x"},)
    assert (await fetched(MemoryServer().on("tools/list", {"tools": "x", "nextCursor": 5})))[0] == ()


async def test_a_list_that_repeats_its_pages_is_refused(fetched):
    server = MemoryServer().on("tools/list", {"tools": [], "nextCursor": "again"})
    with pytest.raises(AwfError, match="list of tools does not end") as caught:
        await fetched(server)
    assert caught.value.code == "EXECUTION.MCP_SERVER.PROTOCOL"
    assert len(server.seen("tools/list")) == 2


async def test_a_list_that_goes_on_and_on_is_refused(fetched, monkeypatch):
    def page(asked):
        return {"tools": [{}] * 3, "nextCursor": str(int(asked.params.get("cursor", "0")) + 1)}

    monkeypatch.setattr(paging, "ITEMS", 10)
    with pytest.raises(AwfError, match="does not end"):
        await fetched(MemoryServer().on("tools/list", page))
    monkeypatch.setattr(paging, "ITEMS", 10_000)
    monkeypatch.setattr(paging, "PAGES", 4)
    endless = MemoryServer().on("tools/list", page)
    with pytest.raises(AwfError, match="does not end"):
        await fetched(endless)
    assert len(endless.seen("tools/list")) == 4
