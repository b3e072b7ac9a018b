"""Tools through the gateway: listed, called, refused, reshaped; in every version and profile."""

from __future__ import annotations

import pytest

from awf.domain.errors import AwfError
from awf.domain.events import ToolCallFinished, ToolCallStarted
from awf.domain.gateway_file import Profile
from awf.domain.mcp import HEADER_MISMATCH, INVALID_PARAMS, LEGACY_VERSIONS, RpcError
from awf.domain.override import ToolOverride
from awf.domain.value_source import parse_value
from awf.testing.memory_upstreams import MemoryServer, text

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
UNITS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "units": {"type": "string"}},
    "required": ["city", "units"],
}


def said(result):
    return result["content"][0]["text"]


# -- the list --------------------------------------------------------------------------------------------------------


async def test_tools_of_all_servers_come_in_one_list_by_server_and_name(house):
    b = MemoryServer().tool("zoo").tool("ant")
    visitor = await (await house(b=b, a=MemoryServer().tool("mid"))).visitor()
    assert await visitor.tools() == ["mid", "ant", "zoo"]


async def test_two_tools_with_one_name_get_that_of_their_server_before_it(house):
    visitor = await (await house(a=MemoryServer().tool("x"), b=MemoryServer().tool("x", "from b"))).visitor()
    assert await visitor.tools() == ["a__x", "b__x"]
    assert said(await visitor.call("b__x")) == "from b"
    assert said(await visitor.call("b:x")) == "from b"


async def test_the_list_is_one_page_so_every_cursor_is_unknown(house, weather):
    visitor = await (await house(a=weather)).visitor()
    with pytest.raises(RpcError, match="unknown cursor") as caught:
        await visitor.ask("tools/list", {"cursor": "2"})
    assert caught.value.code == INVALID_PARAMS


async def test_the_list_for_the_newer_era_says_how_long_it_holds_and_who_made_it(house, weather):
    result = await (await (await house(a=weather)).modern()).ask("tools/list")
    assert result["resultType"] == "complete"
    assert result["ttlMs"] == 0
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "awf-gateway"


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
async def test_the_list_is_told_in_the_words_of_the_version(house, version):
    server = MemoryServer().tool("x", title="A title", outputSchema={"type": "object"}, annotations={"a": 1})
    visitor = await (await house(a=server)).visitor(version)
    result = await visitor.ask("tools/list")
    assert set(result) == {"tools"}
    assert ("annotations" in result["tools"][0]) is (version >= "2025-03-26")
    assert ("outputSchema" in result["tools"][0]) is (version >= "2025-06-18")


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
async def test_structured_results_are_left_out_for_versions_that_do_not_know_them(house, version):
    server = MemoryServer().tool("x", {"content": [], "structuredContent": {"n": 1}, "futureKey": 1})
    result = await (await (await house(a=server)).visitor(version)).call("x")
    assert ("structuredContent" in result) is (version >= "2025-06-18")
    if version == "2025-11-25":
        assert result == {"content": [], "structuredContent": {"n": 1}, "futureKey": 1}


async def test_a_client_asks_for_the_list_while_servers_are_starting_and_waits_for_them(house, weather):
    gate = weather.hold("connect")
    one = await house(a=weather, start=False)
    one.gateway.fleet.start()
    visitor = await one.visitor(greeted=False)
    listing = visitor.begin("tools/list")
    await gate.reached()
    gate.open()
    assert [tool["name"] for tool in (await listing.answer())["tools"]] == ["tell"]


# -- profiles --------------------------------------------------------------------------------------------------------


async def test_a_profile_leaves_only_its_tools_and_says_what_it_is_for(house):
    file = {"profiles": {"small": Profile(tools=["a:*"], deny=["a:y"], description="Only what is needed.")}}
    servers = {"a": MemoryServer(instructions="Use a.").tool("x").tool("y"), "b": MemoryServer().tool("z")}
    one = await house(**servers, file=file)
    small, whole = await one.visitor(profile="small"), await one.visitor()
    assert await small.tools() == ["x"]
    assert await whole.tools() == ["x", "y", "z"]
    with pytest.raises(RpcError, match="Unknown tool: z"):
        await small.call("z")
    assert small.greeting["instructions"] == "Only what is needed.\n\nUse a."
    assert whole.greeting["instructions"] == "# a\nUse a."


