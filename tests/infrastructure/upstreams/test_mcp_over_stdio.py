"""The odd server as a child process, in both eras."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp import RpcError
from awf.domain.mcp_server import McpServer
from awf.domain.tool import CallContext, ToolFailure, UnknownTool
from awf.infrastructure.upstreams import open_server

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])


@both_eras
async def test_a_tool_answers_with_everything_the_server_said(odd, context, era):
    done = await odd("--era", era).call_tool("echo", {"text": "hello"}, context)

    assert done.text == "hello"
    assert done.structured == {"said": "hello"}
    assert done.meta == {"odd/result": 7}
    assert done.is_error is False


@both_eras
async def test_a_definition_keeps_what_nobody_knows(odd, era):
    (tool,) = await odd("--era", era).list_tools()

    assert (tool.name, tool.title, tool.description, tool.source) == (
        "echo",
        "Echo",
        "Say it again",
        "mcp:odd",
    )
    assert tool.input_schema["x-odd"] == 1
    assert tool.annotations == {"readOnlyHint": True, "policyAction": "odd.read"}
    assert tool.more == {
        "icons": [{"src": "data:,"}],
        "execution": {"taskSupport": "forbidden"},
        "_meta": {"odd/extra": [1, 2]},
        "futureField": {"kept": True},
    }


@both_eras
async def test_a_list_in_pages_is_read_to_its_end(odd, era):
    tools = await odd("--era", era, "--tools", 1000, "--page", 37).list_tools()

    assert len(tools) == 1001
    assert tools[-1].name == "tool_0999"


async def test_a_list_that_never_ends_is_refused(odd):
    with pytest.raises(AwfError, match="does not end") as caught:
        await odd("--endless").list_tools()

    assert caught.value.code == "EXECUTION.MCP_SERVER.PROTOCOL"


async def test_only_the_chosen_tools_are_there(odd, context):
    server = odd("--tools", 12, tools=["echo", "tool_000?"])

    assert [tool.name for tool in await server.list_tools()] == ["echo", *(f"tool_{n:04}" for n in range(10))]
    with pytest.raises(UnknownTool):
        await server.call_tool("params", {}, context)


async def test_a_disabled_server_has_no_tools_and_is_not_started(odd, context, tmp_path):
    server = odd("--starts", tmp_path / "starts", enabled=False)

    assert await server.list_tools() == ()
    with pytest.raises(UnknownTool):
        await server.call_tool("echo", {}, context)
    assert not (tmp_path / "starts").exists()


@both_eras
async def test_answers_may_come_in_any_order(odd, context, era):
    server = odd("--era", era)
    wanted = [f"call {number}" for number in range(20)]
    calls = [server.call_tool("hold", {"text": said, "until": 20}, context) for said in wanted]

    assert [done.text for done in await asyncio.gather(*calls)] == wanted


async def test_noise_on_standard_output_is_ignored_and_logged_a_few_times(odd, context, caplog):
    server = odd("--banner", "Welcome to the odd server!")

    done = await server.call_tool("garbage", {}, context)

    assert done.text == "after the noise"
    warnings = [record.getMessage() for record in caplog.records if "not a message" in record.getMessage()]
    assert "Welcome to the odd server!" in warnings[0]
    assert len(warnings) == 5


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("wrong_ids", "for you"),
        ("twice", "first"),
        ("as_text", "the id came back as text"),
        ("half_emoji", "cut \N{REPLACEMENT CHARACTER}"),
        ("batch", "in a batch"),
    ],
)
async def test_answers_that_are_a_little_off_do_no_harm(odd, context, tool, text):
    server = odd()

    assert (await server.call_tool(tool, {}, context)).text == text
    assert (await server.call_tool("echo", {"text": "still there"}, context)).text == "still there"


async def test_an_answer_without_result_and_error_is_a_failure(odd, context):
    with pytest.raises(ToolFailure, match="neither a result nor an error"):
        await odd().call_tool("empty", {}, context)


async def test_a_result_of_twenty_megabytes_arrives_whole(odd, context):
    size = 20_000_000

    assert len((await odd().call_tool("huge", {"size": size}, context)).text) == size


async def test_a_message_over_the_limit_is_told_and_the_server_can_go_on(odd, context, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.upstreams.stdio.MESSAGE_LIMIT", 100_000)
    server = odd()

    with pytest.raises(ToolFailure, match="message of over"):
        await server.call_tool("huge", {"size": 1_000_000}, context)

    assert (await server.call_tool("echo", {"text": "again"}, context)).text == "again"


@both_eras
async def test_progress_reaches_the_caller(odd, era):
    heard = []
    context = CallContext(call_id="c", progress=lambda *step: heard.append(step))

    await odd("--era", era).call_tool("progress", {}, context)

    assert heard == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]


async def test_a_listener_to_progress_that_fails_does_not_break_the_call(odd):
    def fail(*_):
        raise ValueError("no")

    done = await odd().call_tool("progress", {}, CallContext(call_id="c", progress=fail))

    assert done.text == "done"


async def test_a_legacy_request_carries_the_callers_meta_and_trace_but_not_what_a_hop_owns(odd):
    meta = {
        "progressToken": "theirs",
        "io.modelcontextprotocol/protocolVersion": "x",
        "acme/user": "u",
        "tracestate": "a",
    }
    trace = {"traceparent": "00-1-2-01", "tracestate": "b"}

    done = await odd().call_tool("params", {"a": 1}, CallContext(call_id="c", meta=meta, trace=trace))

    assert json.loads(done.text) == {
        "name": "params",
        "arguments": {"a": 1},
        "_meta": {"acme/user": "u", "traceparent": "00-1-2-01", "tracestate": "b"},
    }


async def test_a_modern_request_says_who_asks_and_in_which_version(odd):
    context = CallContext(call_id="c", trace={"traceparent": "00-1-2-01"}, progress=lambda *_: None)

    sent = json.loads((await odd("--era", "modern").call_tool("params", {}, context)).text)["_meta"]

    assert sent.pop("io.modelcontextprotocol/clientInfo")["name"] == "awf"
    assert isinstance(sent.pop("progressToken"), int)
    assert sent == {
        "traceparent": "00-1-2-01",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }


@both_eras
async def test_a_changed_list_is_told_and_read_again(odd, context, era, until):
    told = []
    server = odd("--era", era, on_change=lambda: told.append(1))
    first = await server.list_tools()
    assert await server.list_tools() is first
    if era == "modern":
        await until(lambda: server.client._channel.correlation._pending)  # it listens

    await server.call_tool("grow", {}, context)
    await until(lambda: told)

    assert [tool.name for tool in await server.list_tools()] == ["echo", "grown_0"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [(-32000, "EXECUTION_FAILED"), (-32602, "INVALID_ARGUMENTS"), (-32002, "RESOURCE_NOT_FOUND")],
)
async def test_an_error_of_the_server_is_told_in_its_words(odd, context, code, expected):
    with pytest.raises(ToolFailure, match=f"I would rather not.*{code}") as caught:
        await odd().call_tool("refuse", {"code": code}, context)

    assert caught.value.code == expected


async def test_a_tool_that_failed_is_a_result_not_an_exception(odd, context):
    done = await odd().call_tool("fail", {}, context)

    assert (done.is_error, done.text) == (True, "it went wrong")


async def test_a_server_that_wants_input_is_told_so(odd, context):
    with pytest.raises(ToolFailure, match=r"wants input first \(elicitation/create\)"):
        await odd("--era", "modern").call_tool("input", {}, context)


@pytest.mark.parametrize("method", ["roots/list", "sampling/createMessage", "elicitation/create"])
async def test_what_the_server_asks_of_us_is_refused(odd, context, method):
    answer = json.loads((await odd().call_tool("ask", {"method": method}, context)).text)

    assert answer["error"]["code"] == -32601


async def test_a_ping_is_answered(odd, context):
    answer = json.loads((await odd().call_tool("ask", {"method": "ping"}, context)).text)

    assert answer == {"result": {}}


async def test_a_handler_may_answer_what_the_server_asks(odd, context):
    async def handle(message, _tag):
        if message["method"] == "roots/list":
            return {"roots": [{"uri": "file:///tmp"}]}
        raise RpcError(-1, "no", {"d": 1})

    server = odd()
    server.client._on_request = handle

    roots = json.loads((await server.call_tool("ask", {"method": "roots/list"}, context)).text)
    other = json.loads((await server.call_tool("ask", {"method": "sampling/createMessage"}, context)).text)

    assert roots == {"result": {"roots": [{"uri": "file:///tmp"}]}}
    assert other == {"error": {"code": -1, "message": "no", "data": {"d": 1}}}


# Time and cancellation


@both_eras
async def test_a_call_that_takes_too_long_is_given_up_and_the_server_told(
    odd, context, era, tmp_path, until, received
):
    log = tmp_path / "log"
    server = odd("--era", era, "--log", log, timeout=30)
    await server.list_tools()
    server.client._timeout = 0.2

    with pytest.raises(ToolFailure, match="did not answer within") as caught:
        await server.call_tool("never", {}, context)

    assert caught.value.code == "TIMEOUT"
    await until(lambda: any(item.get("method") == "notifications/cancelled" for item in received(log)))
    numbers = [item["waiting"] for item in received(log) if "waiting" in item]
    told = [
        item["params"]["requestId"]
        for item in received(log)
        if item.get("method") == "notifications/cancelled"
    ]
    assert told == numbers


@pytest.mark.race
@both_eras
async def test_a_cancelled_call_is_told_to_the_server(odd, context, era, tmp_path, until, received):
    log = tmp_path / "log"
    server = odd("--era", era, "--log", log)
    call = asyncio.get_running_loop().create_task(server.call_tool("never", {}, context))
    await until(lambda: any("waiting" in item for item in received(log)))

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until(lambda: any(item.get("method") == "notifications/cancelled" for item in received(log)))
    assert (await server.call_tool("echo", {"text": "on"}, context)).text == "on"


async def test_a_server_that_never_answers_is_ended_after_the_timeout(odd, context, tmp_path):
    server = odd("--mute", "--starts", tmp_path / "starts", timeout=0.5, patience=0.1)

    with pytest.raises(AwfError, match=r"did not answer within 0\.5 s of its start") as caught:
        await server.list_tools()

    assert caught.value.code == "EXECUTION.MCP_SERVER.UNAVAILABLE"
    for pid in (tmp_path / "starts").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


# The eras


@both_eras
async def test_the_era_is_found_out_once_and_remembered(odd, context, era, tmp_path, received):
    log = tmp_path / "log"
    server = odd("--era", era, "--log", log)
    with pytest.raises(ToolFailure):
        await server.call_tool("die", {}, context)
    await server.call_tool("echo", {}, context)

    methods = [item.get("method") for item in received(log)]
    assert methods.count("server/discover") == 1
    assert methods.count("initialize") == (2 if era == "legacy" else 0)
    assert server.client.era.modern is (era == "modern")


@pytest.mark.parametrize("probe", ["error", "silence", "exit", "other"])
async def test_an_old_server_may_meet_the_new_question_in_any_way(odd, context, probe):
    server = odd("--probe", probe, patience=0.2)

    assert (await server.call_tool("echo", {"text": "fine"}, context)).text == "fine"
    assert server.client.era.version == "2025-11-25"


async def test_a_modern_server_that_starts_slowly_is_still_recognised(odd, context):
    server = odd("--era", "modern", "--probe", "late", patience=0.1)

    assert (await server.call_tool("echo", {"text": "fine"}, context)).text == "fine"
    assert server.client.era.modern


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_older_versions_are_accepted(odd, version):
    server = odd("--version", version)
    await server.list_tools()

    assert server.client.era.version == version


async def test_an_unknown_version_is_a_clear_error(odd):
    with pytest.raises(AwfError, match="unknown protocol version '1999-01-01'") as caught:
        await odd("--version", "1999-01-01").list_tools()

    assert caught.value.code == "EXECUTION.MCP_SERVER.PROTOCOL"
    assert caught.value.hint


async def test_a_server_of_a_later_age_is_a_clear_error(odd):
    with pytest.raises(AwfError, match="only unknown protocol versions: 2031-01-01"):
        await odd("--era", "modern", "--supported", "2031-01-01").list_tools()


async def test_a_server_with_both_eras_is_spoken_to_in_the_newer(odd):
    server = odd("--era", "both", "--supported", "2025-11-25,2026-07-28")
    await server.list_tools()

    assert server.client.era.version == "2026-07-28"
    assert server.client.era.instructions == "be odd"


async def test_a_server_that_discovers_only_old_versions_is_spoken_to_in_the_older(odd):
    server = odd("--era", "both", "--supported", "2025-11-25")
    await server.list_tools()

    assert server.client.era.version == "2025-11-25"


# Death and restart


@pytest.mark.race
@both_eras
async def test_a_server_that_dies_fails_every_call_with_its_last_words(odd, context, era):
    server = odd("--era", era)
    await server.list_tools()
    loop = asyncio.get_running_loop()
    waiting = [loop.create_task(server.call_tool("never", {}, context)) for _ in range(3)]
    await asyncio.sleep(0)

    with pytest.raises(ToolFailure, match=r"(?s)exit status 3.*last words of the server") as caught:
        await server.call_tool("die", {}, context)

    assert caught.value.code == "EXECUTION_FAILED"
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(outcome, ToolFailure)
        assert "last words" in outcome.message


async def test_a_dead_server_is_started_again_at_the_next_call(odd, context):
    server = odd()
    first = (await server.call_tool("pid", {}, context)).text
    with pytest.raises(ToolFailure):
        await server.call_tool("die", {}, context)

    second = (await server.call_tool("pid", {}, context)).text

    assert first != second


@pytest.mark.race
async def test_a_server_that_always_dies_is_left_alone_for_a_while(odd, context, tmp_path):
    starts = tmp_path / "starts"
    server = odd("--exit", 7, "--starts", starts)
    said = []
    for _ in range(6):
        with pytest.raises(ToolFailure) as caught:
            await server.call_tool("echo", {}, context)
        said.append(caught.value.message)

    assert all("exit status 7" in text for text in said)
    assert "left alone" in said[-1]
    assert "left alone" not in said[3]
    # Four attempts, each of which also tries whether the question about the era was what ended the server.
    assert len(starts.read_text().split()) == 8


async def test_a_program_that_does_not_exist_is_named(runner, context):
    server = open_server("gone", McpServer(command="/no/such/program"), runner, {})

    with pytest.raises(AwfError, match='MCP server "gone": Cannot start "/no/such/program"'):
        await server.list_tools()
    with pytest.raises(ToolFailure, match="Cannot start"):
        await server.call_tool("x", {}, context)
    await server.close()


async def test_a_command_with_its_arguments_in_one_text_gets_a_hint(runner):
    server = open_server("joined", McpServer(command="npx -y something"), runner, {})

    with pytest.raises(AwfError) as caught:
        await server.list_tools()

    assert "`args`" in caught.value.hint
    await server.close()


async def test_what_the_server_says_on_standard_error_is_read_and_logged_within_bounds(odd, context, caplog):
    caplog.set_level("INFO", "awf.upstreams")
    server = odd()

    await server.call_tool("shout", {"size": 3_000_000, "lines": 2000}, context)

    assert (await server.call_tool("echo", {"text": "on"}, context)).text == "on"
    lines = [record.getMessage() for record in caplog.records if record.name == "awf.upstreams"]
    assert 400 < len(lines) <= 501
    assert max(map(len, lines)) < 1000


@pytest.mark.race
async def test_closing_ends_the_server_and_whoever_waits(odd, context, tmp_path, until, received):
    log = tmp_path / "log"
    server = odd("--log", log)
    pid = int((await server.call_tool("pid", {}, context)).text)
    call = asyncio.get_running_loop().create_task(server.call_tool("never", {}, context))
    await until(lambda: any("waiting" in item for item in received(log)))

    await server.close()
    await server.close()

    with pytest.raises(ToolFailure, match="closed"):
        await call
    with pytest.raises(ToolFailure, match="closed"):
        await server.call_tool("echo", {}, context)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.race
async def test_closing_does_not_wait_for_a_server_that_has_not_answered_yet(odd, context, until, tmp_path):
    server = odd("--mute", "--starts", tmp_path / "starts", timeout=1000)
    call = asyncio.get_running_loop().create_task(server.list_tools())
    await until((tmp_path / "starts").exists)

    async with asyncio.timeout(60):
        await server.close()
    with pytest.raises(AwfError, match="closed"):
        await call


async def test_a_server_that_ignores_all_requests_to_leave_is_killed(odd, context):
    server = odd("--deaf")
    pid = int((await server.call_tool("pid", {}, context)).text)

    await server.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.race
async def test_a_call_cancelled_while_the_server_starts_leaves_nothing(odd, context, until, tmp_path):
    server = odd("--mute", "--starts", tmp_path / "starts")
    call = asyncio.get_running_loop().create_task(server.call_tool("echo", {}, context))
    await until(lambda: (tmp_path / "starts").exists() and (tmp_path / "starts").read_text().strip())

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "starts").read_text()), 0)
