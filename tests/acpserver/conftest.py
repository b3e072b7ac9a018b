"""An editor that checks the envelope of everything it is sent, and an agent that waits for the test."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import socket

import pytest

from acpserver import RequestError, Server

PATIENCE = 20.0
CODES = {-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002}


def check_envelope(message):
    """The rules for every frame that an agent writes, whatever it says."""
    assert isinstance(message, dict)
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        assert message.keys() <= {"jsonrpc", "id", "method", "params"}
        return
    assert message.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if "error" in message:
        error = message["error"]
        assert error.keys() == {"code", "message", "data"}
        assert error["code"] in CODES
        assert error["message"]
        assert error["message"] == " ".join(error["message"].split())
        assert error["data"].keys() == {"details"}
        assert isinstance(error["data"]["details"], str)
        assert error["data"]["details"]


class Peer:
    """The editor's end of a connection. No id is answered more often than it was used."""

    def __init__(self, reader, writer, serving):
        self.reader, self.writer, self.serving = reader, writer, serving
        self.last_id = 0
        self.early = []
        self.answers = collections.Counter()

    def send_bytes(self, data: bytes) -> None:
        self.writer.write(data)

    def send(self, *messages) -> None:
        self.send_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def notify(self, method, **params) -> None:
        self.send(notice(method, **params))

    def request(self, method, params=None, **options):
        """Send a request, give back its id."""
        self.last_id += 1
        request_id = options.get("request_id", self.last_id)
        self.send(ask(method, request_id, **(params or {})))
        return request_id

    def prompt(self, text, **options):
        return self.request("session/prompt", {"sessionId": "s", "prompt": [block(text)]}, **options)

    def cancel_request(self, request_id):
        self.notify("$/cancel_request", requestId=request_id)

    async def receive(self):
        """The next message, whatever it is."""
        async with asyncio.timeout(PATIENCE):
            line = await self.reader.readline()
        if not line:
            return None
        assert line.endswith(b"\n")
        message = json.loads(line.decode())
        check_envelope(message)
        if "method" not in message and message["id"] is not None:
            self.answers[message["id"]] += 1
        return message

    async def answer(self, request_id):
        """The answer to this request; what arrives before it is kept in `early`."""
        while (message := await self.receive()) is not None:
            if "method" not in message and message["id"] == request_id:
                return message
            self.early.append(message)
        raise AssertionError(f"the stream ended without an answer to {request_id!r}")

    async def ask(self, method, params=None, **options):
        return await self.answer(self.request(method, params, **options))

    async def ask_prompt(self, text, **options):
        return await self.answer(self.prompt(text, **options))

    async def initialize(self, **more):
        sign = f"initialize {self.last_id}"
        return (await self.ask("initialize", {"protocolVersion": 1, **more}, request_id=sign))["result"]

    async def alive(self):
        """A request that says that all before it was handled."""
        answer = await self.ask("session/list", request_id=f"alive {self.last_id}")
        assert answer["result"] == {"sessions": []}

    async def end(self):
        """Close our side; everything that still comes; and the server's serve() is over."""
        self.writer.write_eof()
        rest = []
        while (message := await self.receive()) is not None:
            rest.append(message)
        async with asyncio.timeout(PATIENCE):
            await self.serving
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
        return rest


def ask(method, request_id, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notice(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def block(text):
    return {"type": "text", "text": text}


class Workshop:
    """An agent whose prompts are commands: the first word says what to do."""

    def __init__(self, client):
        self.client = client
        self.order = []
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.closed = 0

    def request(self, method, params):
        if method == "session/prompt":
            word, _, rest = params["prompt"][0]["text"].partition(" ")
            self.order.append(("asked", word, rest))
            if word == "refuse-at-once":
                raise RequestError(-32002, "no such\nsession")
            if word == "break-at-once":
                raise KeyError("missing")
            if word == "give-up-at-once":
                raise asyncio.CancelledError
            if word == "nothing":
                return None
            return getattr(self, word)(rest)
        if method == "session/list":
            return self.listed()
        self.order.append((method, params))
        return self.echoed(params)

    def notification(self, method, params):
        self.order.append((method, params))
        if params["sessionId"] == "break":
            raise ValueError("no")

    async def close(self):
        self.closed += 1
        self.order.append("closed")

    async def listed(self):
        return {"sessions": []}

    async def echoed(self, params):
        return params

    async def say(self, text):
        for number in range(3):
            self.client.notify("session/update", {"text": text, "number": number})
            await asyncio.sleep(0)
        self.client.notify("session/update", {"last": True})
        return {"said": text}

    async def wait(self, tag):
        self.order.append(("started", tag))
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.order.append(("cancelled", tag))
            raise
        return {"waited": tag}

    async def yield_to_cancel(self, tag):
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"stopReason": "cancelled"}

    async def permission(self, tag):
        self.started.set()
        try:
            answer = await self.client.request("session/request_permission", {"tag": tag})
        except BaseException as error:
            self.order.append((type(error).__name__, str(error), getattr(error, "code", None)))
            raise
        self.order.append(("answered", answer))
        return {"answer": answer}

    async def refuse(self, text):
        raise RequestError(-32602, "first\n line ", text)

    async def fail(self, text):
        await asyncio.sleep(0)
        raise ValueError("broken\nin two")

    async def leave(self, text):
        raise SystemExit(3)

    async def odd(self, text):
        return {"value": object()}

    async def lonely(self, text):
        other = asyncio.get_running_loop().create_future()
        other.cancel()
        await other

    async def threads(self, text):
        def work(name):
            for number in range(200):
                self.client.notify("session/update", {"from": name, "number": number})

        await asyncio.gather(*(asyncio.to_thread(work, name) for name in ("a", "b")))
        return {}


class Hall:
    """A server, and the agents that it made."""

    def __init__(self, make=Workshop, **options):
        self.agents = []
        self.make = make
        info = {"name": "workshop", "title": "Workshop", "version": "1.0"}
        self.server = Server(info=info, capabilities={"loadSession": True}, agent=self.agent, **options)

    def agent(self, client):
        self.agents.append(self.make(client))
        return self.agents[-1]


@pytest.fixture
async def connect():
    """connect(server) → a Peer; at the end each connection is closed and its serve() awaited."""
    peers = []

    async def connect(server, *, patience=8.0):
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=theirs, limit=2**26)
        streams = await asyncio.open_unix_connection(sock=ours)
        serving = asyncio.get_running_loop().create_task(server.serve(*streams, patience=patience))
        peers.append(Peer(reader, writer, serving))
        return peers[-1]

    yield connect
    for peer in peers:
        peer.writer.close()
        with contextlib.suppress(OSError):
            await peer.writer.wait_closed()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([peer.serving])
        if not peer.serving.cancelled():
            assert peer.serving.exception() is None
        assert not [key for key, count in peer.answers.items() if count > 1]


@pytest.fixture
async def hall():
    return Hall()


@pytest.fixture
async def peer(hall, connect):
    """An editor that has shaken hands, and whose agent is made."""
    peer = await connect(hall.server)
    await peer.initialize()
    await peer.alive()
    return peer


@pytest.fixture
def agent(hall, peer):
    return hall.agents[0]


@pytest.fixture
def hall_of():
    return Hall