@pytest.mark.parametrize(
    ("profile", "seen"),
    [
        (Profile(), ["p", "q"]),
        (Profile(tools=["*"]), ["p", "q"]),
        (Profile(tools=["a:x", "b?:*"]), ["p"]),
        (Profile(deny=["b:*"]), ["p"]),
        (Profile(deny=["*"]), []),
        (Profile(deny=["b:z"]), ["p", "q"]),
    ],
)
async def test_a_profile_hides_the_prompts_of_servers_it_leaves_nothing_of(house, profile, seen):
    able = {"prompts": {}, "tools": {}}
    a, b = MemoryServer(capabilities=able).tool("x"), MemoryServer(capabilities=able).tool("z")
    a.lists["prompts"], b.lists["prompts"] = [{"name": "p"}], [{"name": "q"}]
    visitor = await (await house(a=a, b=b, file={"profiles": {"one": profile}})).visitor(profile="one")
    assert [prompt["name"] for prompt in (await visitor.ask("prompts/list"))["prompts"]] == seen


# -- calls -----------------------------------------------------------------------------------------------------------


async def test_a_call_reaches_the_server_to_the_letter_and_so_does_its_answer(house):
    answer = {"content": [], "structuredContent": {"n": 1}, "_meta": {"k": 1}, "unknown": [1]}
    server = MemoryServer().tool("x", answer)
    one = await house(a=server)
    visitor = await one.visitor()
    given = {"name": "x", "arguments": {"deep": [1]}, "later": True}
    assert await visitor.ask("tools/call", given, meta={"own": 1}) == answer
    assert server.seen("tools/call") == [{**given, "_meta": {"own": 1}}]
    assert one.book.servers()["a"].calls == 1


async def test_arguments_may_be_left_out(house, weather):
    visitor = await (await house(a=weather)).visitor()
    assert said(await visitor.call("tell")) == "sunny in None"
    assert weather.seen("tools/call")[0]["arguments"] == {}


@pytest.mark.parametrize(
    "params",
    [{}, {"name": 5}, {"name": None}, {"name": "tell", "arguments": [1]}, {"name": "tell", "arguments": "x"}],
)
async def test_params_of_a_wrong_shape_are_refused_as_such(house, weather, params):
    visitor = await (await house(a=weather)).visitor()
    with pytest.raises(RpcError) as caught:
        await visitor.ask("tools/call", params)
    assert caught.value.code == INVALID_PARAMS
    assert not weather.seen("tools/call")


@pytest.mark.parametrize("before", ["no ", "x" * 190], ids=["whole", "where names are cut"])
async def test_a_known_secret_in_a_name_that_nobody_has_is_not_in_the_refusal(house, weather, before):
    events = []
    one = await house(a=weather, b=MemoryServer().tool("y"), record=events.append)
    one.masker.add("KEY", "hunter2-hunter3")
    visitor = await one.visitor()
    name = f"{before}hunter2-hunter3"
    with pytest.raises(RpcError, match=r"^Unknown tool: .*\*\*\*\.$") as caught:
        await visitor.call(name)
    told = [caught.value.message, *(f"{event}" for event in events)]
    for method, params in [("prompts/get", {"name": "no hunter2-hunter3"}), ("no/hunter2-hunter3", {})]:
        with pytest.raises(RpcError) as caught:
            await visitor.ask(method, params)
        assert "***" in caught.value.message
        told.append(f"{caught.value.message} {caught.value.data}")
    assert "hunter2" not in "".join(told)


async def test_an_unknown_tool_is_refused_with_a_suggestion_and_recorded(house, weather):
    events = []
    visitor = await (await house(a=weather, record=events.append)).visitor()
    with pytest.raises(RpcError, match="Did you mean 'tell'") as caught:
        await visitor.call("tel", {"city": "Rome"})
    assert caught.value.code == INVALID_PARAMS
    with pytest.raises(RpcError, match=r"Unknown tool: completely-other\.$"):
        await visitor.call("completely-other")
    assert [event.tool for event in events if isinstance(event, ToolCallFinished)] == [
        "tel",
        "completely-other",
    ]


async def test_arguments_that_do_not_fit_what_was_published_never_leave(house):
    server = MemoryServer().tool("x", inputSchema=CITY)
    one = await house(a=server)
    result = await (await one.visitor()).call("x", {"city": 5})
    assert result["isError"]
    assert "city" in said(result)
    assert result["_meta"]["awf/error"] == {"code": "INVALID_ARGUMENTS"}
    assert not server.seen("tools/call")
    assert one.book.calls()[0]["outcome"] == "refused"


