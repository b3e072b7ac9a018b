"""How a connection ends, and what a client that does not read can do to us."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

import pytest

from mcpserver import Server
from mcpserver.session import Session

PATIENCE = 20


@pytest.mark.race
async def test_calls_in_flight_at_the_end_of_input_may_finish_and_are_answered(workshop, connect):
    peer = await connect(workshop.server, drain=30)
    peer.call("wait", {"tag": 1})
    await asyncio.wait_for(workshop.started.wait(), PATIENCE)
    peer.writer.write_eof()
    workshop.release.set()
    assert (await peer.receive())["result"]["content"][0]["text"] == "waited 1"
    assert await peer.receive() is None
    await asyncio.wait_for(peer.serving, PATIENCE)


@pytest.mark.race
async def test_calls_that_do_not_finish_in_time_are_cancelled_and_gone_when_serve_returns(workshop, connect):
    workshop.server.concurrent_calls = 2
    peer = await connect(workshop.server, drain=0.05)
    for number in range(4):
        peer.call("wait", {"tag": number})
    await asyncio.wait_for(workshop.started.wait(), PATIENCE)
    assert await peer.end() == []
    assert sorted(workshop.order) == [("cancelled", 0), ("cancelled", 1), ("started", 0), ("started", 1)]
    assert workshop.running == 0


async def test_a_last_line_without_a_newline_is_answered(workshop, connect):
    peer = await connect(workshop.server)
    peer.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}')
    (answer,) = await peer.end()
    assert answer["id"] == 1


@pytest.mark.race
async def test_serve_waits_for_a_handler_that_cleans_up(connect):
    server, started, cleaned = Server(), asyncio.Event(), []

    async def tidy(arguments, call):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            cleaned.append(1)

    server.register_tool("tidy", {}, tidy)
    peer = await connect(server, drain=0)
    peer.call("tidy")
    await asyncio.wait_for(started.wait(), PATIENCE)
    assert await peer.end() == []
    assert cleaned == [1]


@pytest.mark.race
async def test_a_client_that_vanishes_cancels_its_calls_and_nobody_elses(workshop, connect):
    gone, stays = await connect(workshop.server, drain=0.05), await connect(workshop.server)
    gone.call("wait", {"tag": "gone"})
    stays.call("wait", {"tag": "stays"}, request_id="s")
    await stays.ask("ping")
    while ("started", "gone") not in workshop.order:
        await asyncio.sleep(0)
    gone.writer.transport.abort()
    await asyncio.wait_for(gone.serving, PATIENCE)
    assert ("cancelled", "gone") in workshop.order
    workshop.release.set()
    assert (await stays.answer("s"))["result"]["content"][0]["text"] == "waited stays"


@pytest.mark.race
async def test_cancelling_serve_cancels_the_calls_first(workshop, connect):
    peer = await connect(workshop.server)
    peer.call("wait", {"tag": 1})
    await asyncio.wait_for(workshop.started.wait(), PATIENCE)
    peer.serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(peer.serving, PATIENCE)
    assert peer.serving.cancelled()
    assert workshop.order == [("started", 1), ("cancelled", 1)]


class BrokenWriter:
    """A writer whose reader has gone."""

    def __init__(self):
        self.closed = False

    def write(self, data):
        raise BrokenPipeError

    async def drain(self):
        pass

    def close(self):
        self.closed = True


@pytest.mark.race
async def test_a_broken_pipe_cancels_everything_and_serve_returns_quietly(workshop):
    reader, writer = asyncio.StreamReader(), BrokenWriter()
    serving = asyncio.get_running_loop().create_task(workshop.server.serve(reader, writer))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}
    reader.feed_data(json.dumps(call).encode() + b"\n")
    await asyncio.wait_for(workshop.started.wait(), PATIENCE)
    reader.feed_data(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')  # its answer finds the pipe broken
    await asyncio.wait_for(serving, PATIENCE)
    assert workshop.order == [("started", None), ("cancelled", None)]
    assert writer.closed


class SlowWriter:
    """A writer whose client reads only when it is told to."""

    def __init__(self):
        self.written = bytearray()
        self.reads = asyncio.Event()
        self.waits = asyncio.Event()

    def write(self, data):
        self.written += data

    async def drain(self):
        self.waits.set()
        await self.reads.wait()

    def close(self):
        pass


async def test_who_does_not_read_is_not_read_from(workshop):
    reader, writer = asyncio.StreamReader(), SlowWriter()
    serving = asyncio.get_running_loop().create_task(workshop.server.serve(reader, writer))
    reader.feed_data(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    await asyncio.wait_for(writer.waits.wait(), PATIENCE)
    reader.feed_data(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
    for _ in range(50):
        await asyncio.sleep(0)
    assert writer.written.count(b"\n") == 1
    writer.reads.set()
    reader.feed_eof()
    await asyncio.wait_for(serving, PATIENCE)
    assert writer.written.count(b"\n") == 2


@pytest.mark.race
@pytest.mark.parametrize("files", [False, True])
async def test_a_client_that_never_reads_cannot_fill_our_memory(files):
    """Over sockets and over descriptors: after a while we take no more from it."""
    server = Server()
    big = "x" * 100_000

    async def flood(arguments, call):
        for number in range(50):
            call.progress(number, None, big)
        return big

    server.register_tool("flood", {}, flood)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    if files:
        with ours.makefile("rb", buffering=0) as source, ours.makefile("wb", buffering=0) as target:
            serving = asyncio.get_running_loop().create_task(server.serve(source, target, drain=0.05))
            sent = await push(theirs)
            theirs.close()
            await asyncio.wait_for(serving, PATIENCE)
        ours.close()
    else:
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        serving = asyncio.get_running_loop().create_task(server.serve(reader, writer, drain=0.05))
        sent = await push(theirs)
        theirs.close()
        await asyncio.wait_for(serving, PATIENCE)
    assert sent < 4_000_000


async def push(client):
    """Send calls until the other side takes no more for a while; how many bytes it took."""
    sent, idle, number = 0, 0, 0
    rest = b""
    while idle < 200 and sent < 8_000_000:
        if not rest:
            number += 1
            params = {"name": "flood", "_meta": {"progressToken": number}}
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            rest = json.dumps(call).encode() + b"\n"
        try:
            size = client.send(rest)
            rest, sent, idle = rest[size:], sent + size, 0
        except BlockingIOError:
            idle += 1
            await asyncio.sleep(0.002)
        else:
            await asyncio.sleep(0)
    return sent


@pytest.mark.race
async def test_a_client_that_never_reads_does_not_keep_serve_from_returning(workshop, connect):
    peer = await connect(workshop.server, drain=0.05)
    for number in range(50):
        peer.call("echo", {"text": "x" * 100_000}, request_id=number)
    peer.writer.write_eof()
    await asyncio.wait_for(peer.serving, PATIENCE)


@pytest.mark.race
async def test_serve_cancelled_twice_still_waits_for_its_handlers(connect):
    server, started, release, cleaned = Server(), asyncio.Event(), asyncio.Event(), []

    async def tidy(arguments, call):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await release.wait()
            cleaned.append(1)

    server.register_tool("tidy", {}, tidy)
    peer = await connect(server)
    peer.call("tidy")
    await asyncio.wait_for(started.wait(), PATIENCE)
    for _ in range(2):
        peer.serving.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    assert not peer.serving.done()
    release.set()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(peer.serving, PATIENCE)
    assert peer.serving.cancelled()
    assert cleaned == [1]


class Confused(Session):
    """A session with a bug in it."""

    def receive(self, message):
        if isinstance(message, dict) and message.get("method") == "confuse":
            raise KeyError("bug")
        return super().receive(message)


class ConfusedServer(Server):
    def session(self):
        return Confused(self.info)


async def test_a_mistake_of_ours_is_an_internal_error_and_the_connection_lives(connect):
    peer = await connect(ConfusedServer())
    peer.request("confuse")
    answer = await peer.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32603)
    assert (await peer.ask("ping"))["result"] == {}
