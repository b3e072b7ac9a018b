"""The HTTP server with clients that are slow, greedy or rude, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import re
import socket
import sys
from contextlib import asynccontextmanager, suppress

import pytest

from awf.domain.ports.http_server import ClientGone, HttpReply, ServerLimits
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.http_server import LeanHttpServer

GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 60


async def hello(request):
    return HttpReply(body=b"hello")


@asynccontextmanager
async def serving(handler=hello, **limits):
    server = LeanHttpServer(handler, ServerLimits(**limits))
    server.port = await server.listen_tcp("127.0.0.1", 0)
    try:
        yield server
    finally:
        await server.close(0.0)


@asynccontextmanager
async def wire(server, **how):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, **how)
    try:
        async with asyncio.timeout(PATIENCE):
            yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def status_of(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head[9:12])


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def ended(reader):
    """All that still comes, whether the other side closes or cuts off."""
    data = b""
    try:
        while piece := await reader.read(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


async def test_a_body_that_is_too_large_is_refused_without_being_read():
    asked = []

    async def never(request):
        asked.append(request)
        return HttpReply()

    async with serving(never, max_body=1000) as server, wire(server) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n")
        assert await status_of(reader) == 413
        sent = 0
        try:
            while sent < 67_108_864:
                writer.write(b"x" * 65536)
                sent += 65536
                await writer.drain()
        except OSError:
            pass
        assert sent < 67_108_864
    assert asked == []


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"HTTP/1.1 408 "),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.1 408 "),
        (b"", b""),
    ],
)
async def test_a_client_that_drips_is_cut_off_however_steadily_it_drips(begin, expected):
    async with serving(header_seconds=0.2, body_seconds=0.2) as server, wire(server) as (reader, writer):
        writer.write(begin)

        async def drip():
            while begin:
                writer.write(b"a")
                await asyncio.sleep(0.02)

        dripping = asyncio.get_running_loop().create_task(drip())
        assert (await ended(reader)).startswith(expected)
        dripping.cancel()
        await asyncio.wait([dripping])


async def test_a_kept_connection_that_is_not_used_is_closed_without_a_word():
    async with serving(idle_seconds=0.1) as server, wire(server) as (reader, writer):
        writer.write(GET % b"")
        assert await status_of(reader) == 200
        assert await ended(reader) == b""


async def test_a_running_request_is_not_idle():
    inside, go = asyncio.Event(), asyncio.Event()

    async def slow(request):
        inside.set()
        await go.wait()
        return HttpReply()

    limits = {"idle_seconds": 0.05, "header_seconds": 0.05, "body_seconds": 0.05, "write_stall_seconds": 0.05}
    async with serving(slow, **limits) as server, wire(server) as (reader, writer):
        writer.write(GET % b"")
        await inside.wait()
        await asyncio.sleep(0.3)  # several times each of the limits: the subject of the test
        go.set()
        assert await status_of(reader) == 200


async def test_a_client_that_does_not_read_its_stream_is_cut_off():
    ends = []

    async def flood(request):
        answer = request.stream()
        try:
            while True:
                answer.write(b"x" * 65536)
                await answer.drained()
        except ClientGone:
            ends.append(request.gone.is_set())
            raise

    async with serving(flood, write_stall_seconds=0.2) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as deaf:
            deaf.sendall(GET % b"")
            await until(lambda: ends and not server.running)
    assert ends == [True]


async def test_a_client_that_asks_on_and_on_without_reading_is_made_to_wait_then_cut_off():
    asked = []

    async def big(request):
        asked.append(request.path)
        return HttpReply(body=b"x" * (1 << 20))

    async with serving(big, write_stall_seconds=0.3) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as deaf:
            deaf.sendall((GET % b"") * 500)
            await until(lambda: asked and not server._connections)
    assert len(asked) < 100


async def test_over_the_limit_of_connections_clients_are_told_to_come_back():
    async with serving(connections=2) as server:
        async with wire(server) as (one, ask_one), wire(server) as (two, ask_two):
            for reader, writer in ((one, ask_one), (two, ask_two)):
                writer.write(GET % b"")
                assert await status_of(reader) == 200
            async with wire(server) as (third, ask_third):
                ask_third.write(GET % b"")
                text = await ended(third)
                assert text.startswith(b"HTTP/1.1 503 ")
                assert b"Retry-After: 1\r\n" in text
        await until(lambda: not server._connections)
        async with wire(server) as (reader, writer):
            writer.write(GET % b"")
            assert await status_of(reader) == 200


@pytest.mark.skipif(sys.platform != "linux", reason="only there is every address of 127/8 at hand")
async def test_one_address_cannot_take_all_connections():
    async with serving(per_client=1) as server:
        async with wire(server) as (one, ask_one):
            ask_one.write(GET % b"")
            assert await status_of(one) == 200
            async with wire(server) as (two, _):
                assert (await ended(two)).startswith(b"HTTP/1.1 503 ")
            async with wire(server, local_addr=("127.0.0.2", 0)) as (three, ask_three):
                ask_three.write(GET % b"")
                assert await status_of(three) == 200
        await until(lambda: not server._connections)
        assert not server._per_client


@pytest.mark.race
async def test_a_crowd_over_the_limit_leaves_nothing_behind():
    async with serving(connections=5) as server:

        async def visit():
            try:
                async with wire(server) as (reader, writer):
                    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    return (await ended(reader))[:12]
            except ConnectionError:
                return b""

        seen = set(await asyncio.gather(*(visit() for _ in range(150))))
        assert seen <= {b"HTTP/1.1 200", b"HTTP/1.1 503", b""}
        await until(lambda: not server._connections and not server._refused)


@pytest.mark.race
async def test_many_connections_get_each_their_own_answers():
    async def later(request):
        await asyncio.sleep(0)
        return HttpReply(body=request.body + request.path.encode())

    async with serving(later) as server:
        client = LeanHttpClient()

        async def worker(name):
            for number in range(20):
                url = f"http://127.0.0.1:{server.port}/{name}/{number}"
                async with await client.send("POST", url, body=b"b") as reply:
                    assert await reply.body(1000) == f"b/{name}/{number}".encode()

        await asyncio.gather(*(worker(name) for name in range(32)))
        await client.close()


@pytest.mark.race
async def test_clients_that_leave_at_any_moment_leave_nothing_behind():
    async def stream(request):
        answer = request.stream()
        while True:
            answer.write(b"tick")
            await answer.drained()
            await asyncio.sleep(0)

    async with serving(stream) as server:
        for cut in range(len(GET % b"") + 8):
            async with wire(server) as (reader, writer):
                writer.write((GET % b"")[:cut])
                if cut >= len(GET % b""):
                    await reader.readexactly(cut)
                if cut % 2:
                    writer.transport.abort()
        await until(lambda: not server.running and not server._connections)


@pytest.mark.race
async def test_closing_lets_running_requests_finish_and_begins_no_new_ones():
    inside, go, asked = asyncio.Event(), asyncio.Event(), []

    async def slow(request):
        asked.append(request.path)
        inside.set()
        await go.wait()
        return HttpReply(body=b"done")

    server = LeanHttpServer(slow)
    server.port = await server.listen_tcp("127.0.0.1", 0)
    async with wire(server) as (busy, ask), wire(server) as (idle, _), wire(server) as (half, ask_half):
        ask_half.write((GET % b"half")[:10])
        ask.write(GET % b"1" + GET % b"2")
        await inside.wait()
        await until(lambda: len(server._connections) == 3)
        closing = asyncio.get_running_loop().create_task(server.close(PATIENCE))
        assert await ended(idle) == b""
        assert (await ended(half))[:12] in {b"HTTP/1.1 503", b""}
        go.set()
        text = await ended(busy)
        assert text.startswith(b"HTTP/1.1 200 OK")
        assert b"Connection: close\r\n" in text
        assert text.endswith(b"done")
        await closing
    assert asked == ["/1"]
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", server.port)


@pytest.mark.race
async def test_closing_ends_what_does_not_finish_in_time():
    inside, ends = asyncio.Event(), []

    async def stubborn(request):
        if request.path == "/stream":
            request.stream().write(b"first")
        inside.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append(request.path)

    server = LeanHttpServer(stubborn)
    server.port = await server.listen_tcp("127.0.0.1", 0)
    async with wire(server) as (plain, ask), wire(server) as (stream, ask_stream):
        ask.write(GET % b"plain")
        ask_stream.write(GET % b"stream")
        await stream.readuntil(b"first")
        await until(lambda: len(server.running) == 2)
        await server.close(0.01)
        assert sorted(ends) == ["/plain", "/stream"]
        assert (await ended(plain)).startswith(b"HTTP/1.1 503 ")
        assert not (await ended(stream)).endswith(b"0\r\n\r\n")
    assert not server.running
    await server.close(0.01)


async def test_a_connection_that_is_over_is_not_kept_in_memory():
    from awf.infrastructure.http_server.connection import HttpConnection

    async with serving() as server:
        async with wire(server) as (reader, writer):
            writer.write(GET % b"")
            assert await status_of(reader) == 200
        await until(lambda: not server._connections)
        gc.collect()
        assert [
            item for item in gc.get_objects() if isinstance(item, HttpConnection) and item._house is server
        ] == []
