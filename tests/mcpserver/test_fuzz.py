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

from mcpserver import PROTOCOL_VERSIONS, Result, Server, ToolError

FRAMES = int(os.environ.get("AWF_FUZZ_FRAMES", "5000"))
SEED = int(os.environ.get("AWF_FUZZ_SEED", "20261116"))
HEAP = 100
PATIENCE = 60
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
}
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
    "2025-03-26",
    "tools/call",
]


def make_server():
    server = Server("fuzz", "1")

    async def echo(arguments, call):
        return json.dumps(arguments)

    async def slow(arguments, call):
        for step in range(5):
            call.progress(step, 5, "step")
            await asyncio.sleep(0)
        return {"arguments": arguments}

    async def fail(arguments, call):
        await asyncio.sleep(0)
        raise ToolError("no") if arguments else ValueError("no")

    async def back(arguments, call):
        return Result([{"type": "text", "text": "b"}], structured=arguments.get("value"))

    for handler in (echo, slow, fail, back):
        server.register_tool(handler.__name__, {"type": "object"}, handler)
    return server


class Frames:
    """Good messages, and what becomes of them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number = 0
        self.last = b"{}"

    def message(self):
        self.number += 1
        chance = self.random.random()
        meta = {"_meta": {**MODERN, "progressToken": self.number}} if self.random.random() < 0.4 else {}
        if chance < 0.12:
            requested = max(0, self.number - self.random.randrange(6))
            return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": requested}}
        if chance < 0.16:
            return {"jsonrpc": "2.0", "method": "notifications/initialized"}
        if chance < 0.20:
            version = self.random.choice(PROTOCOL_VERSIONS)
            return self.request(
                "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "f"}
            )
        if chance < 0.21:
            return self.request(
                "subscriptions/listen", _meta=MODERN, notifications={"toolsListChanged": True}
            )
        if chance < 0.26:
            return [self.message() for _ in range(self.random.randrange(4))]
        if chance < 0.40:
            return self.request(self.random.choice(["ping", "tools/list", "server/discover", "nope"]), **meta)
        name = self.random.choice(["echo", "slow", "fail", "back", "gone"])
        return self.request("tools/call", name=name, arguments={"value": self.random.choice(ODD)}, **meta)

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
        return (
            data[: self.random.randrange(len(data))] + self.last[self.random.randrange(len(self.last) or 1) :]
        )

    def doubled(self, data):
        extra = self.random.choice([b'"id":7,', b'"method":"ping",', b'"jsonrpc":"2.0",', b'"params":[],'])
        return data.replace(b"{", b"{" + extra, self.random.randrange(1, 3))

    def noisy(self, data):
        place = self.random.randrange(len(data))
        noise = self.random.choice(
            [b"\x00", b"\r", b"\n", b"\xff", b"\xe2\x80\xa8", b"NaN", b"{" * 500, b"\\ud800"]
        )
        return data[:place] + noise + data[place:]

    def reordered(self, data):
        message = json.loads(data)
        if isinstance(message, dict):
            items = list(message.items())
            self.random.shuffle(items)
            message = dict(items)
        return json.dumps(message, ensure_ascii=self.random.random() < 0.5).encode("utf-8", "replace")


def asked_ids(line):
    """The ids under which a line may be answered."""
    try:
        message = json.loads(line.decode())
    except (ValueError, RecursionError):
        return
    for each in message if isinstance(message, list) else [message]:
        if isinstance(each, dict) and type(each.get("id")) in (int, str):
            yield each["id"]


class Client:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.asked = collections.Counter()
        self.answered = collections.Counter()
        self.replies = {}
        self.unfinished = b""

    def write(self, data):
        *lines, self.unfinished = (self.unfinished + data).split(b"\n")
        for line in lines:
            self.asked.update(asked_ids(line))
        self.writer.write(data)

    async def read_until(self, request_id):
        while request_id not in self.replies:
            line = await self.reader.readline()
            assert line, "the server went away"
            message = json.loads(line.decode(), parse_constant=pytest.fail)
            for each in message if isinstance(message, list) else [message]:
                self.take(each)

    def take(self, message):
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            assert "id" not in message
            return
        assert ("result" in message) != ("error" in message)
        request_id = message["id"]
        if request_id is None:
            assert message["error"]["code"] in {-32700, -32600}
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
    logging.getLogger("mcpserver").setLevel(logging.CRITICAL)
    ours, theirs = socket.socketpair()
    server = make_server()
    serving_streams = await asyncio.open_unix_connection(sock=ours)
    serving = asyncio.get_running_loop().create_task(server.serve(*serving_streams))
    client = Client(*await asyncio.open_unix_connection(sock=theirs, limit=2**24))
    frames = Frames(SEED)
    try:
        for heap in range(0, FRAMES, HEAP):
            data = b"".join(frames.frame() for _ in range(HEAP))
            for piece in pieces(frames.random, data):
                client.write(piece)
            server.tools_changed()
            sign = f"sign-{heap}"
            client.write(json.dumps({"jsonrpc": "2.0", "id": sign, "method": "ping"}).encode() + b"\n")
            async with asyncio.timeout(PATIENCE):
                await client.read_until(sign)
                await client.writer.drain()
            assert client.replies.pop(sign)["result"] == {}
        client.write(b'{"jsonrpc":"2.0","id":"last","method":"tools/list"}\n')
        async with asyncio.timeout(PATIENCE):
            await client.read_until("last")
        assert len(client.replies["last"]["result"]["tools"]) == 4
        assert sum(client.answered.values()) > FRAMES / 10
    finally:
        client.writer.close()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([serving])
        logging.getLogger("mcpserver").setLevel(logging.NOTSET)
    assert serving.exception() is None
