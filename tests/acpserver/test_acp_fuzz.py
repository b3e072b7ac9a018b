"""Mutated frames by the thousand: no crash, no hang, no request answered twice, and the next good one is served.

AWF_FUZZ_FRAMES sets how many (100000 for the long run), AWF_FUZZ_SEED which ones.
"""

from __future__ import annotations

import asyncio
import collections
import copy
import json
import logging
import os
import random
import socket

import pytest

from acpserver import EditorError, EditorGoneError, RequestError, Server

FRAMES = int(os.environ.get("AWF_FUZZ_FRAMES", "5000"))
SEED = int(os.environ.get("AWF_FUZZ_SEED", "20261116"))
HEAP = 100
PATIENCE = 60
ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    10**30,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    {},
    {"a": None},
    "session/prompt",
    "/",
]
NULL_CODES = {-32700, -32600, -32601, -32602, -32603, -32800, -32002}
SERVER = {"name": "fs", "command": "/bin/true", "args": [], "env": [{"name": "A", "value": "b"}]}
BLOCKS = [
    {"type": "text", "text": "hi"},
    {"type": "resource_link", "uri": "file:///a", "name": "a"},
    {"type": "resource", "resource": {"uri": "file:///b", "text": "b"}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
]


class Agent:
    """Does all that an agent can do, and checks that it is only given what was promised."""

    def __init__(self, client):
        self.client = client
        self.number = 0

    def request(self, method, params):
        assert isinstance(params, dict)
        self.number += 1
        if method == "session/prompt":
            assert all(isinstance(block["type"], str) for block in params["prompt"])
            return self.turn(self.number, params)
        if method == "session/new":
            assert params["cwd"].startswith("/")
            assert all(isinstance(server["name"], str) for server in params["mcpServers"])
        if method == "session/close":
            raise RequestError(-32002, "no such session")
        return self.echo(params)

    def notification(self, method, params):
        assert isinstance(params["sessionId"], str)
        if self.number % 7 == 0:
            raise ValueError("no")

    async def close(self):
        pass

    async def echo(self, params):
        return params

    async def turn(self, number, params):
        for step in range(number % 4):
            self.client.notify("session/update", {"step": step, "of": params["sessionId"]})
            await asyncio.sleep(0)
        if number % 5 == 0:
            raise ValueError("no")
        if number % 3 == 0:
            try:
                async with asyncio.timeout(0.02):
                    return {"answer": await self.client.request("session/request_permission", {"n": number})}
            except (EditorError, EditorGoneError, TimeoutError):
                return {"stopReason": "refusal"}
        return {"stopReason": "end_turn"}


class Frames:
    """Good messages, and what becomes of them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number = 0
        self.last = b"{}"
        self.questions = collections.deque(maxlen=20)

    def message(self):
        self.number += 1
        chance = self.random.random()
        if chance < 0.10:
            requested = max(0, self.number - self.random.randrange(6))
            return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": requested}}
        if chance < 0.16:
            return {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
        if chance < 0.30 and self.questions:
            body = self.random.choice([{"result": {"outcome": 1}}, {"error": {"code": -1, "message": "m"}}])
            return {"jsonrpc": "2.0", "id": self.questions.pop(), **body}
        if chance < 0.36:
            return self.request("initialize", protocolVersion=1, clientCapabilities={"terminal": True})
        if chance < 0.60:
            method = self.random.choice(["new", "load", "resume", "list", "close", "delete", "set_mode"])
            more = {"modeId": "m", "configId": "c", "value": True, "mcpServers": [SERVER]}
            return self.request(f"session/{method}", cwd="/tmp", sessionId="s", **more)
        return self.request("session/prompt", sessionId="s", prompt=[self.random.choice(BLOCKS)])

    def request(self, method, **params):
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}

    def frame(self):
        message = copy.deepcopy(self.message())
        if self.random.random() < 0.3:
            message = self.twisted(message)
        data = json.dumps(message).encode()
        if self.random.random() < 0.6:
            data = self.random.choice(
                [self.flipped, self.cut, self.spliced, self.doubled, self.noisy, self.reordered, self.kept]
            )(data)
        self.last = data
        return data + b"\n"

    def twisted(self, message):
        """Somewhere inside, a value of another type."""
        here = message
        while isinstance(here, dict | list) and here:
            keys = list(here) if isinstance(here, dict) else range(len(here))
            key = self.random.choice(keys)
            if not isinstance(here[key], dict | list) or self.random.random() < 0.4:
                here[key] = copy.deepcopy(self.random.choice(ODD))
                break
            here = here[key]
        return message

    def kept(self, data):
        return data

    def flipped(self, data):
        mutated = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            mutated[self.random.randrange(len(mutated))] ^= 1 << self.random.randrange(8)
        return bytes(mutated)

    def cut(self, data):
        return data[: self.random.randrange(len(data))]

    def spliced(self, data):
        rest = self.last[self.random.randrange(len(self.last) or 1) :]
        return data[: self.random.randrange(len(data))] + rest

    def doubled(self, data):
        extra = self.random.choice(
            [b'"id":7,', b'"method":"session/list",', b'"jsonrpc":"2.0",', b'"params":[],']
        )
        return data.replace(b"{", b"{" + extra, self.random.randrange(1, 3))

    def noisy(self, data):
        place = self.random.randrange(len(data))
        noise = self.random.choice(
            [b"\x00", b"\r", b"\n", b"\xff", b"\xe2\x80\xa8", b"NaN", b"{" * 500, b"\\ud800", b"1e999"]
        )
        return data[:place] + noise + data[place:]

    def reordered(self, data):
        message = json.loads(data)
        if isinstance(message, dict):
            items = list(message.items())
            self.random.shuffle(items)
            message = dict(items)
        return json.dumps(message, ensure_ascii=self.random.random() < 0.5).encode("utf-8", "replace")


def asked_id(line):
    """The id under which a line may be answered, in a list; numbers that are equal are one id."""
    try:
        message = json.loads(line.decode())
    except (ValueError, RecursionError):
        return []
    if isinstance(message, dict) and type(message.get("id")) in (int, str, float):
        return [message["id"]]
    return []


class Editor:
    def __init__(self, reader, writer, frames):
        self.reader, self.writer, self.frames = reader, writer, frames
        self.asked = collections.Counter()
        self.answered = collections.Counter()
        self.replies = {}
        self.unfinished = b""

    def write(self, data):
        *lines, self.unfinished = (self.unfinished + data).split(b"\n")
        for line in lines:
            self.asked.update(asked_id(line))
        self.writer.write(data)

    async def read_until(self, request_id):
        while request_id not in self.replies:
            line = await self.reader.readline()
            assert line, "the server went away"
            self.take(json.loads(line.decode(), parse_constant=pytest.fail))

    def take(self, message):
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            if "id" in message:
                self.frames.questions.append(message["id"])
            return
        assert ("result" in message) != ("error" in message)
        if "error" in message:
            assert message["error"]["data"].keys() == {"details"}
            assert message["error"]["code"] in NULL_CODES
        request_id = message["id"]
        if request_id is None:
            return
        self.answered[request_id] += 1
        assert self.answered[request_id] <= self.asked[request_id], f"answered too often: {message}"
        if isinstance(request_id, str):
            self.replies[request_id] = message


def pieces(rng, data):
    while data:
        size = rng.choice([1, 50, 1000, 5000, len(data)])
        yield data[:size]
        data = data[size:]


async def test_mutated_frames_never_stop_the_server():
    logging.getLogger("acpserver").setLevel(logging.CRITICAL)
    ours, theirs = socket.socketpair()
    server = Server(info={"name": "fuzz", "version": "1"}, capabilities={}, agent=Agent)
    serving_streams = await asyncio.open_unix_connection(sock=ours)
    serving = asyncio.get_running_loop().create_task(server.serve(*serving_streams))
    frames = Frames(SEED)
    editor = Editor(*await asyncio.open_unix_connection(sock=theirs, limit=2**24), frames)
    editor.write(b'{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":1}}\n')
    try:
        for heap in range(0, FRAMES, HEAP):
            data = b"".join(frames.frame() for _ in range(HEAP))
            for piece in pieces(frames.random, data):
                editor.write(piece)
            sign = f"sign-{heap}"
            editor.write(
                json.dumps({"jsonrpc": "2.0", "id": sign, "method": "session/list"}).encode() + b"\n"
            )
            async with asyncio.timeout(PATIENCE):
                await editor.read_until(sign)
                await editor.writer.drain()
            assert editor.replies.pop(sign)["result"] == {}
        assert sum(editor.answered.values()) > FRAMES / 10
    finally:
        editor.writer.close()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([serving])
        logging.getLogger("acpserver").setLevel(logging.NOTSET)
    assert serving.exception() is None
