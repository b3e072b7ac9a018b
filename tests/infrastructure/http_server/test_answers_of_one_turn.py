"""Short answers of one turn go out together at its end: all of them, in the right order, whatever comes in between."""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import asynccontextmanager, suppress

import pytest

from awf.application.running.tasks import spawn
from awf.domain.ports.http_server import HttpReply, ServerLimits
from awf.infrastructure.http_server import LeanHttpServer
from awf.infrastructure.http_server.connection import LONG_BODY
from awf.infrastructure.loop_turn import LoopTurn
from awf.testing.held_turn import HeldTurn

pytestmark = pytest.mark.anyio

GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 60


class Quick:
    """Takes what begins with /quick, and answers when it is told to."""

    def __init__(self):
        self.taken = {}

    def __call__(self, request):
        if not request.path.startswith("/quick"):
            return False
        self.taken[request.path] = request
        return True

    def answer(self, path, reply=None):
        self.taken.pop(path).answer(reply or HttpReply(body=path.encode()))


async def plain(request):
    return HttpReply(body=request.path.encode())


class Scene:
    """A server with a quick handler. A request that nobody answers keeps it busy, so that answers have company."""

    def __init__(self, server, quick, turn):
        self.server, self.quick, self.turn = server, quick, turn
        self._sockets = []

    async def client(self):
        loop = asyncio.get_running_loop()
        made = socket.socket()
        made.setblocking(False)
        self._sockets.append(made)
        await loop.sock_connect(made, ("127.0.0.1", self.server.port))
        return Client(made)

    async def asked(self, *paths, ask=GET):
        """A client that has sent these, the first of which has come to the handler."""
        client = await self.client()
        client.send(b"".join(ask % path for path in paths))
        await until(lambda: f"/{paths[0].decode()}" in self.quick.taken)
        return client

    def close(self):
        for one in self._sockets:
            one.close()


