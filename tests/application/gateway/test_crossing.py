"""From one era to the other: what is said differently, and questions in the other form."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from awf.application.gateway import forwarding
from awf.application.gateway.client import Client
from awf.application.gateway.eras import crossed_error, crossed_result, upstream_meta
from awf.domain.errors import AwfError
from awf.domain.mcp import INVALID_PARAMS, RESERVED_META, Era, RpcError, Verbatim
from awf.testing.memory_upstreams import MemoryServer, text

OLD, NEW = Era(modern=False, version="2025-11-25"), Era(modern=True, version="2026-07-28")
META = {"own": 1, f"{RESERVED_META}clientInfo": {"name": "n"}, "progressToken": 5}


def client(modern, **more):
    version = "2026-07-28" if modern else "2025-06-18"
    return Client(version=version, modern=modern, capabilities={"roots": {}}, info={"name": "c"}, **more)


# -- pure ------------------------------------------------------------------------------------------------------------


def test_within_the_newer_era_meta_stays_as_it_is():
    assert upstream_meta(META, client(True), NEW) is META


def test_an_old_server_gets_no_meta_of_the_newer_era():
    assert upstream_meta(META, client(True), OLD) == {"own": 1, "progressToken": 5}


def test_a_new_server_is_told_who_an_old_client_is_and_how_much_it_wants_to_hear():
    made = upstream_meta({"own": 1}, client(False, level="error"), NEW)
    assert made == {
        "own": 1,
        f"{RESERVED_META}protocolVersion": "2026-07-28",
        f"{RESERVED_META}clientInfo": {"name": "c"},
        f"{RESERVED_META}clientCapabilities": {"roots": {}},
        f"{RESERVED_META}logLevel": "error",
    }
    assert f"{RESERVED_META}logLevel" not in upstream_meta({}, client(False), NEW)


@pytest.mark.parametrize(
    "method",
    [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    ],
)
def test_results_that_may_be_kept_say_for_how_long_in_the_newer_era(method):
    made = crossed_result(method, {"a": 1}, to_modern=True, server_info={"name": "s"})
    assert (made["ttlMs"], made["cacheScope"], made["resultType"]) == (0, "private", "complete")


@pytest.mark.parametrize("meta", [None, "odd", {"k": 1}])
def test_a_result_for_the_newer_era_says_that_it_is_complete_and_whose_it_is(meta):
    given = {"a": 1, "ttlMs": 9} | ({} if meta is None else {"_meta": meta})
    made = crossed_result("tools/call", given, to_modern=True, server_info={"name": "s"})
    kept = meta if isinstance(meta, dict) else {}
    info = {f"{RESERVED_META}serverInfo": {"name": "s"}}
    assert made == {"resultType": "complete", "a": 1, "ttlMs": 9, "_meta": {**kept, **info}}


@pytest.mark.parametrize(
    ("meta", "kept"),
    [
        ({f"{RESERVED_META}serverInfo": {}}, {}),
        ({f"{RESERVED_META}serverInfo": {}, "k": 1}, {"_meta": {"k": 1}}),
        ({"k": 1}, {"_meta": {"k": 1}}),
        ("odd", {"_meta": "odd"}),
    ],
)
def test_a_result_for_the_older_era_has_nothing_that_only_the_newer_knows(meta, kept):
    given = {"resultType": "complete", "ttlMs": 1, "cacheScope": "private", "x": 1, "_meta": meta}
    assert crossed_result("tools/call", given, to_modern=False, server_info={}) == {"x": 1, **kept}


@pytest.mark.parametrize(
    ("given", "made"), [([1], {"result": [1]}), (5, {"result": 5}), ({"a": 1}, {"a": 1})]
)
def test_structured_content_of_the_older_era_is_an_object(given, made):
    result = crossed_result("tools/call", {"structuredContent": given}, to_modern=False, server_info={})
    assert result["structuredContent"] == made


@pytest.mark.parametrize(
    ("method", "code", "to_modern", "made"),
    [
        ("resources/read", -32002, True, INVALID_PARAMS),
        ("resources/read", INVALID_PARAMS, False, -32002),
        ("resources/read", -32603, True, -32603),
        ("resources/read", -32603, False, -32603),
        ("tools/call", -32002, True, -32002),
        ("tools/call", INVALID_PARAMS, False, INVALID_PARAMS),
    ],
)
def test_a_resource_that_is_not_there_has_another_code_in_each_era(method, code, to_modern, made):
    error = crossed_error(method, RpcError(code, "m", {"uri": "u"}), to_modern=to_modern)
    assert (error.code, error.message, error.data) == (made, "m", {"uri": "u"})


# -- through the gateway ---------------------------------------------------------------------------------------------


async def test_a_client_of_the_newer_era_calls_a_tool_of_the_older(house, weather):
    visitor = await (await house(a=weather)).modern()
    result = await visitor.call("tell", {"city": "Rome"}, meta={"own": 1})
    assert result["resultType"] == "complete"
    assert result["_meta"][f"{RESERVED_META}serverInfo"] == {"name": "memory", "version": "1"}
    assert weather.seen("tools/call") == [
        {"name": "tell", "arguments": {"city": "Rome"}, "_meta": {"own": 1}}
    ]


async def test_a_client_of_the_older_era_calls_a_tool_of_the_newer(house):
    server = MemoryServer(modern=True).tool("x", {"content": [], "structuredContent": [1], "ttlMs": 1})
    visitor = await (await house(a=server)).visitor(level="info")
    assert await visitor.call("x") == {"content": [], "structuredContent": {"result": [1]}}
    meta = server.seen("tools/call")[0]["_meta"]
    assert meta[f"{RESERVED_META}clientInfo"] == {"name": "visitor", "version": "1"}
    assert meta[f"{RESERVED_META}logLevel"] == "info"


async def test_a_server_of_both_eras_is_spoken_to_in_the_clients_own(house):
    server = MemoryServer(modern=True, legacy=True, capabilities={"tools": {}}).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    await (await one.visitor("2025-03-26")).call("x")
    await (await one.modern()).call("x")
    first, second = [asked.way.era for asked in server.received if asked.method == "tools/call"]
    assert (first.modern, first.version) == (False, "2025-03-26")
    assert second.modern


async def test_a_server_of_the_newer_era_only_is_spoken_to_in_it_after_one_try(house, until):
    server = MemoryServer(modern=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    visitor = await one.visitor()
    for _ in range(2):
        assert (await visitor.call("x"))["content"][0]["text"] == "done"
    assert [way.guise.legacy for way in server.ways] == [False, True]
    assert server.ways[1].closed


async def test_a_second_way_that_cannot_be_opened_is_an_error_and_is_tried_again(house):
    server = MemoryServer(modern=True, legacy=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    visitor = await one.visitor()
    server.refusal = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "Not now.")
    assert "Not now." in (await visitor.call("x"))["content"][0]["text"]
    server.refusal = None
    assert (await visitor.call("x"))["content"][0]["text"] == "done"


async def test_the_first_requests_of_a_client_may_come_at_once(house):
    server = MemoryServer(modern=True).tool("x")
    one = await house(a=server, config={"a": {"url": "http://a.test/mcp"}})
    visitor = await one.visitor()
    gate = server.hold("connect")
    calls = [visitor.begin("tools/call", {"name": "x"}) for _ in range(2)]
    await gate.reached()
    await asyncio.sleep(0)
    gate.open()
    said = [(await call.answer())["content"][0]["text"] for call in calls]
    assert said == ["done", "done"]


async def test_an_error_crosses_in_the_words_of_the_clients_era(house):
    able = {"resources": {}}
    old = MemoryServer(capabilities=able).on("resources/read", RpcError(-32002, "not there"))
    new = MemoryServer(modern=True, capabilities=able).on("resources/read", RpcError(INVALID_PARAMS, "gone"))
    with pytest.raises(RpcError) as caught:
        await (await (await house(a=old)).modern()).ask("resources/read", {"uri": "u"})
    assert caught.value.code == INVALID_PARAMS
    with pytest.raises(RpcError) as caught:
        await (await (await house(a=new)).visitor()).ask("resources/read", {"uri": "u"})
    assert caught.value.code == -32002


# -- questions -------------------------------------------------------------------------------------------------------


def asks(questions, state="s1"):
    """A tool of the newer era that wants to know these before it answers."""

    def work(asked):
        given = asked.params.get("inputResponses")
        if given is None:
            more = {"requestState": state} if state else {}
            return {"resultType": "input_required", "inputRequests": questions, **more}
        return text(f"{asked.params.get('requestState')} {sorted(given.items())}")

    return work


async def test_an_old_client_is_asked_what_a_new_server_wants_to_know(house):
    questions = {
        "a": {"method": "elicitation/create", "params": {"message": "?"}},
        "b": {"method": "roots/list"},
        "odd": 5,
    }
    server = MemoryServer(modern=True).tool("x", asks(questions))
    visitor = await (await house(a=server)).visitor(capabilities={"elicitation": {}, "roots": {}})
    call = visitor.begin("tools/call", {"name": "x", "arguments": {"n": 1}})
    question = await call.ear.until("elicitation/create")
    assert question["params"] == {"message": "?"}
    visitor.answered(question, {"action": "accept"})
    visitor.answered(await call.ear.until("roots/list"), {"roots": []})
    result = await call.answer()
    assert result["content"][0]["text"] == "s1 [('a', {'action': 'accept'}), ('b', {'roots': []})]"
    assert [params["arguments"] for params in server.seen("tools/call")] == [{"n": 1}, {"n": 1}]


@pytest.mark.parametrize("asked", [{}, None, []])
async def test_a_new_server_that_wants_nothing_in_particular_is_asked_again(house, asked):
    server = MemoryServer(modern=True).tool("x", asks(asked, state=""))
    visitor = await (await house(a=server)).visitor()
    assert (await visitor.call("x"))["content"][0]["text"] == "None []"


async def test_a_question_the_client_cannot_answer_is_the_end_of_the_call(house):
    server = MemoryServer(modern=True).tool("x", asks({"a": {"method": "roots/list"}}))
    with pytest.raises(RpcError, match="cannot answer roots/list"):
        await (await (await house(a=server)).visitor()).call("x")


async def test_a_server_that_asks_on_and_on_is_stopped(house, monkeypatch):
    monkeypatch.setattr(forwarding, "ROUNDS", 3)
    server = MemoryServer(modern=True).tool("x", {"resultType": "input_required", "inputRequests": {}})
    with pytest.raises(RpcError, match='"a" asks for more and more input'):
        await (await (await house(a=server)).visitor()).call("x")
    assert len(server.seen("tools/call")) == 3


async def test_within_the_newer_era_questions_pass_as_they_are(house):
    question = {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}
    server = MemoryServer(modern=True).tool("x", {**question, "requestState": "theirs"})
    visitor = await (await house(a=server)).modern(capabilities={"roots": {}})
    assert await visitor.call("x") == {**question, "requestState": "theirs"}
    await visitor.ask("tools/call", {"name": "x", "requestState": "theirs", "inputResponses": {"a": {}}})
    assert server.seen("tools/call")[1]["requestState"] == "theirs"


async def test_within_the_older_era_a_server_asks_in_the_middle(house):
    async def asks_now(asked):
        return str((await asked.ask("elicitation/create", {"message": "?"}))["action"])

    one = await house(
        a=MemoryServer().tool("x", asks_now), b=MemoryServer(shows_requests=True).tool("y", asks_now)
    )
    visitor = await one.visitor(capabilities={"elicitation": {}})
    for name in "xy":
        call = visitor.begin("tools/call", {"name": name})
        visitor.answered(await call.ear.until("elicitation/create"), {"action": "accept"})
        assert (await call.answer())["content"][0]["text"] == "accept"


async def test_a_result_of_a_kind_we_do_not_know_crosses_as_it_is(house):
    server = MemoryServer(modern=True).tool("x", {"resultType": "task", "taskId": "t"})
    assert await (await (await house(a=server)).visitor()).call("x") == {"resultType": "task", "taskId": "t"}


@pytest.mark.parametrize(
    "written",
    [b'{"resultType":"complete","content":[]}', b'{"content":[],"resultType":"complete"}', b'{"content":[]}'],
)
def test_the_words_of_a_newer_server_stay_as_they_are_but_for_the_one_that_older_clients_do_not_know(written):
    result = crossed_result("tools/call", verbatim(written), to_modern=False, server_info={})
    assert result == {"content": []}
    assert type(result) is Verbatim
    assert result.written == b'{"content":[]}'


@pytest.mark.parametrize(
    "written",
    [
        b'{"a":1,"resultType":"complete","b":2}',
        b'{"a":1, "resultType":"complete"}',
        b'{"resultType":"complete"}',
        b'{"a":",\\"resultType\\":","resultType":"complete"}',
        b'{"ttlMs":1,"resultType":"complete"}',
        b'{"structuredContent":3,"resultType":"complete"}',
        b'{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}',
        b'{"resultType":"complete","resultType":"complete"}',
    ],
)
def test_where_it_stands_elsewhere_or_is_not_the_only_one_the_result_is_written_anew(written):
    made = verbatim(written)
    result = crossed_result("tools/call", made, to_modern=False, server_info={})
    assert result == crossed_result("tools/call", dict(made), to_modern=False, server_info={})
    assert "resultType" not in result
    if type(result) is Verbatim:
        assert msgspec.json.decode(result.written) == result


def verbatim(written: bytes) -> Verbatim:
    return Verbatim(msgspec.json.decode(written), written)
