"""Serving over real sockets: every frame in these tests is checked against the official schemas (see conftest)."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from mcpserver import PROTOCOL_VERSIONS, DuplicateToolError, Result, Server, ToolError, UnknownToolError

LEGACY = [version for version in PROTOCOL_VERSIONS if version != "2026-07-28"]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def texts(answer):
    return [block.get("text") for block in answer["result"]["content"]]


# Both eras, all versions.


@pytest.mark.parametrize("version", LEGACY)
async def test_a_legacy_conversation(peer, version):
    assert (await peer.initialize(version))["protocolVersion"] == version
    assert (await peer.ask("ping"))["result"] == {}
    names = [tool["name"] for tool in (await peer.ask("tools/list"))["result"]["tools"]]
    assert names == ["echo", "wait", "steps", "fail", "kinds", "give"]
    assert texts(await peer.ask_call("echo", {"text": "hi"})) == ["hi"]
    assert len((await peer.ask_call("kinds"))["result"]["content"]) == 5
    for value in ({"a": 1}, [1], None):
        assert texts(await peer.ask_call("give", {"value": value})) == ["given"]
    assert (await peer.ask("shutdown"))["result"] == {}
    assert await peer.end() == []


async def test_a_modern_conversation(peer):
    discovered = (await peer.ask("server/discover", modern=True))["result"]
    assert "2026-07-28" in discovered["supportedVersions"]
    assert len((await peer.ask("tools/list", modern=True))["result"]["tools"]) == 6
    answer = await peer.ask_call("kinds", modern=True)
    assert answer["result"]["_meta"]["com.example/kept"] is True
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "workshop"
    assert (await peer.ask_call("give", {"value": [1]}, modern=True))["result"]["structuredContent"] == [1]
    assert (await peer.ask("ping", modern=True))["error"]["code"] == -32601
    assert await peer.end() == []


async def test_a_probe_before_the_handshake_does_not_disturb_it(peer):
    assert "result" in await peer.ask("server/discover")
    assert (await peer.ask("something/else"))["error"]["code"] == -32601
    assert (await peer.initialize("2025-06-18"))["protocolVersion"] == "2025-06-18"
    assert texts(await peer.ask_call("echo", {"text": "x"})) == ["x"]


async def test_a_batch_is_answered_as_one(peer):
    await peer.initialize("2025-03-26")
    calls = [
        {
            "jsonrpc": "2.0",
            "id": f"b{number}",
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": str(number)}},
        }
        for number in range(3)
    ]
    broken = {
        "jsonrpc": "2.0",
        "id": "b3",
        "method": "tools/call",
        "params": {"name": "fail", "arguments": {"kind": "object"}},
    }
    peer.send([*calls, broken, {"jsonrpc": "2.0", "method": "notifications/x"}])
    whole = await peer.receive()
    assert sorted(each["id"] for each in whole) == ["b0", "b1", "b2", "b3"]
    assert [each["result"]["isError"] for each in sorted(whole, key=lambda each: each["id"])] == [
        False,
        False,
        False,
        True,
    ]


# Failures of tools.


@pytest.mark.parametrize("modern", [False, True])
async def test_a_tool_error_is_a_result_the_model_can_read(peer, modern):
    result = (await peer.ask_call("fail", {"kind": "tool"}, modern=modern))["result"]
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "no such city"}]
    assert result["structuredContent"] == {"code": "NOT_FOUND"}
    assert result["_meta"]["com.example/hint"] == 1


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("other", "RuntimeError"),
        ("exit", "SystemExit"),
        ("cancelled", "CancelledError"),
        ("object", "JSON"),
        ("nan", "JSON"),
        ("none", "TypeError"),
    ],
)
async def test_any_other_failure_is_named_without_its_details(peer, kind, named, caplog):
    caplog.set_level(logging.CRITICAL, logger="nothing")
    answer = await peer.ask_call("fail", {"kind": kind})
    assert answer["result"]["isError"] is True
    (text,) = texts(answer)
    assert named in text
    assert "secret" not in json.dumps(answer)
    assert "Traceback" not in json.dumps(answer)
    assert texts(await peer.ask_call("echo", {"text": "still here"})) == ["still here"]


async def test_a_failure_is_logged_with_its_trace(peer, caplog):
    await peer.ask_call("fail", {"kind": "other"})
    (record,) = [record for record in caplog.records if record.name == "mcpserver"]
    assert "fail" in record.getMessage()
    assert record.exc_info


async def test_an_unknown_tool_is_the_callers_mistake(peer):
    answer = await peer.ask_call("nope")
    assert answer["error"]["code"] == -32602
    assert "nope" in answer["error"]["message"]


class Broken:
    """A toolbox that cannot even list."""

    async def list_tools(self):
        raise OSError("disk on fire")

    async def call_tool(self, name, arguments, call):
        raise UnknownToolError(name)


async def test_a_toolbox_that_cannot_list_is_an_internal_error(connect):
    peer = await connect(Server(toolbox=Broken()))
    answer = await peer.ask("tools/list")
    assert answer["error"]["code"] == -32603
    assert "fire" not in json.dumps(answer)
    assert (await peer.ask("ping"))["result"] == {}


class Unwritable(Broken):
    async def list_tools(self):
        return [{"name": "x", "inputSchema": {"type": "object"}, "_meta": {"k": object()}}]


async def test_a_list_without_a_json_form_is_an_internal_error(connect):
    peer = await connect(Server(toolbox=Unwritable()))
    assert (await peer.ask("tools/list"))["error"]["code"] == -32603


async def test_half_a_character_in_a_result_is_replaced(peer):
    assert texts(await peer.ask_call("echo", {"text": "a\ud800b"})) == ["a�b"]


async def test_arguments_nested_to_the_limit_come_back_or_are_refused(peer):
    for depth in (100, 900, 2000, 50_000):
        peer.last_id += 1
        value = b"[" * depth + b"]" * depth
        peer.send_bytes(
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"give","arguments":{"value":%s}}}\n'
            % (peer.last_id, value)
        )
        assert (await peer.receive())["jsonrpc"] == "2.0"
    assert (await peer.ask("ping"))["result"] == {}


# Many at once.


@pytest.mark.race
async def test_calls_run_at_the_same_time_and_are_answered_as_they_finish(peer, workshop):
    slow = peer.call("wait", {"tag": 1})
    await asyncio.wait_for(workshop.started.wait(), 10)
    assert texts(await peer.ask_call("echo", {"text": "quick"})) == ["quick"]
    workshop.release.set()
    assert texts(await peer.answer(slow)) == ["waited 1"]


@pytest.mark.race
async def test_calls_over_the_limit_wait_in_order(workshop, connect):
    workshop.server.concurrent_calls = 4
    peer = await connect(workshop.server)
    ids = [peer.call("wait", {"tag": number}) for number in range(20)]
    assert (await peer.ask("tools/list"))["result"]["tools"]  # a list does not wait for calls
    assert (await peer.ask("ping"))["result"] == {}
    assert [tag for what, tag in workshop.order if what == "started"] == [0, 1, 2, 3]
    workshop.release.set()
    for request_id in ids:
        if not any(early.get("id") == request_id for early in peer.early):
            await peer.answer(request_id)
    assert [tag for what, tag in workshop.order if what == "started"] == list(range(20))
    assert workshop.most == 4


@pytest.mark.race
async def test_a_thousand_calls_are_each_answered_once(peer):
    for number in range(1000):
        peer.call("echo", {"text": str(number)}, modern=number % 2 == 0)
    seen = {}
    while len(seen) < 1000:
        answer = await peer.receive()
        assert seen.setdefault(answer["id"], answer) is answer
    assert {int(key): texts(answer) for key, answer in seen.items()} == {
        number + 1: [str(number)] for number in range(1000)
    }
    assert await peer.end() == []


@pytest.mark.race
async def test_many_clients_share_one_server(workshop, connect):
    peers = [await connect(workshop.server) for _ in range(10)]
    for number, each in enumerate(peers):
        each.call("echo", {"text": str(number)}, request_id="same")
    answers = await asyncio.gather(*(each.answer("same") for each in peers))
    assert [texts(answer) for answer in answers] == [[str(number)] for number in range(10)]


@pytest.mark.race
async def test_an_id_in_use_is_refused_and_the_first_call_is_answered_once(peer, workshop):
    peer.call("wait", {"tag": "first"}, request_id=77)
    await asyncio.wait_for(workshop.started.wait(), 10)
    peer.send({"jsonrpc": "2.0", "id": 77, "method": "ping"})
    refusal = await peer.receive()
    assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
    workshop.release.set()
    assert texts(await peer.receive()) == ["waited first"]
    assert await peer.end() == []


# Cancellation and progress.


@pytest.mark.race
@pytest.mark.parametrize("modern", [False, True])
async def test_a_cancelled_call_reaches_its_handler_and_is_not_answered(peer, workshop, modern):
    request_id = peer.call("wait", {"tag": "c"}, modern=modern)
    await asyncio.wait_for(workshop.started.wait(), 10)
    peer.notify("notifications/cancelled", requestId=request_id, reason="changed my mind")
    assert (await peer.ask("server/discover"))["result"]
    assert await peer.end() == []
    assert workshop.order == [("started", "c"), ("cancelled", "c")]
    assert peer.wire.answers[request_id] == 0


@pytest.mark.race
async def test_a_call_cancelled_in_the_same_breath_never_starts(peer, workshop):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    peer.send_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in (call, cancel)))
    assert (await peer.ask("ping", request_id=2))["result"] == {}
    assert workshop.order == []
    assert await peer.end() == []


@pytest.mark.race
async def test_a_cancelled_call_that_waits_for_its_turn_never_starts(workshop, connect):
    workshop.server.concurrent_calls = 1
    peer = await connect(workshop.server)
    first, second, third = (peer.call("wait", {"tag": number}) for number in range(3))
    peer.notify("notifications/cancelled", requestId=second)
    await peer.ask("ping")
    workshop.release.set()
    assert texts(await peer.answer(first)) == ["waited 0"]
    assert texts(await peer.answer(third)) == ["waited 2"]
    assert ("started", 1) not in workshop.order


@pytest.mark.race
async def test_a_handler_that_will_not_be_cancelled_is_still_not_answered(connect):
    server, started, release = Server(), asyncio.Event(), asyncio.Event()

    async def stubborn(arguments, call):
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                call.progress(5)
        return "too late"

    server.register_tool("stubborn", {}, stubborn)
    peer = await connect(server)
    request_id = peer.call("stubborn", meta={"progressToken": "p"})
    await asyncio.wait_for(started.wait(), 10)
    peer.notify("notifications/cancelled", requestId=request_id)
    await peer.ask("ping")
    release.set()
    assert await peer.end() == []
    assert peer.early == []


async def test_cancelling_what_was_just_answered_is_ignored(peer):
    request_id = peer.call("echo", {"text": "x"})
    assert texts(await peer.answer(request_id)) == ["x"]
    peer.notify("notifications/cancelled", requestId=request_id)
    assert (await peer.ask("ping"))["result"] == {}


@pytest.mark.parametrize("modern", [False, True])
async def test_progress_is_told_to_who_asks_and_only_when_it_grows(peer, modern):
    steps = {"steps": [1, 1, 0.5, 2, 2, 3.5], "total": 4, "message": "on it"}
    answer = await peer.ask_call("steps", steps, modern=modern, meta={"progressToken": "tok"})
    assert texts(answer) == ["done"]
    told = [message["params"] for message in peer.early]
    assert [params["progress"] for params in told] == [1, 2, 3.5]
    assert all(params["progressToken"] == "tok" and params["total"] == 4 for params in told)
    assert all(params["message"] == "on it" for params in told)


async def test_progress_is_not_told_to_who_does_not_ask(peer):
    assert texts(await peer.ask_call("steps", {"steps": [1, 2]})) == ["done"]
    assert peer.early == []


async def test_no_progress_follows_the_answer(connect):
    server, kept = Server(), []

    async def keep(arguments, call):
        kept.append(call)
        return "kept"

    server.register_tool("keep", {}, keep)
    peer = await connect(server)
    await peer.ask_call("keep", meta={"progressToken": 1})
    kept[0].progress(1)
    assert (await peer.ask("ping"))["result"] == {}
    assert peer.early == []


async def test_progress_that_is_no_number_is_not_told(peer, connect):
    server = Server()

    async def odd(arguments, call):
        call.progress(float("nan"))
        call.progress(float("inf"))
        call.progress(1, float("inf"), "half \ud800")
        return "done"

    server.register_tool("odd", {}, odd)
    odd_peer = await connect(server)
    await odd_peer.ask_call("odd", meta={"progressToken": 1})
    assert [message["params"].get("total") for message in odd_peer.early] == [None]


@pytest.mark.race
async def test_a_tool_may_report_and_tell_of_changes_from_a_thread(connect):
    server = Server()

    def work(call):
        for step in range(20):
            call.progress(step)
        server.tools_changed()

    async def threaded(arguments, call):
        await asyncio.to_thread(work, call)
        return "done"

    server.register_tool("threaded", {}, threaded)
    peer = await connect(server)
    await peer.initialize()
    await peer.ask_call("threaded", meta={"progressToken": 1})
    while len(peer.early) < 21:
        peer.early.append(await peer.receive())
    assert [message["params"]["progress"] for message in peer.early[:20]] == list(range(20))
    assert peer.early[20]["method"] == "notifications/tools/list_changed"


async def test_a_handler_sees_who_calls(connect):
    server, seen = Server(), []

    async def look(arguments, call):
        seen.append((call.id, call.meta.get("traceparent"), call.client, call.protocol_version))
        return ""

    server.register_tool("look", {}, look)
    peer = await connect(server)
    await peer.initialize("2025-06-18")
    await peer.ask_call("look", meta={"traceparent": "00-a"}, request_id="one")
    await peer.ask_call("look", modern=True, request_id="two")
    client = {"name": "test", "version": "1"}
    assert seen == [("one", "00-a", client, "2025-06-18"), ("two", None, client, "2026-07-28")]


# Changes of the list.


@pytest.mark.race
async def test_changes_are_told_on_both_pipes(workshop, connect):
    old, new, fresh = [await connect(workshop.server) for _ in range(3)]
    await old.initialize()
    await old.ask("ping")
    listening = new.request(
        "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, modern=True
    )
    assert (await new.receive())["params"]["_meta"] == {SUBSCRIPTION: listening}
    deaf = new.request("subscriptions/listen", {"notifications": {}}, modern=True)
    assert (await new.receive())["params"] == {"_meta": {SUBSCRIPTION: deaf}, "notifications": {}}
    workshop.server.tools_changed()
    assert (await old.receive())["method"] == "notifications/tools/list_changed"
    assert (await new.receive())["params"]["_meta"] == {SUBSCRIPTION: listening}
    assert (await fresh.ask("ping"))["result"] == {}
    assert fresh.early == []
    new.notify("notifications/cancelled", requestId=listening)
    await new.ask("server/discover", modern=True)
    workshop.server.tools_changed()
    assert (await new.ask("server/discover", modern=True))["result"]
    assert new.early == []
    (ended,) = await new.end()
    assert ended["id"] == deaf
    assert ended["result"]["_meta"][SUBSCRIPTION] == deaf


# Registration and toolboxes.


async def nothing(arguments, call):
    return ""


def test_a_second_tool_of_the_same_name_is_refused():
    server = Server()
    server.register_tool("a", {}, nothing)
    with pytest.raises(DuplicateToolError, match="'a'") as caught:
        server.register_tool("a", {}, nothing)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("name", "schema"), [("", {}), ("a", {"type": "array"}), ("a", {"type": "string"})])
def test_a_tool_without_a_name_or_with_arguments_without_names_is_refused(name, schema):
    with pytest.raises(ValueError):
        Server().register_tool(name, schema, nothing)


async def test_definitions_are_listed_as_given_and_a_schema_gets_its_type(connect):
    server = Server()
    server.register_tool(
        "a", {"properties": {}}, nothing, description="d", annotations={"x": 1}, meta={"com.example/m": 1}
    )
    peer = await connect(server)
    assert (await peer.ask("tools/list"))["result"]["tools"] == [
        {
            "name": "a",
            "description": "d",
            "annotations": {"x": 1},
            "_meta": {"com.example/m": 1},
            "inputSchema": {"type": "object", "properties": {}},
        }
    ]


async def test_a_dict_is_structured_and_text(connect):
    server = Server()

    async def data(arguments, call):
        return {"ü": [1]}

    server.register_tool("data", {}, data)
    peer = await connect(server)
    result = (await peer.ask_call("data"))["result"]
    assert result["structuredContent"] == {"ü": [1]}
    assert json.loads(result["content"][0]["text"]) == {"ü": [1]}


class Box:
    def __init__(self):
        self.calls = []

    async def list_tools(self):
        return [{"name": "boxed", "inputSchema": {"type": "object"}}]

    async def call_tool(self, name, arguments, call):
        if name != "boxed":
            raise UnknownToolError(name)
        return Result([{"type": "text", "text": "boxed"}])


@pytest.mark.parametrize("kind", ["toolbox", "class", "function", "async function", "awaitable"])
async def test_a_toolbox_may_be_given_or_made(connect, kind):
    async def later():
        await asyncio.sleep(0)
        return Box()

    def now():
        return Box()

    given = {"toolbox": Box(), "class": Box, "function": now, "async function": later, "awaitable": None}
    server = Server(toolbox=later() if kind == "awaitable" else given[kind])
    peer = await connect(server)
    peer.call("boxed", request_id="a")
    peer.request("tools/list", request_id="b")
    assert {(await peer.receive())["id"], (await peer.receive())["id"]} == {"a", "b"}
    assert (await peer.ask_call("nope"))["error"]["code"] == -32602
    with pytest.raises(TypeError):
        server.register_tool("more", {}, nothing)


@pytest.mark.race
async def test_a_toolbox_is_made_once_at_the_first_need_and_survives_the_first_caller(connect):
    made, gate = [], asyncio.Event()

    async def make():
        made.append(1)
        await gate.wait()
        return Box()

    server = Server(toolbox=make)
    peer = await connect(server)
    await peer.initialize()
    assert made == []
    first, second = peer.call("boxed"), peer.call("boxed")
    await peer.ask("ping")
    peer.notify("notifications/cancelled", requestId=first)
    await peer.ask("ping")
    gate.set()
    assert texts(await peer.answer(second)) == ["boxed"]
    assert made == [1]


async def test_a_toolbox_that_cannot_be_made_is_tried_again(connect):
    tries = []

    def make():
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return Box()

    peer = await connect(Server(toolbox=make))
    answer = await peer.ask_call("boxed")
    assert answer["error"]["code"] == -32603
    assert "not yet" not in answer["error"]["message"]
    assert texts(await peer.ask_call("boxed")) == ["boxed"]


async def test_who_makes_the_toolbox_may_say_why_it_cannot(connect):
    def make():
        raise ToolError("The file names no tools.")

    peer = await connect(Server(toolbox=make))
    error = (await peer.ask("tools/list"))["error"]
    assert (error["code"], error["message"]) == (-32603, "The file names no tools.")


@pytest.mark.race
async def test_a_toolbox_that_is_still_being_made_is_given_up_with_its_last_client(connect):
    begun, ended = asyncio.Event(), []

    async def make():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    peer = await connect(Server(toolbox=make), drain=0.0)
    peer.call("boxed")
    await asyncio.wait_for(begun.wait(), 10)
    assert await peer.end() == []
    assert ended == [1]


async def test_a_tool_error_keeps_its_message():
    error = ToolError("why", {"a": 1})
    assert (str(error), error.message, error.meta) == ("why", "why", {"a": 1})