class Client:
    def __init__(self, sock):
        self.sock = sock
        self.read = 0
        self._held = b""

    def send(self, data):
        assert self.sock.send(data) == len(data)

    def leave(self):
        """With a reset: who only says that nothing more comes may still wait for an answer."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def has_nothing(self):
        """What a server has written is there at once, over the loopback address."""
        with suppress(BlockingIOError):
            return self.sock.recv(1, socket.MSG_PEEK) == b"nothing"
        return not self._held

    async def more(self):
        async with asyncio.timeout(PATIENCE):
            data = await asyncio.get_running_loop().sock_recv(self.sock, 1 << 20)
        self.read += len(data)
        self._held += data
        return data

    async def answer(self, body=True):
        """Status, head and body of the next one that tells its length."""
        while b"\r\n\r\n" not in self._held:
            assert await self.more(), "the connection has ended"
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) if body else 0
        while len(self._held) < length:
            assert await self.more(), "the connection has ended"
        found, self._held = self._held[:length], self._held[length:]
        return int(head[9:12]), head.decode(), found

    async def body(self):
        return (await self.answer())[2]

    async def rest(self):
        """All up to the end of the connection."""
        with suppress(ConnectionResetError):
            while await self.more():
                pass
        found, self._held = self._held, b""
        return found


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def scene(handler=plain, turn=None, quick=None, **limits):
    quick, turn = quick or Quick(), turn or HeldTurn()
    server = LeanHttpServer(handler, ServerLimits(**limits), quick, turn)
    server.port = await server.listen_tcp("127.0.0.1", 0)
    made = Scene(server, quick, turn)
    try:
        yield made
    finally:
        await server.close(0.0)
        made.close()
        assert server.busy == 0


async def test_answers_with_company_wait_for_the_end_of_the_turn_and_go_out_then():
    async with scene() as it:
        await it.asked(b"quick-company")
        clients = [await it.asked(b"quick%d" % number) for number in range(3)]
        for number, client in enumerate(clients):
            it.quick.answer(f"/quick{number}")
            assert client.has_nothing()
        assert len(it.turn.works) == 3
        it.turn.end()
        for number, client in enumerate(clients):
            assert await client.body() == b"/quick%d" % number


async def test_an_answer_without_company_goes_out_at_once():
    async with scene() as it:
        client = await it.asked(b"quick")
        it.quick.answer("/quick")
        assert await client.body() == b"/quick"
        assert it.turn.works == []


async def test_without_a_turn_every_answer_goes_out_at_once():
    quick = Quick()
    server = LeanHttpServer(plain, ServerLimits(), quick)
    server.port = await server.listen_tcp("127.0.0.1", 0)
    it = Scene(server, quick, None)
    await it.asked(b"quick-company")
    client = await it.asked(b"quick")
    quick.answer("/quick")
    assert await client.body() == b"/quick"
    await server.close(0.0)
    it.close()


async def test_pipelined_answers_of_one_turn_keep_their_order():
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"quick2", b"quick3")
        for number in (1, 2, 3):
            it.quick.answer(f"/quick{number}")
        assert client.has_nothing()
        it.turn.end()
        assert [await client.body() for _ in range(3)] == [b"/quick1", b"/quick2", b"/quick3"]


async def test_an_answer_that_has_lost_its_company_takes_along_what_waited_before_it():
    async with scene() as it:
        company = await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"quick2")
        it.quick.answer("/quick1")
        it.quick.answer("/quick-company")
        it.quick.answer("/quick2")
        assert [await client.body() for _ in range(2)] == [b"/quick1", b"/quick2"]
        it.turn.end()
        assert await company.body() == b"/quick-company"
        assert client.has_nothing()


@pytest.mark.parametrize(
    "last",
    [b"GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET /%s HTTP/1.0\r\n\r\n"],
    ids=["connection: close", "HTTP/1.0"],
)
async def test_the_last_answer_of_a_connection_takes_along_what_waited_and_then_it_is_closed(last):
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1")
        client.send(last % b"quick2")
        it.quick.answer("/quick1")
        await until(lambda: "/quick2" in it.quick.taken)
        it.quick.answer("/quick2")
        assert await client.body() == b"/quick1"
        _, head, body = await client.answer()
        assert ("Connection: close" in head, body) == (True, b"/quick2")
        assert await client.rest() == b""
        it.turn.end()


async def test_head_gets_no_body_at_the_end_of_a_turn_either():
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", ask=b"HEAD /%s HTTP/1.1\r\nHost: x\r\n\r\n")
        client.send(GET % b"quick2")
        it.quick.answer("/quick1")
        await until(lambda: "/quick2" in it.quick.taken)
        it.quick.answer("/quick2")
        it.turn.end()
        assert "Content-Length: 7" in (await client.answer(body=False))[1]
        assert await client.body() == b"/quick2"


async def test_a_long_answer_goes_out_at_once_behind_what_waited():
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"quick2", b"quick3")
        it.quick.answer("/quick1")
        it.quick.answer("/quick2", HttpReply(body=b"x" * (LONG_BODY + 1)))
        it.quick.answer("/quick3")
        assert await client.body() == b"/quick1"
        assert await client.body() == b"x" * (LONG_BODY + 1)
        assert client.has_nothing()
        it.turn.end()
        assert await client.body() == b"/quick3"


async def test_a_stream_goes_out_behind_what_waited():
    async def streams(request):
        stream = request.stream()
        stream.write(b"piece")

    async with scene(streams) as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"stream", b"quick2")
        it.quick.answer("/quick1")
        await until(lambda: "/quick2" in it.quick.taken)
        assert await client.body() == b"/quick1"
        it.quick.answer("/quick2")
        it.turn.end()
        while not client._held.endswith(b"/quick2"):
            assert await client.more()
        assert client._held.index(b"5\r\npiece\r\n0\r\n\r\n") < client._held.index(b"/quick2")


async def test_a_refusal_goes_out_behind_what_waited():
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1")
        client.send(b"garbage\r\n\r\n")
        it.quick.answer("/quick1")
        assert await client.body() == b"/quick1"
        assert (await client.answer())[0] == 400
        assert await client.rest() == b""
        it.turn.end()


async def test_the_answer_to_expect_goes_out_behind_what_waited():
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1")
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        it.quick.answer("/quick1")
        assert await client.body() == b"/quick1"
        assert (await client.answer(body=False))[0] == 100
        it.turn.end()
        client.send(b"ab")
        await until(lambda: it.turn.works)
        it.turn.end()
        assert await client.body() == b"/"


async def test_a_failure_waits_like_any_other_answer(caplog):
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"quick2")
        it.quick.answer("/quick1")
        it.quick.taken.pop("/quick2").fail()
        assert client.has_nothing()
        it.turn.end()
        assert [(await client.answer())[0] for _ in range(2)] == [200, 500]


async def test_a_client_that_leaves_before_the_end_of_the_turn_disturbs_nobody():
    async with scene() as it:
        await it.asked(b"quick-company")
        leaver, stayer = await it.asked(b"quick1"), await it.asked(b"quick2")
        it.quick.answer("/quick1")
        it.quick.answer("/quick2")
        leaver.leave()
        await until(lambda: len(it.server._connections) == 2)
        it.turn.end()
        assert await stayer.body() == b"/quick2"
        assert it.server.busy == 1


async def test_a_client_that_ends_its_sending_side_before_the_end_of_the_turn_gets_its_answer():
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1")
        it.quick.answer("/quick1")
        client.sock.shutdown(socket.SHUT_WR)
        await until(lambda: len(it.server._connections) == 1 or not client.has_nothing())
        it.turn.end()
        assert (await client.rest()).endswith(b"/quick1")


async def test_a_client_that_ends_its_sending_side_in_the_very_turn_of_its_answer_gets_it():
    """The same with turns of the loop: the answer comes, then the end of the input, then the turn is over."""
    go = asyncio.Event()

    async def waits(request):
        await go.wait()
        return HttpReply(body=request.path.encode())

    async with scene(waits, LoopTurn()) as it:
        await it.asked(b"quick-company")
        client = await it.client()
        client.send(GET % b"slow")
        await until(lambda: it.server.busy == 2)
        go.set()
        client.sock.shutdown(socket.SHUT_WR)
        assert (await client.rest()).endswith(b"/slow")


async def test_an_answer_that_waits_is_not_lost_with_a_stream_that_breaks_behind_it(caplog):
    class Breaking(Quick):
        def __call__(self, request):
            if request.path == "/quick2":
                request.stream().write(b"half")
                raise RuntimeError("oh")
            return super().__call__(request)

    async with scene(quick=Breaking()) as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"quick2")
        it.quick.answer("/quick1")
        it.turn.end()
        assert await client.body() == b"/quick1"


async def test_a_server_that_closes_sends_what_waits():
    async with scene() as it:
        await it.asked(b"quick-company")
        idle, pipelined = await it.asked(b"quick1"), await it.asked(b"quick2", b"quick3")
        it.quick.answer("/quick1")
        it.quick.answer("/quick2")
        closing = spawn(it.server.close(PATIENCE), "closing", awaited=True)
        assert await idle.body() == b"/quick1"
        assert await idle.rest() == b""
        it.quick.answer("/quick3")
        assert [await pipelined.body() for _ in range(2)] == [b"/quick2", b"/quick3"]
        it.quick.answer("/quick-company")
        await closing
        it.turn.end()


async def test_a_server_that_loses_patience_answers_behind_what_waits():
    async with scene() as it:
        company, client = await it.asked(b"quick-company"), await it.asked(b"quick1", b"quick2")
        it.quick.answer("/quick1")
        await it.server.close(0.0)
        assert [(await client.answer())[0] for _ in range(2)] == [200, 503]
        assert (await company.answer())[0] == 503


async def test_those_at_work_are_counted_whatever_becomes_of_them(caplog):
    async def fails(request):
        raise RuntimeError("oh")

    async with scene(fails) as it:
        clients = [await it.asked(b"quick%d" % number, b"slow") for number in range(4)]
        assert it.server.busy == 4
        clients[0].leave()
        await until(lambda: it.server.busy == 3)
        it.quick.answer("/quick0")  # too late
        assert it.server.busy == 3
        request = it.quick.taken["/quick1"]
        it.quick.answer("/quick1")
        request.answer(HttpReply())  # once more
        await until(lambda: it.server.busy == 2)
        it.quick.taken.pop("/quick2").fail()
        it.quick.taken.pop("/quick3").answer(None)
        await until(lambda: it.server.busy == 0)
        it.turn.end()
        for client, statuses in zip(clients[1:], ([200, 500], [500, 500], [500, 500]), strict=True):
            assert [(await client.answer())[0] for _ in range(2)] == statuses


async def test_what_has_waited_counts_as_written_once_it_is():
    """A client that takes nothing is told by what is written and still waits; what is counted wrongly would cut others off."""
    async with scene() as it:
        await it.asked(b"quick-company")
        client = await it.asked(b"quick1", b"quick2", b"quick3", b"quick4")
        (served,) = [one for one in it.server._connections if one._reader.ready or one._held]
        it.quick.answer("/quick1")
        it.quick.answer("/quick2")
        it.turn.end()
        it.quick.answer("/quick3", HttpReply(body=b"x" * (LONG_BODY + 1)))
        it.quick.answer("/quick4")
        it.turn.end()
        for _ in range(4):
            await client.answer()
        assert served._written == client.read


async def test_a_client_that_never_takes_its_answers_is_cut_off_with_a_turn_too():
    async with scene(turn=LoopTurn(), write_stall_seconds=0.1) as it:
        await it.asked(b"quick-company")
        client = await it.client()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

        async def asks():
            loop = asyncio.get_running_loop()
            with suppress(ConnectionError):
                while True:
                    await loop.sock_sendall(client.sock, GET % (b"x" * 2000))

        asking = spawn(asks(), "asking", awaited=True)
        await asking
        await until(lambda: len(it.server._connections) == 1)


async def test_turns_of_the_loop_mix_up_no_answers():
    async def slow(request):
        for _ in range(len(request.path) % 3):
            await asyncio.sleep(0)
        return HttpReply(body=request.path.encode())

    async with scene(slow, LoopTurn()) as it:
        clients = [await it.client() for _ in range(8)]
        names = [
            [b"%d-%s" % (which, b"n" * number) for number in range(30)] for which, _ in enumerate(clients)
        ]
        for client, own in zip(clients, names, strict=True):
            client.send(b"".join(GET % name for name in own))
        for client, own in zip(clients, names, strict=True):
            assert [await client.body() for _ in own] == [b"/" + name for name in own]
