"""Many servers as one list of tools: names, order, overrides, profiles, and what is wrong with them."""

from __future__ import annotations

import pytest

from awf.application.gateway.view import build_view
from awf.domain import gateway_file
from awf.domain.gateway_file import GatewayFile, GatewayServer, Profile
from awf.domain.override import ToolOverride


def tool(name, **more):
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


def a_file(*servers, overrides=None, **more):
    known = {name: GatewayServer(command="x") for name in servers}
    return GatewayFile(servers={**known, **more.pop("special", {})}, overrides=overrides or {}, **more)


def names(view):
    return [one["name"] for one in view.definitions()]


def test_tools_come_in_the_order_of_servers_and_then_of_names():
    file = a_file("b", "a")
    view, problems = build_view(file, {"b": [tool("y"), tool("x")], "a": [tool("z")]})
    assert (names(view), problems) == (["z", "x", "y"], [])
    assert [one.id for one in view.tools] == ["a:z", "b:x", "b:y"]


@pytest.mark.parametrize(
    ("ours", "theirs", "seen"),
    [
        ("read", "read", ["a__read", "b__read"]),
        ("read", "Read", ["a__read", "b__Read"]),
        ("read-it", "read_it", ["a__read-it", "b__read_it"]),
        ("read", "write", ["read", "write"]),
    ],
)
def test_a_name_that_two_servers_have_says_whose_it_is(ours, theirs, seen):
    view, problems = build_view(a_file("a", "b"), {"a": [tool(ours)], "b": [tool(theirs)]})
    assert (names(view), problems) == (seen, [])


def test_names_are_legal_for_every_model_and_calls_by_id_are_understood():
    view, _ = build_view(a_file("a"), {"a": [tool("x.y/z"), tool("7up"), tool("n" * 100)]})
    assert names(view)[0] == "_7up"
    assert "x_y_z" in names(view)
    assert all(len(name) <= 64 for name in names(view))
    assert view.find("x_y_z") is view.find("a:x.y/z") is not None
    assert view.find("x.y/z") is None


def test_a_renamed_tool_frees_its_name_and_keeps_its_id():
    overrides = {"a:read": ToolOverride(rename="read_mine", description="Mine.")}
    view, problems = build_view(
        a_file("a", "b", overrides=overrides), {"a": [tool("read")], "b": [tool("read")]}
    )
    assert (names(view), problems) == (["read_mine", "read"], [])
    mine = view.find("read_mine")
    assert (mine.id, mine.server, mine.tool) == ("a:read", "a", "read")
    assert mine.definition["description"] == "Mine."


def test_two_tools_of_one_name_are_a_problem_told_where_it_can_be_mended():
    overrides = {"a:x": ToolOverride(rename="same"), "b:y": ToolOverride(rename="same")}
    view, (problem,) = build_view(a_file("a", "b", overrides=overrides), {"a": [tool("x")], "b": [tool("y")]})
    assert problem.code == "USER.GATEWAY.NAME_COLLISION"
    assert problem.path == ("overrides", "b:y", "rename")
    assert "a:x and b:y" in problem.message
    assert [one.id for one in view.tools] == ["a:x"]


def test_a_tool_that_took_a_name_made_from_two_gives_way():
    offered = {"a": [tool("x"), tool("a__x")], "b": [tool("x"), tool("a__x_")]}
    view, problems = build_view(a_file("a", "b"), offered)
    assert problems == []
    assert {one.id: one.definition["name"] for one in view.tools} == {
        "a:a__x": "a__a__x",
        "a:x": "a__x",
        "b:a__x_": "a__x_",
        "b:x": "b__x",
    }


def test_an_override_of_a_tool_that_is_not_there_is_told_with_the_closest():
    overrides = {"a:raed": ToolOverride(description="x"), "gone:x": ToolOverride(description="x")}
    _, (problem,) = build_view(a_file("a", "gone", overrides=overrides), {"a": [tool("read")]})
    assert (problem.code, problem.path) == ("USER.GATEWAY.UNKNOWN_TOOL", ("overrides", "a:raed"))
    assert "a:read" in problem.hint


def test_a_tool_whose_override_does_not_fit_is_not_published():
    needs = tool("x", inputSchema={"type": "object", "properties": {"k": {}}, "required": ["k"]})
    overrides = {"a:x": ToolOverride(hide_fields=["k"])}
    view, (problem,) = build_view(a_file("a", overrides=overrides), {"a": [needs, tool("y")]})
    assert problem.code == "USER.GATEWAY.HIDDEN_REQUIRED"
    assert problem.path == ("overrides", "a:x", "hide_fields")
    assert names(view) == ["y"]


def test_what_a_server_is_not_to_offer_is_left_out():
    special = {"a": GatewayServer(command="x", tools=["r*"], deny=["rm"])}
    overrides = {"a:read2": ToolOverride(enabled=False)}
    file = a_file(special=special, overrides=overrides)
    view, problems = build_view(file, {"a": [tool("read"), tool("read2"), tool("rm"), tool("write")]})
    assert (names(view), problems) == (["read"], [])


def test_a_profile_leaves_a_choice_under_the_same_names():
    file = a_file("a", "b")
    whole, _ = build_view(file, {"a": [tool("read"), tool("rm")], "b": [tool("read")]})
    some = whole.within(Profile(tools=["a:*"], deny=["*:rm"]))
    assert names(some) == ["a__read"]
    assert some.find("b__read") is None
    assert names(whole.within(Profile())) == names(whole)


def test_what_is_no_tool_is_passed_over_and_of_two_with_one_name_the_first_counts():
    odd = [
        {"inputSchema": {}},
        {"name": 7},
        {"name": ""},
        tool("x", title="first"),
        tool("x", title="second"),
    ]
    view, problems = build_view(a_file("a"), {"a": odd})
    assert (names(view), problems) == (["x"], [])
    assert view.tools[0].definition["title"] == "first"


def test_what_nobody_knows_of_passes_unharmed():
    view, _ = build_view(a_file("a"), {"a": [tool("x", _meta={"k": 1}, icons=[{"src": "s"}], later=True)]})
    assert {"_meta", "icons", "later"} <= view.definitions()[0].keys()


@pytest.mark.parametrize("name", gateway_file.REQUESTS)
def test_a_tool_that_is_named_like_a_request_is_not_offered_and_the_rest_is(name):
    offered = {"a": [tool(name), tool("x")]}
    view, problems = build_view(a_file("a", overrides={f"a:{name}": ToolOverride()}), offered)
    assert names(view) == ["x"]
    [told] = problems
    assert (told.code, told.severity) == ("USER.GATEWAY.RESERVED_NAME", "warning")
    assert f"a:{name}" in told.message
    left_out = a_file("a", special={"a": GatewayServer(command="x", deny=[name])})
    assert build_view(left_out, offered)[1] == []