async def test_null_for_an_argument_that_may_be_left_out_is_passed_on_as_it_is(house):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a"],
    }
    server = MemoryServer().tool("x", inputSchema=schema)
    visitor = await (await house(a=server)).visitor()
    assert said(await visitor.call("x", {"a": "s", "b": None})) == "done"
    assert server.seen("tools/call")[0]["arguments"] == {"a": "s", "b": None}
    for wrong in ({"a": None}, {"a": None, "b": None}, {"a": 5, "b": None}):
        assert (await visitor.call("x", wrong))["isError"]


async def test_a_schema_that_is_no_schema_checks_nothing_and_the_tool_can_be_called(house):
    server = MemoryServer().tool("x", inputSchema={"type": "no such type"})
    assert said(await (await (await house(a=server)).visitor()).call("x", {"a": 1})) == "done"


async def test_a_tool_without_a_schema_takes_anything(house):
    server = MemoryServer()
    server.tool("x")
    server.lists["tools"][0]["inputSchema"] = None
    assert said(await (await (await house(a=server)).visitor()).call("x", {"a": 1})) == "done"


async def test_a_hidden_argument_is_filled_in_and_never_taken_from_the_agent(house):
    events = []
    server = MemoryServer().tool("x", lambda asked: str(asked.arguments), inputSchema=UNITS)
    file = {"overrides": {"a:x": ToolOverride(defaults={"units": "metric"}, rename_fields={"city": "place"})}}
    one = await house(a=server, file=file, record=events.append)
    visitor = await one.visitor()
    assert said(await visitor.call("x", {"place": "Rome"})) == "{'city': 'Rome', 'units': 'metric'}"
    refused = await visitor.call("x", {"place": "Rome", "units": "feet"})
    assert refused["isError"]
    assert "“units” is set for you and cannot be given" in said(refused)
    assert len(server.seen("tools/call")) == 1
    tried = [event for event in events if isinstance(event, ToolCallStarted)][1]
    assert tried.input == {"place": "Rome", "units": "feet"}
    assert one.book.calls()[0]["code"] == "INVALID_ARGUMENTS"


async def test_values_of_a_call_come_from_the_session_the_headers_and_the_clock(house):
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "sunh"}}
    server = MemoryServer().tool("x", inputSchema=schema)
    wanted = {"s": "${uuid(session)}", "u": "${uuid()}", "n": "${now()}", "h": "team ${header:X-Team}"}
    override = ToolOverride(defaults={name: parse_value(value) for name, value in wanted.items()})
    visitor = await (await house(a=server, file={"overrides": {"a:x": override}})).visitor()
    for _ in range(2):
        await visitor.call("x", headers={"x-team": "blue"})
    first, second = (params["arguments"] for params in server.seen("tools/call"))
    assert first["s"] == second["s"]
    assert first["u"] != second["u"]
    assert first["h"] == "team blue"
    assert first["n"].endswith("Z")
    refused = await visitor.call("x")
    assert refused["isError"]
    assert "without the header X-Team" in said(refused)


async def test_error_texts_do_not_speak_of_what_is_hidden(house):
    server = MemoryServer().tool(
        "x", text("The units are wrong. The city Rome is unknown.", is_error=True), inputSchema=UNITS
    )
    file = {"overrides": {"a:x": ToolOverride(defaults={"units": "imperial"})}}
    visitor = await (await house(a=server, file=file)).visitor()
    assert said(await visitor.call("x", {"city": "Rome"})) == "The city Rome is unknown."
    blocks = [{"type": "image"}, {"type": "text", "text": "fine"}]
    server._tools["x"] = {"isError": True, "content": blocks}
    assert (await visitor.call("x", {"city": "Rome"}))["content"] == blocks
    server._tools["x"] = {"isError": True, "content": "odd"}
    assert (await visitor.call("x", {"city": "Rome"}))["content"] == "odd"
    server._tools["x"] = RpcError(-32000, "no imperial here, in this city")
    with pytest.raises(RpcError, match="no … here, in this city"):
        await visitor.call("x", {"city": "Rome"})


