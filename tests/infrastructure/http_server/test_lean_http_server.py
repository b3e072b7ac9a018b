"""The HTTP server over real sockets: what well-behaved clients get."""

from __future__ import annotations

import asyncio
import http.client
import logging
import os
import re
import socket
import stat
from contextlib import asynccontextmanager, suppress

import pytest

from awf.application.running.tasks import spawn
from awf.domain.ports.http_server import ClientGone, HttpReply, ServerLimits
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.http_server import LeanHttpServer

GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 60


async def echo(request):
    return HttpReply(
        200, (("Content-Type", "text/plain"), ("X-Path", request.path)), request.body or b"hello"
    )


@asynccontextmanager
async def serving(handler=echo, quick=None, **limits):
    server = LeanHttpServer(handler, ServerLimits(**limits), quick)
    server.port = await server.listen_tcp("127.0.0.1", 0)
    try:
        yield server
    finally:
        await server.close(0.0)


@asynccontextmanager
async def wire(server):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(PATIENCE):
            yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def answer(reader):
    """Status, head and body of one answer that tells its length."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"(?mi)^content-length: (\d+)", head)
    return int(head[9:12]), head, await reader.readexactly(int(length[1])) if length else b""


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_kept_connection_answers_one_request_after_another():
    async with serving() as server, wire(server) as (reader, writer):
        for number in range(3):
            writer.write(b"POST /n%d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n%d" % (number, number))
            status, head, body = await answer(reader)
            assert (status, body) == (200, b"%d" % number)
            assert f"X-Path: /n{number}\r\n" in head
            assert "Connection" not in head
            assert re.search(r"\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n", head)


async def test_connection_close_closes_after_the_answer():
    async with serving() as server, wire(server) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        _, head, _ = await answer(reader)
        assert "Connection: close\r\n" in head
        assert await reader.read() == b""


async def test_http_1_0_closes_unless_it_asks_to_keep():
    async with serving() as server:
        async with wire(server) as (reader, writer):
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            assert (await answer(reader))[2] == b"hello"
            assert await reader.read() == b""
        async with wire(server) as (reader, writer):
            for _ in range(2):
                writer.write(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                assert "Connection: keep-alive\r\n" in (await answer(reader))[1]


async def test_pipelined_requests_are_answered_in_order_and_one_at_a_time():
    running, most = 0, 0

    async def slow(request):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return HttpReply(body=request.path.encode())

    async with serving(slow) as server, wire(server) as (reader, writer):
        writer.write(b"".join(GET % b"%d" % number for number in range(200)))
        for number in range(200):
            assert (await answer(reader))[2] == b"/%d" % number
    assert most == 1


async def test_more_than_a_connection_holds_while_a_handler_runs_still_arrives():
    go, seen = asyncio.Event(), []

    async def slow(request):
        await go.wait()
        seen.append(len(request.body))
        return HttpReply()

    async with serving(slow) as server, wire(server) as (reader, writer):
        big = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"b" * 900_000
        writer.write(GET % b"first")
        await until(lambda: server.running)
        writer.write(big * 3)
        go.set()
        for _ in range(4):
            assert (await answer(reader))[0] == 200
    assert seen == [0, 900_000, 900_000, 900_000]


async def test_garbage_after_a_good_request_is_refused_after_its_answer():
    async with serving() as server, wire(server) as (reader, writer):
        writer.write(GET % b"" + b"garbage\r\n\r\n")
        assert (await answer(reader))[0] == 200
        status, head, body = await answer(reader)
        assert (status, body) == (400, b"this is not an HTTP/1.1 request\n")
        assert "Connection: close" in head
        assert await reader.read() == b""


async def test_expect_100_continue_is_answered_before_the_body_comes():
    async with serving() as server, wire(server) as (reader, writer):
        writer.write(
            GET % b"first"
            + b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert (await answer(reader))[0] == 200
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ok")
        assert (await answer(reader))[2] == b"ok"


async def test_expect_100_continue_with_too_much_is_refused_instead():
    async with serving(max_body=10) as server, wire(server) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
        assert (await answer(reader))[0] == 413


async def test_head_gets_the_length_but_no_body():
    async with serving() as server, wire(server) as (reader, writer):
        writer.write(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + GET % b"next")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"Content-Length: 5\r\n" in head
        assert (await answer(reader))[2] == b"hello"


async def test_a_handler_that_raises_gives_500_without_its_words_and_the_connection_goes_on(caplog):
    async def broken(request):
        if request.path == "/bad":
            raise RuntimeError("a secret detail")
        if request.path == "/nothing":
            return None
        if request.path == "/header":
            return HttpReply(headers=[("X", "a\r\nB: c")])
        return HttpReply(body=b"fine")

    caplog.set_level(logging.ERROR, "awf.http")
    async with serving(broken) as server, wire(server) as (reader, writer):
        for path in (b"bad", b"nothing", b"header"):
            writer.write(GET % path)
            status, head, body = await answer(reader)
            assert (status, body) == (500, b"the server failed on this request\n")
            assert "B: c" not in head
        writer.write(GET % b"good")
        assert (await answer(reader))[2] == b"fine"
    assert "a secret detail" in caplog.text
    assert len([record for record in caplog.records if record.name == "awf.http"]) == 3


async def test_a_stream_arrives_piece_by_piece_and_the_connection_is_kept():
    go = asyncio.Event()

    async def stream(request):
        answer = request.stream(200, [("Content-Type", "text/event-stream")])
        answer.write(b"data: 1\n\n")
        answer.write(b"")
        await answer.drained()
        await go.wait()
        answer.write(b"data: 2\n\n")
        answer.close()
        answer.close()

    async with serving(stream) as server, wire(server) as (reader, writer):
        for _ in range(2):
            go.clear()
            writer.write(GET % b"")
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"Transfer-Encoding: chunked\r\n" in head
            assert b"Content-Length" not in head
            assert await reader.readexactly(14) == b"9\r\ndata: 1\n\n\r\n"
            go.set()
            assert await reader.readexactly(19) == b"9\r\ndata: 2\n\n\r\n0\r\n\r\n"


async def test_a_stream_for_http_1_0_ends_with_the_connection_and_one_for_head_is_empty():
    async def stream(request):
        request.stream().write(b"words")

    async with serving(stream) as server:
        async with wire(server) as (reader, writer):
            writer.write(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            head, body = (await reader.read()).split(b"\r\n\r\n")
            assert body == b"words"
            assert b"chunked" not in head
            assert b"Connection: close" in head
        async with wire(server) as (reader, writer):
            writer.write(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            for _ in range(2):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")


async def test_a_stream_that_breaks_in_the_middle_is_not_taken_for_whole():
    async def broken(request):
        answer = request.stream()
        answer.write(b"half")
        await answer.drained()
        raise RuntimeError("no more")

    async with serving(broken) as server, wire(server) as (reader, writer):
        writer.write(GET % b"")
        rest = b""
        with suppress(ConnectionResetError):
            rest = await reader.read()
        assert not rest.endswith(b"0\r\n\r\n")


async def test_a_header_that_cannot_be_sent_can_be_corrected_before_the_stream_begins():
    async def careful(request):
        with pytest.raises(ValueError):
            request.stream(200, [("X", "a\r\nb")])
        request.stream(200, [("X", "ab")]).close()

    async with serving(careful) as server, wire(server) as (reader, writer):
        writer.write(GET % b"")
        assert b"X: ab\r\n" in await reader.readuntil(b"\r\n\r\n")


async def test_a_client_that_leaves_is_noticed_and_its_handler_goes_on():
    inside, finished = asyncio.Event(), []

    async def patient(request):
        inside.set()
        await request.gone.wait()
        with pytest.raises(ClientGone):
            request.stream()
        finished.append(request.gone.is_set())
        return HttpReply(body=b"nobody reads this")

    async with serving(patient) as server:
        async with wire(server) as (_, writer):
            writer.write(GET % b"")
            await inside.wait()
        await until(lambda: finished and not server.running)
    assert finished == [True]


@pytest.mark.parametrize("waits", [False, True])
async def test_a_stream_whose_client_has_left_raises(waits):
    inside, raised = asyncio.Event(), []

    async def stream(request):
        answer = request.stream()
        answer.write(b"x")
        inside.set()
        await request.gone.wait()
        try:
            if waits:
                await answer.drained()
            else:
                answer.write(b"y")
        except ClientGone:
            raised.append(True)
            raise

    async with serving(stream) as server:
        async with wire(server) as (_, writer):
            writer.write(GET % b"")
            await inside.wait()
        await until(lambda: raised and not server.running)


async def test_a_client_that_only_ended_its_sending_side_still_gets_its_answers():
    async def slow(request):
        await asyncio.sleep(0)
        return HttpReply(body=request.path.encode())

    async with serving(slow) as server, wire(server) as (reader, writer):
        writer.write(GET % b"1" + GET % b"2")
        writer.write_eof()
        text = await reader.read()
        assert text.count(b"HTTP/1.1 200") == 2
        assert text.endswith(b"/2")


async def test_the_standard_library_client_is_served():
    async with serving() as server:

        def visit():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            seen = []
            for body in (b"one", iter([b"t", b"wo"])):
                connection.request("POST", "/p%20q", body=body, encode_chunked=True)
                reply = connection.getresponse()
                seen.append((reply.status, reply.headers["X-Path"], reply.read()))
            connection.close()
            return seen

        assert await asyncio.to_thread(visit) == [(200, "/p q", b"one"), (200, "/p q", b"two")]


async def test_our_own_client_is_served_also_with_streams():
    async def stream(request):
        if request.method == "POST":
            return HttpReply(201, body=request.body * 2)
        answer = request.stream(200, [("Content-Type", "text/event-stream")])
        for _ in range(64):
            answer.write(b"z" * 65536)
            await answer.drained()
        return None

    async with serving(stream) as server:
        client = LeanHttpClient()
        url = f"http://127.0.0.1:{server.port}/mcp"
        async with await client.send("POST", url, body=b"ab") as reply:
            assert (reply.status, await reply.body(100)) == (201, b"abab")
        async with await client.send("GET", url) as reply:
            assert reply.content_type == "text/event-stream"
            assert await reply.body(1 << 23) == b"z" * (1 << 22)
        await client.close()


async def test_a_unix_socket_is_private_and_its_file_goes_with_the_server(tmp_path):
    path = str(tmp_path / "door.sock")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()  # as a killed server leaves it
    clients = []

    async def who(request):
        clients.append(request.client)
        return HttpReply(204)

    server = LeanHttpServer(who)
    await server.listen_unix(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(GET % b"")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 No Content\r\n")
    second = LeanHttpServer(who)
    with pytest.raises(OSError):
        await second.listen_unix(path)
    await second.close(0)
    assert os.path.exists(path)
    await server.close(0)
    assert await reader.read() == b""
    writer.close()
    assert clients == ["unix"]
    assert not os.path.exists(path)


async def test_a_file_in_the_place_of_the_socket_is_left_alone(tmp_path):
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(OSError):
        await LeanHttpServer(echo).listen_unix(str(path))
    assert path.read_text() == "data"


async def test_a_port_that_is_taken_is_an_os_error():
    async with serving() as server:
        with pytest.raises(OSError):
            await LeanHttpServer(echo).listen_tcp("127.0.0.1", server.port)


async def test_a_name_gets_one_port_for_all_of_its_addresses():
    server = LeanHttpServer(echo)
    port = await server.listen_tcp("localhost", 0)
    ports = {sock.getsockname()[1] for listening in server._listening for sock in listening.sockets}
    await server.close(0)
    assert ports == {port}


# -- handlers that nobody waits for


class Quick:
    """Takes what begins with /quick, and answers when it is told to."""

    def __init__(self):
        self.taken, self.left, self.stopped = [], 0, 0

    def __call__(self, request):
        if not request.path.startswith("/quick"):
            return False
        self.taken.append(request)
        request.on_leave(self.leave)
        request.on_stop(self.stop)
        return True

    def leave(self):
        self.left += 1

    def stop(self):
        self.stopped += 1

    def answer(self):
        request = self.taken.pop(0)
        request.answer(HttpReply(body=request.path.encode()))


async def test_a_quick_handler_answers_what_it_takes_in_order_with_the_rest():
    quick = Quick()
    async with serving(quick=quick) as server, wire(server) as (reader, writer):
        writer.write(GET % b"quick1" + GET % b"slow" + GET % b"quick2")
        await until(lambda: quick.taken)
        assert len(quick.taken) == 1
        quick.answer()
        assert (await answer(reader))[2] == b"/quick1"
        assert "X-Path: /slow" in (await answer(reader))[1]
        await until(lambda: quick.taken)
        quick.answer()
        assert (await answer(reader))[2] == b"/quick2"


async def test_a_quick_handler_that_fails_is_answered_for(caplog):
    def fails(request):
        raise RuntimeError("oh")

    async with serving(quick=fails) as server, wire(server) as (reader, writer):
        writer.write(GET % b"")
        assert (await answer(reader))[0] == 500
    assert "a request failed" in caplog.text


async def test_what_a_quick_handler_cannot_send_or_gives_up_is_a_failure(caplog):
    quick = Quick()
    async with serving(quick=quick) as server, wire(server) as (reader, writer):
        for end in (
            lambda request: request.answer(HttpReply(200, (("X", "a\nb"),))),
            lambda request: request.answer(None),
            lambda request: request.fail(),
        ):
            writer.write(GET % b"quick")
            await until(lambda: quick.taken)
            end(quick.taken.pop())
            assert (await answer(reader))[0] == 500


async def test_a_quick_handler_hears_that_its_client_has_left_and_may_still_answer():
    quick = Quick()
    async with serving(quick=quick) as server:
        async with wire(server) as (_, writer):
            writer.write(GET % b"quick")
            await until(lambda: quick.taken)
        await until(lambda: quick.left)
        quick.answer()
        async with wire(server) as (reader, writer):
            writer.write(GET % b"")
            assert (await answer(reader))[0] == 200
    assert quick.stopped == 0


async def test_a_server_that_closes_waits_for_quick_handlers_and_then_answers_for_them():
    quick = Quick()
    async with (
        serving(quick=quick) as server,
        wire(server) as (reader, writer),
        wire(server) as (other, more),
    ):
        writer.write(GET % b"quick1")
        await until(lambda: quick.taken)
        closing = spawn(server.close(PATIENCE), "closing", awaited=True)
        await until(lambda: server.closing)
        await asyncio.sleep(0)
        assert not closing.done()
        quick.answer()
        assert (await answer(reader))[2] == b"/quick1"
        await closing
        assert await other.read() == b""
        more.close()
    async with serving(quick=quick) as server, wire(server) as (reader, writer):
        writer.write(GET % b"quick")
        await until(lambda: quick.taken)
        await server.close(0.0)
        assert (await answer(reader))[0] == 503
    assert quick.stopped == 1
