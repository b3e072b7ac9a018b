"""Servers at an address, in both eras, well-behaved and not."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.errors import AwfError
from awf.domain.redaction import Masker
from awf.domain.redaction.publishing import Publishing
from awf.domain.tool import CallContext, ToolFailure

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])


@both_eras
@pytest.mark.parametrize("style", ["json", "events", "bytes"])
async def test_tools_are_listed_and_called(web, serve, at, context, era, style):
    server = at((await serve(web.McpWeb(era, style))).url)

    assert [tool.name for tool in await server.list_tools()] == ["echo"]
    assert (await server.call_tool("echo", {"a": "ö"}, context)).text == '{"a": "\\u00f6"}'
    assert server.client.era.modern is (era == "modern")


@both_eras
@pytest.mark.parametrize("style", ["json", "events"])
async def test_one_connection_serves_many_calls(web, serve, at, context, era, style):
    mcp = web.McpWeb(era, style, special={"GET": lambda *_: _soon(web.whole(405))})
    site = await serve(mcp)
    server = at(site.url)
    for number in range(20):
        await server.call_tool("echo", {"n": number}, context)

    assert len({request.connection for request in site.requests if request.rpc == "tools/call"}) == 1


async def _soon(value):
    return value


@pytest.mark.race
async def test_calls_at_the_same_time_use_connections_of_their_own(web, serve, at, context):
    waiting = []
    everybody = asyncio.Event()

    async def together(request, writer):
        waiting.append(request)
        if len(waiting) == 5:
            everybody.set()
        await everybody.wait()
        said = request.message["params"]["arguments"]["n"]
        return web.as_json(web.answer(request, {"content": [{"type": "text", "text": str(said)}]}))

    server = at((await serve(web.McpWeb(special={"together": together}))).url)
    calls = [server.call_tool("together", {"n": number}, context) for number in range(5)]

    assert [done.text for done in await asyncio.gather(*calls)] == ["0", "1", "2", "3", "4"]


async def test_a_legacy_request_carries_session_and_version(web, serve, at, context):
    site = await serve(web.McpWeb("legacy"))
    server = at(site.url, headers={"Authorization": "Bearer t", "X-Team": "a b"})
    await server.call_tool("echo", {}, context)

    assert site.rpcs() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]
    opening, call = site.requests[1], site.requests[3]
    assert "mcp-protocol-version" not in opening.headers
    assert call.headers["mcp-session-id"] == "session-1"
    assert call.headers["mcp-protocol-version"] == "2025-11-25"
    assert "mcp-method" not in call.headers
    assert call.headers["accept"] == "application/json, text/event-stream"
    assert call.headers["content-type"] == "application/json"
    assert (call.headers["authorization"], call.headers["x-team"]) == ("Bearer t", "a b")
    assert call.headers["host"] == f"127.0.0.1:{site.port}"


async def test_a_modern_request_repeats_method_and_name_in_headers(web, serve, at, context):
    site = await serve(web.McpWeb("modern"))
    server = at(site.url)
    await server.call_tool("echo", {}, context)
    await server.call_tool("größer als ", {}, context)

    calls = [request for request in site.requests if request.rpc == "tools/call"]
    assert calls[0].headers["mcp-protocol-version"] == "2026-07-28"
    assert calls[0].headers["mcp-method"] == "tools/call"
    assert calls[0].headers["mcp-name"] == "echo"
    assert calls[1].headers["mcp-name"] == "=?base64?Z3LDtsOfZXIgYWxzIA==?="
    assert "mcp-session-id" not in calls[0].headers
    assert calls[0].message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


async def test_arguments_that_a_tool_wants_in_headers_are_sent_there_too(web, serve, at, context):
    mcp = web.McpWeb("modern")
    nested = {"type": "object", "properties": {"dry": {"type": "boolean", "x-mcp-header": "Dry"}}}
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "how": nested},
    }
    mcp.tools = [
        {"name": "deploy", "inputSchema": schema},
        {
            "name": "bad",
            "inputSchema": {"type": "object", "properties": {"x": {"type": "number", "x-mcp-header": "X"}}},
        },
    ]
    site = await serve(mcp)
    server = at(site.url)

    await server.call_tool("deploy", {"region": "norð", "how": {"dry": True}}, context)
    await server.call_tool("deploy", {"how": {}}, context)

    first, second = (request.headers for request in site.requests if request.rpc == "tools/call")
    assert (first["mcp-param-region"], first["mcp-param-dry"]) == ("=?base64?bm9yw7A=?=", "true")
    assert not {"mcp-param-region", "mcp-param-dry"} & second.keys()
    assert [tool.name for tool in await server.list_tools()] == ["deploy"]


async def test_a_tool_that_cannot_be_used_is_logged_without_secrets(web, serve, at, caplog):
    mcp, masker = web.McpWeb("modern"), Masker()
    masker.add("KEY", "my-secret-key")
    wrong = {"x": {"type": "number", "x-mcp-header": "my-secret-key"}}
    mcp.tools = [{"name": "bad \x1b[31mtool", "inputSchema": {"type": "object", "properties": wrong}}]

    assert await at((await serve(mcp)).url, publishing=Publishing(masker)).list_tools() == ()

    (told,) = [one for one in caplog.messages if "cannot be used" in one]
    assert "bad \\u001b[31mtool" in told
    assert "x-mcp-header '***'" in told


@both_eras
async def test_a_change_of_the_list_is_heard(web, serve, at, until, era):
    mcp, told = web.McpWeb(era), []
    server = at((await serve(mcp)).url, on_change=lambda: told.append(1))
    await server.list_tools()
    await until(lambda: mcp.streams)
    mcp.tools = [*mcp.tools, {"name": "new", "inputSchema": {"type": "object"}}]

    mcp.say({"method": "notifications/tools/list_changed"})
    await until(lambda: told)

    assert [tool.name for tool in await server.list_tools()] == ["echo", "new"]


async def test_a_list_without_announcements_holds_as_long_as_the_server_says(web, serve, at):
    ttl = [60_000]

    async def discover(request, _):
        result = {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "resultType": "complete",
        }
        return web.as_json(web.answer(request, result))

    async def tools(request, _):
        return web.as_json(web.answer(request, {"tools": [], "ttlMs": ttl[0], "resultType": "complete"}))

    site = await serve(web.McpWeb("modern", special={"server/discover": discover, "tools/list": tools}))
    lasting, fleeting = at(site.url), at(site.url)
    await lasting.list_tools()
    await lasting.list_tools()
    assert site.rpcs().count("tools/list") == 1

    ttl[0] = 0
    await fleeting.list_tools()
    await fleeting.list_tools()
    assert site.rpcs().count("tools/list") == 3


async def test_progress_and_questions_come_on_the_stream_of_the_call(web, serve, at, until):
    heard = []

    async def busy(request, writer):
        token = request.message["params"]["_meta"]["progressToken"]
        writer.write(
            web.head(
                200, {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}
            )
        )
        progress = {"progressToken": token, "progress": 1, "message": "half"}
        writer.write(
            web.chunk(web.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}))
        )
        writer.write(web.chunk(web.event({"jsonrpc": "2.0", "id": "q", "method": "ping"})))
        await until(lambda: any(b'"id":"q"' in other.body for other in site.requests))
        return web.chunk(web.event(web.answer(request, {"content": []}))) + b"0\r\n\r\n"

    site = await serve(web.McpWeb("legacy", special={"busy": busy}))
    context = CallContext(call_id="c", progress=lambda *step: heard.append(step))
    await at(site.url).call_tool("busy", {}, context)

    assert heard == [(1.0, None, "half")]
    (reply,) = (request for request in site.requests if b'"id":"q"' in request.body)
    assert reply.message == {"jsonrpc": "2.0", "id": "q", "result": {}}
    assert reply.headers["mcp-session-id"] == "session-1"


# Sessions


async def test_a_lost_session_is_opened_again_once_and_the_call_repeated(web, serve, at, context):
    mcp = web.McpWeb("legacy")
    site = await serve(mcp)
    server = at(site.url)
    await server.call_tool("echo", {}, context)
    mcp.sessions.clear()

    calls = [server.call_tool("echo", {"n": number}, context) for number in range(3)]
    assert [done.text for done in await asyncio.gather(*calls)] == ['{"n": 0}', '{"n": 1}', '{"n": 2}']

    assert site.rpcs().count("initialize") == 2
    assert site.rpcs().count("server/discover") == 1


async def test_a_server_that_forgets_every_session_is_not_asked_for_ever(web, serve, at, context):
    async def forget(request, _):
        return web.whole(404)

    site = await serve(web.McpWeb("legacy", special={"tools/call": forget}))

    with pytest.raises(ToolFailure, match="forgets its sessions"):
        await at(site.url).call_tool("echo", {}, context)
    assert site.rpcs().count("tools/call") == 2


@pytest.mark.race
async def test_closing_ends_the_session_on_the_server(web, serve, at, context):
    mcp = web.McpWeb("legacy")
    server = at((await serve(mcp)).url)
    await server.call_tool("echo", {}, context)

    await server.close()
    await server.close()

    assert mcp.deleted == ["session-1"]
    with pytest.raises(ToolFailure, match="closed"):
        await server.call_tool("echo", {}, context)


async def test_a_stream_that_is_cut_is_taken_up_again_when_the_server_says(
    web, serve, at, context, monkeypatch
):
    monkeypatch.setattr("awf.infrastructure.upstreams.http.channel.RESUMPTION_PAUSE", 1000.0)
    asked = []

    async def cut(request, writer):
        asked.append(request)
        started = b"retry: 20\n" + web.event(
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, "e1"
        )
        start = web.head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        return start + web.chunk(started) + b"0\r\n\r\n"

    async def rest(request, writer):
        if request.headers.get("last-event-id") != "e1":
            return web.whole(405)
        body = web.event(web.answer(asked[0], {"content": [{"type": "text", "text": "the rest"}]}), "e2")
        return web.whole(200, body, "text/event-stream")

    server = at((await serve(web.McpWeb("legacy", special={"cut": cut, "GET": rest}))).url)

    assert (await server.call_tool("cut", {}, context)).text == "the rest"


async def test_a_new_session_is_listened_to_again(web, serve, at, context, until):
    mcp, told = web.McpWeb("legacy"), []
    asked = []

    async def not_here(request, _):
        asked.append(request)
        return web.whole(405)

    mcp.special["GET"] = not_here
    server = at((await serve(mcp)).url, on_change=lambda: told.append(1))
    await server.list_tools()
    await until(lambda: asked)
    mcp.sessions.clear()
    del mcp.special["GET"]  # the server comes back, and now offers such a stream

    await server.call_tool("echo", {}, context)
    await until(lambda: mcp.streams)
    mcp.say({"method": "notifications/tools/list_changed"})
    await until(lambda: told)


# Cancellation


@pytest.mark.race
async def test_cancelling_a_modern_call_closes_its_stream(web, serve, at, context, until):
    seen = []

    async def never(request, _):
        seen.append(request)
        await request.gone.wait()
        return b""

    site = await serve(web.McpWeb("modern", special={"never": never}))
    call = asyncio.get_running_loop().create_task(at(site.url).call_tool("never", {}, context))
    await until(lambda: seen)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until(seen[0].gone.is_set)
    assert "notifications/cancelled" not in site.rpcs()


@pytest.mark.race
async def test_cancelling_a_legacy_call_sends_the_notification(web, serve, at, context, until):
    seen = []

    async def never(request, _):
        seen.append(request)
        await request.gone.wait()
        return b""

    site = await serve(web.McpWeb("legacy", special={"never": never}))
    server = at(site.url)
    call = asyncio.get_running_loop().create_task(server.call_tool("never", {}, context))
    await until(lambda: seen)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until(lambda: "notifications/cancelled" in site.rpcs())
    (told,) = (request.message for request in site.requests if request.rpc == "notifications/cancelled")
    assert told["params"]["requestId"] == seen[0].message["id"]


@both_eras
async def test_a_call_that_takes_too_long_is_a_timeout(web, serve, at, context, era):
    async def never(request, _):
        await request.gone.wait()
        return b""

    server = at((await serve(web.McpWeb(era, special={"never": never}))).url)
    await server.list_tools()
    server.client._timeout = 0.1

    with pytest.raises(ToolFailure) as caught:
        await server.call_tool("never", {}, context)
    assert caught.value.code == "TIMEOUT"


# The eras


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b"Bad Request: Missing session ID"),
        (404, b""),
        (405, b""),
        (406, b"no"),
        (500, b"boom"),
        (200, b"<html>hi</html>"),
        (200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}'),
    ],
)
async def test_any_refusal_of_the_new_question_leads_to_the_handshake(web, serve, at, context, status, body):
    async def refuse(request, _):
        return web.whole(status, body)

    server = at((await serve(web.McpWeb("legacy", special={"server/discover": refuse}))).url)

    assert (await server.call_tool("echo", {}, context)).text == "{}"
    assert not server.client.era.modern


async def test_a_server_that_hangs_on_the_new_question_is_asked_the_old_one(web, serve, at, context):
    async def hang(request, _):
        await request.gone.wait()
        return b""

    server = at((await serve(web.McpWeb("legacy", special={"server/discover": hang}))).url, patience=0.1)

    assert (await server.call_tool("echo", {}, context)).text == "{}"


async def test_a_modern_error_settles_the_era(web, serve, at):
    async def unsupported(request, _):
        data = {"supported": ["2031-01-01"], "requested": "2026-07-28"}
        error = {"code": -32022, "message": "Unsupported protocol version", "data": data}
        return web.as_json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, 400)

    server = at((await serve(web.McpWeb("modern", special={"server/discover": unsupported}))).url)

    with pytest.raises(AwfError, match="2031-01-01"):
        await server.list_tools()


async def test_a_server_replaced_by_an_older_one_is_asked_anew(web, serve, at, context):
    mcp = web.McpWeb("modern")
    site = await serve(mcp)
    server = at(site.url)
    await server.call_tool("echo", {}, context)

    async def bad(request, _):
        return web.whole(400, b"Missing session")

    mcp.era, mcp.special = "legacy", {"server/discover": bad}
    with pytest.raises(ToolFailure):
        await server.call_tool("echo", {}, context)
    mcp.special["server/discover"] = bad

    assert (await server.call_tool("echo", {}, context)).text == "{}"
    assert not server.client.era.modern


# Refusals


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (401, "PERMISSION_DENIED", "wants credentials"),
        (403, "PERMISSION_DENIED", "does not allow"),
        (429, "RATE_LIMITED", "no more requests.*boom.*in 7 s"),
        (500, "EXECUTION_FAILED", "HTTP 500.*boom"),
        (503, "EXECUTION_FAILED", "HTTP 503.*boom"),
        (404, "EXECUTION_FAILED", "HTTP 404"),
        (303, "EXECUTION_FAILED", "HTTP 303"),
    ],
)
async def test_a_refusal_says_what_to_do(web, serve, at, context, status, code, words):
    async def refuse(request, _):
        return web.whole(status, b"boom", "text/plain", Retry_After="7")

    server = at((await serve(web.McpWeb("modern", special={"tools/call": refuse}))).url)

    with pytest.raises(ToolFailure, match=f"(?s){words}") as caught:
        await server.call_tool("echo", {}, context)
    assert caught.value.code == code


@pytest.mark.parametrize("status", [401, 403])
async def test_missing_credentials_are_told_at_the_start_and_asked_for_only_once(web, serve, at, status):
    async def refuse(request, _):
        return web.whole(status, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"who?"}}')

    site = await serve(refuse)
    with pytest.raises(AwfError, match=f"HTTP {status}") as caught:
        await at(site.url).list_tools()

    assert caught.value.code == "EXECUTION.MCP_SERVER.DENIED"
    assert "headers" in caught.value.hint
    assert len(site.requests) == 1


async def test_a_json_rpc_error_with_a_bad_status_is_told_in_its_words(web, serve, at, context):
    async def refuse(request, _):
        error = {"code": -32602, "message": "no such tool"}
        return web.as_json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, 400)

    server = at((await serve(web.McpWeb("modern", special={"tools/call": refuse}))).url)

    with pytest.raises(ToolFailure, match="no such tool") as caught:
        await server.call_tool("echo", {}, context)
    assert caught.value.code == "INVALID_ARGUMENTS"


async def test_nobody_at_the_address_is_a_clear_error(web, serve, at, context):
    site = await serve(web.McpWeb())
    await site.stop()
    server = at(site.url)

    with pytest.raises(AwfError, match=r"cannot be reached at http://127\.0\.0\.1") as caught:
        await server.list_tools()
    assert caught.value.code == "EXECUTION.MCP_SERVER.UNAVAILABLE"
    with pytest.raises(ToolFailure, match="cannot be reached"):
        await server.call_tool("echo", {}, context)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<hi/>", "text/html"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "no content type"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "broke"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
            "broke",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "not HTTP",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{]",
            "application/json",
        ),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "compressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {", "before the result"),
        (b"", "broke"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "not HTTP|broke"),
    ],
)
async def test_a_broken_answer_is_an_error_and_the_next_call_works(web, serve, at, context, data, words):
    async def broken(request, writer):
        writer.write(data)
        await writer.drain()
        return b""

    server = at((await serve(web.McpWeb("modern", special={"broken": broken}))).url)

    with pytest.raises(ToolFailure, match=words):
        await server.call_tool("broken", {}, context)
    assert (await server.call_tool("echo", {}, context)).text == "{}"


@pytest.mark.parametrize("size", [0, 1, 3, 50])
async def test_answers_come_whole_however_they_are_cut(web, serve, at, context, size):
    """`size` 0: until the connection ends; else in chunks of that size, each with an extension."""

    async def cut(request, writer):
        body = json.dumps(web.answer(request, {"content": [{"type": "text", "text": "täxt" * 20}]})).encode()
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        if not size:
            writer.write(web.head(200, {"Content-Type": "application/json"}) + body)
            await writer.drain()
            writer.close()
            return b""
        writer.write(web.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}))
        for start in range(0, len(body), size):
            part = body[start : start + size]
            writer.write(b"%x;ext=1\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        return b"0\r\nTrailer: x\r\n\r\n"

    server = at((await serve(web.McpWeb("modern", special={"cut": cut}))).url)

    assert (await server.call_tool("cut", {}, context)).text == "täxt" * 20
    assert (await server.call_tool("echo", {}, context)).text == "{}"


async def test_a_large_answer_arrives_whole_and_a_too_large_one_is_refused(
    web, serve, at, context, monkeypatch
):
    async def large(request, _):
        text = "x" * request.message["params"]["arguments"]["size"]
        return web.as_json(web.answer(request, {"content": [{"type": "text", "text": text}]}))

    server = at((await serve(web.McpWeb("modern", special={"large": large}))).url)
    assert len((await server.call_tool("large", {"size": 10_000_000}, context)).text) == 10_000_000

    monkeypatch.setattr("awf.infrastructure.upstreams.http.channel.MESSAGE_LIMIT", 5_000_000)
    with pytest.raises(ToolFailure, match="message of over"):
        await server.call_tool("large", {"size": 10_000_000}, context)


async def test_an_event_over_the_limit_is_refused(web, serve, at, context, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.upstreams.http.channel.MESSAGE_LIMIT", 100_000)

    async def large(request, writer):
        writer.write(web.head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        while not request.gone.is_set():
            writer.write(web.chunk(b"data: " + b"x" * 10_000))
            await writer.drain()
        return b""

    server = at((await serve(web.McpWeb("modern", special={"large": large}))).url)

    with pytest.raises(ToolFailure, match="message of over"):
        await server.call_tool("large", {}, context)


# Connections


@pytest.mark.race
async def test_a_connection_that_the_server_closed_meanwhile_is_not_used(web, serve, at, context, until):
    async def once(request, writer):
        writer.write(web.as_json(web.answer(request, {"content": []})))
        await writer.drain()
        return b""

    site = await serve(web.McpWeb("legacy", special={"once": once}))
    server = at(site.url)
    for _ in range(5):
        await server.call_tool("once", {}, context)
        await until(lambda: not site._tasks)
    assert site.rpcs().count("tools/call") == 5


async def test_a_call_is_not_repeated_when_the_connection_breaks(web, serve, at, context):
    async def hang_up(request, _):
        return b""

    site = await serve(web.McpWeb("modern", special={"hang_up": hang_up}))
    server = at(site.url)
    await server.list_tools()

    with pytest.raises(ToolFailure, match="may or may not have been done"):
        await server.call_tool("hang_up", {}, context)
    assert (
        sum(request.message["params"].get("name") == "hang_up" for request in site.requests if request.body)
        == 1
    )


async def test_a_question_that_does_no_harm_is_repeated_when_an_idle_connection_breaks(web, serve, at):
    tries = []

    async def tools(request, _):
        tries.append(request.connection)
        return b"" if len(tries) == 1 else web.as_json(web.answer(request, {"tools": []}))

    async def discover(request, _):
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
        return web.as_json(web.answer(request, result))

    site = await serve(web.McpWeb("modern", special={"tools/list": tools, "server/discover": discover}))

    assert await at(site.url).list_tools() == ()
    assert len(set(tries)) == 2


@pytest.mark.race
async def test_idle_connections_are_closed_after_a_while(web, serve, at, context, until, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.http_client.pool.IDLE_SECONDS", 0.05)
    site = await serve(web.McpWeb("legacy"))
    server = at(site.url)
    await server.call_tool("echo", {}, context)

    await until(lambda: not site._tasks or all(task.done() for task in site._tasks))


# Redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_within_the_origin_is_followed_as_the_same_request(web, serve, at, context, status):
    mcp = web.McpWeb("modern")

    async def moved(request, writer):
        if request.target == "/mcp":
            return web.whole(status, b"", Location="/real/mcp/?a=1")
        assert request.method == "POST"
        return await mcp(request, writer)

    site = await serve(moved)
    server = at(site.url)
    await server.call_tool("echo", {}, context)
    await server.call_tool("echo", {}, context)

    permanent = status in {301, 308}
    assert sum(request.target == "/mcp" for request in site.requests) == (
        1 if permanent else len(site.requests) / 2
    )


@pytest.mark.parametrize(
    "location", ["http://localhost:1/mcp", "https://127.0.0.1/mcp", "ftp://x", "http://[::"]
)
async def test_a_redirect_to_another_origin_is_refused(web, serve, at, location):
    async def away(request, _):
        return web.whole(307, b"", Location=location)

    with pytest.raises(AwfError, match="redirects to another place"):
        await at((await serve(away)).url, headers={"Authorization": "secret"}).list_tools()


async def test_redirects_in_circles_end(web, serve, at):
    async def around(request, _):
        return web.whole(307, b"", Location="/mcp")

    site = await serve(around)
    with pytest.raises(AwfError, match="in circles"):
        await at(site.url).list_tools()


# TLS


async def test_a_certificate_that_nobody_trusts_is_refused(web, serve, at, certificate):
    site = await serve(web.McpWeb("modern"), certificate.server)

    with pytest.raises(AwfError, match=r"(?i)cannot be reached.*certificate"):
        await at(site.url).list_tools()


async def test_tls_works_with_a_trusted_certificate(web, serve, at, context, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", certificate.authority)
    site = await serve(web.McpWeb("modern"), certificate.server)
    server = at(site.url)

    assert (await server.call_tool("echo", {}, context)).text == "{}"
    assert (await server.call_tool("echo", {"n": 2}, context)).text == '{"n": 2}'