@pytest.mark.parametrize("is_error", [False, True])
async def test_content_blocks_that_are_no_objects_are_passed_on_as_they_are(house, is_error):
    server = MemoryServer().tool("x", {"content": ["odd", None], "isError": is_error})
    result = await (await (await house(a=server, record=lambda _: None)).visitor()).call("x")
    assert result["content"] == ["odd", None]


async def test_a_protocol_error_does_not_tell_a_hidden_value_that_came_with_the_call(house):
    server = MemoryServer().tool(
        "x",
        RpcError(-32000, "no such team: blueberry", {"n": [5], "t": ["blueberry"], "in blueberry": 1}),
        inputSchema=UNITS,
    )
    override = ToolOverride(defaults={"units": parse_value("${header:X-Team}")})
    visitor = await (await house(a=server, file={"overrides": {"a:x": override}})).visitor()
    with pytest.raises(RpcError) as caught:
        await visitor.call("x", {"city": "Rome"}, headers={"x-team": "blueberry"})
    assert "blueberry" not in caught.value.message
    assert "blueberry" not in str(caught.value.data)
    assert caught.value.data["n"] == [5]


async def test_a_result_of_our_own_making_has_what_the_newer_era_demands(house):
    server = MemoryServer().tool("x", inputSchema=CITY)
    result = await (await (await house(a=server)).modern()).call("x", {"city": 5})
    assert result["isError"]
    assert result["resultType"] == "complete"


async def test_an_output_is_cut_to_the_fields_that_are_wanted(house):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    server = MemoryServer().tool(
        "x", {"content": [], "structuredContent": {"a": 1, "b": 2}}, outputSchema=schema
    )
    file = {"overrides": {"a:x": ToolOverride(output_fields=["a"])}}
    visitor = await (await house(a=server, file=file)).visitor()
    assert (await visitor.call("x"))["structuredContent"] == {"a": 1}


async def test_an_error_of_the_server_is_the_answer_with_its_code_and_data(house):
    server = MemoryServer().tool("x", RpcError(-32042, "Go there first", {"url": "u"}))
    one = await house(a=server)
    with pytest.raises(RpcError, match="Go there first") as caught:
        await (await one.visitor()).call("x")
    assert (caught.value.code, caught.value.data) == (-32042, {"url": "u"})
    assert one.book.calls()[0]["outcome"] == "error"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("EXECUTION.MCP_SERVER.TIMEOUT", "TIMEOUT"),
        ("EXECUTION.MCP_SERVER.DENIED", "PERMISSION_DENIED"),
        ("EXECUTION.MCP_SERVER.PROTOCOL", "EXECUTION_FAILED"),
    ],
)
async def test_a_server_that_cannot_be_asked_is_an_error_the_model_can_read(house, code, told):
    server = MemoryServer().tool("x", AwfError(code, "It does not work.", hint="Do this."))
    result = await (await (await house(a=server)).visitor()).call("x")
    assert result["isError"]
    assert said(result) == "It does not work. Do this."
    assert result["_meta"]["awf/error"] == {"code": told}


async def test_an_error_result_of_the_server_counts_as_an_error(house):
    one = await house(a=MemoryServer().tool("x", text("no", is_error=True)))
    assert (await (await one.visitor()).call("x"))["isError"]
    assert (one.book.calls()[0]["outcome"], one.book.calls()[0]["code"]) == ("error", "EXECUTION_FAILED")


async def test_a_cancelled_call_is_cancelled_on_the_server_and_booked_as_such(house, weather):
    gate = weather.hold("tell")
    one = await house(a=weather)
    call = (await one.visitor()).begin("tools/call", {"name": "tell"})
    await gate.reached()
    assert one.server("a").in_flight == 1
    await call.cancelled()
    assert weather.seen("notifications/cancelled")
    assert one.book.calls()[0]["outcome"] == "cancelled"
    assert one.server("a").in_flight == 0


async def test_progress_of_the_server_reaches_the_client_under_its_own_token(house):
    def work(asked):
        asked.progress(1, total=2, message="half")
        return "done"

    visitor = await (await house(a=MemoryServer().tool("x", work))).visitor()
    call = visitor.begin("tools/call", {"name": "x"}, token="mine")
    await call.answer()
    assert call.ear.of("notifications/progress")[0]["params"] == {
        "progressToken": "mine",
        "progress": 1,
        "total": 2,
        "message": "half",
    }


# -- arguments in headers --------------------------------------------------------------------------------------------

MIRRORED = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


async def test_arguments_repeated_in_headers_are_sent_on_to_servers_that_want_that(house):
    server = MemoryServer(modern=True).tool("x", inputSchema=MIRRORED)
    visitor = await (await house(a=server)).modern()
    await visitor.call("x", {"region": "eu"}, headers={"mcp-param-region": "eu", "x": "y"})
    assert server.received[-1].headers == {"Mcp-Param-Region": "eu"}


@pytest.mark.parametrize(
    ("headers", "arguments", "fits"),
    [
        ({"mcp-param-region": "us"}, {"region": "eu"}, False),
        ({"x": "y"}, {"region": "eu"}, False),
        ({"mcp-param-region": "eu"}, {}, False),
        ({"x": "y"}, {}, True),
        ({"mcp-param-region": "=?base64?ZXU=?="}, {"region": "eu"}, True),
        ({}, {"region": "eu"}, True),  # not over HTTP
    ],
)
async def test_headers_that_say_something_else_than_the_arguments_are_refused(
    house, headers, arguments, fits
):
    server = MemoryServer(modern=True).tool("x", inputSchema=MIRRORED)
    visitor = await (await house(a=server)).modern()
    if fits:
        assert said(await visitor.call("x", arguments, headers=headers)) == "done"
        return
    with pytest.raises(RpcError, match="Mcp-Param-Region") as caught:
        await visitor.call("x", arguments, headers=headers)
    assert caught.value.code == HEADER_MISMATCH


async def test_a_tool_whose_headers_are_misdeclared_can_still_be_called_by_those_who_see_it(house):
    schema = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "not a header"}}}
    visitor = await (await house(a=MemoryServer().tool("x", inputSchema=schema))).visitor()
    assert said(await visitor.call("x", {"r": "eu"})) == "done"


# -- other methods ---------------------------------------------------------------------------------------------------


async def test_a_method_nobody_knows_is_for_the_only_server_there_is(house):
    server = MemoryServer().on("tasks/list", {"tasks": []})
    assert await (await (await house(a=server)).visitor()).ask("tasks/list", {"a": 1}) == {"tasks": []}
    assert server.seen("tasks/list") == [{"a": 1}]


async def test_with_several_servers_an_unknown_method_is_for_nobody(house):
    visitor = await (await house(a=MemoryServer().on("tasks/list", {}), b=MemoryServer())).visitor()
    with pytest.raises(RpcError, match="Method not found: tasks/list") as caught:
        await visitor.ask("tasks/list")
    assert caught.value.code == -32601


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "initialize"])
async def test_methods_that_the_newer_era_has_withdrawn_are_not_passed_on(house, method):
    server = MemoryServer().on(method, {})
    with pytest.raises(RpcError, match="Method not found"):
        await (await (await house(a=server)).modern()).ask(method)
    assert not server.seen(method)


async def test_a_ping_is_answered_at_once(house, weather):
    assert await (await (await house(a=weather)).visitor()).ask("ping") == {}


@pytest.mark.parametrize("era", ["visitor", "modern"])
async def test_discovery_tells_versions_and_what_can_be_done(house, era):
    server = MemoryServer(instructions="Be kind.", capabilities={"tools": {}, "prompts": {}})
    result = await (await getattr(await house(a=server), era)()).ask("server/discover")
    assert result["supportedVersions"] == ["2026-07-28", *reversed(LEGACY_VERSIONS)]
    assert result["capabilities"] == {"tools": {"listChanged": True}, "prompts": {}}
    assert result["instructions"] == "Be kind."
    assert result["resultType"] == "complete"


async def test_what_cannot_be_done_for_a_reason_of_ours_is_told_with_its_code(house):
    server = MemoryServer(capabilities={"prompts": {}})
    server.lists["prompts"] = [{"name": "p"}]
    server.on("prompts/get", AwfError("EXECUTION.MCP_SERVER.DENIED", "It refused us.", hint="Get a token."))
    with pytest.raises(RpcError, match=r"It refused us\. Get a token\.") as caught:
        await (await (await house(a=server)).visitor()).ask("prompts/get", {"name": "p"})
    assert (caught.value.code, caught.value.data) == (-32603, {"code": "EXECUTION.MCP_SERVER.DENIED"})
