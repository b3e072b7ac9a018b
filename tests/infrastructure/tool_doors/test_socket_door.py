"""A step's tools over its private socket, through the real relay process."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest

from awf.application.tools.router import Observers, ToolRouter
from awf.bootstrap.tool_sources import RELAY
from awf.domain.redaction import Masker
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.telemetry.tracing import NoTracer
from awf.infrastructure.tool_doors.socket_door import SocketDoors
from awf.testing.memory_tools import MemoryTools, object_schema

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
LIMIT = 60.0


class Relay:
    """`awf mcp-serve` with somebody at its streams."""

    def __init__(self, process) -> None:
        self.process = process

    def say(self, **message) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def hear(self) -> dict:
        return json.loads(await asyncio.wait_for(self.process.stdout.readline(), LIMIT))

    async def ask(self, number, method, **params) -> dict:
        self.say(id=number, method=method, params=params)
        return await self.hear()

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), LIMIT)


class Place:
    def __init__(self, runner, door, provider) -> None:
        self.runner, self.door, self.provider = runner, door, provider
        self.relays = []

    async def relay(self) -> Relay:
        process = await asyncio.create_subprocess_exec(
            *self.door.endpoint.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
            env={},
        )
        self.relays.append(process)
        return Relay(process)


@pytest.fixture
async def place():
    runner = ProcessRunner()
    started = asyncio.Event()

    async def hang(_arguments, _context):
        started.set()
        await asyncio.Event().wait()

    provider = (
        MemoryTools()
        .add("echo", lambda arguments, _: arguments["text"], object_schema(text="string"))
        .add("hang", hang)
    )
    provider.hanging = started
    observers = Observers(tracer=NoTracer(), masker=Masker())
    router = await ToolRouter.open([provider], RustJsonSchemas(), observers)
    door = await SocketDoors(runner, "1", RELAY).open(router)
    place = Place(runner, door, provider)
    yield place
    await door.close()
    for process in place.relays:
        if process.returncode is None:
            process.stdin.close()
        await asyncio.wait_for(process.wait(), LIMIT)
        process._transport.close()
    await runner.close()


async def test_an_agent_lists_and_calls_tools_through_the_relay(place):
    relay = await place.relay()
    assert not place.door.used
    hello = await relay.ask(1, "initialize", **HELLO)
    assert hello["result"]["serverInfo"]["name"] == "awf"
    listed = await relay.ask(2, "tools/list")
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo", "hang"]
    assert place.door.used
    answer = await relay.ask(3, "tools/call", name="echo", arguments={"text": "hi"})
    assert answer["result"]["content"] == [{"type": "text", "text": "hi"}]


async def test_large_messages_pass_both_ways_whole(place):
    relay = await place.relay()
    text = "ä" * 1_000_000
    answer = await relay.ask(1, "tools/call", name="echo", arguments={"text": text})
    assert answer["result"]["content"][0]["text"] == text


async def test_only_this_user_can_reach_the_socket_and_its_file(place):
    socket, file = place.door._socket, place.door._file
    assert stat.S_IMODE(os.stat(socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(socket)).st_mode) == 0o700


@pytest.mark.parametrize(
    "said", [b"wrong\n", b"\n", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', b"x" * 200_000]
)
async def test_without_the_token_nobody_gets_an_answer(place, said, caplog):
    reader, writer = await asyncio.open_unix_connection(place.door._socket)
    writer.write(said)
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), LIMIT) == b""
    writer.close()
    await writer.wait_closed()
    assert not place.door.used


async def test_two_agents_share_the_tools_of_a_step(place):
    one, two = await place.relay(), await place.relay()
    one.say(id=1, method="tools/call", params={"name": "hang", "arguments": {}})
    answer = await two.ask(1, "tools/call", name="echo", arguments={"text": "still here"})
    assert answer["result"]["content"][0]["text"] == "still here"


async def test_the_relay_ends_when_the_door_is_closed_in_the_middle_of_a_call(place):
    relay = await place.relay()
    relay.say(id=1, method="tools/call", params={"name": "hang", "arguments": {}})
    await asyncio.wait_for(place.provider.hanging.wait(), LIMIT)
    await place.door.close()
    assert await relay.ended() == 0


async def test_closing_the_door_leaves_neither_socket_nor_file(place):
    folder = os.path.dirname(place.door._socket)
    assert len(os.listdir(folder)) == 2
    await place.door.close()
    assert os.listdir(folder) == []


async def test_the_relay_ends_when_the_agent_goes_away_in_the_middle_of_a_call(place):
    relay = await place.relay()
    relay.say(id=1, method="tools/call", params={"name": "hang", "arguments": {}})
    await asyncio.wait_for(place.provider.hanging.wait(), LIMIT)
    relay.process.stdin.close()
    assert await relay.ended() == 0


async def test_a_cancelled_request_reaches_the_tool(place):
    relay = await place.relay()
    relay.say(id=1, method="tools/call", params={"name": "hang", "arguments": {}})
    await asyncio.wait_for(place.provider.hanging.wait(), LIMIT)
    relay.say(method="notifications/cancelled", params={"requestId": 1})
    assert (await relay.ask(2, "ping"))["id"] == 2


async def test_answers_to_what_was_asked_come_out_before_the_end(place):
    relay = await place.relay()
    for number in range(20):
        relay.say(id=number, method="tools/call", params={"name": "echo", "arguments": {"text": str(number)}})
    relay.process.stdin.close()
    heard = sorted([(await relay.hear())["id"] for _ in range(20)])
    assert heard == list(range(20))
    assert await relay.ended() == 0


async def test_a_relay_whose_step_is_gone_says_so(place):
    command = place.door.endpoint.command
    kept = place.door._file + ".kept"
    os.rename(place.door._file, kept)
    await place.door.close()
    process = await asyncio.create_subprocess_exec(
        *command[:-1],
        f"--config={kept}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, said = await asyncio.wait_for(process.communicate(), LIMIT)
    assert (process.returncode, out) == (4, b"")
    assert b"gone" in said
    assert b"Traceback" not in said


async def test_a_reader_that_stops_reading_holds_up_the_answers_not_the_memory(place):
    """The relay takes no more than a little ahead; once somebody reads again, everything arrives."""
    relay = await place.relay()
    text = "x" * 200_000
    for number in range(100):
        relay.say(id=number, method="tools/call", params={"name": "echo", "arguments": {"text": text}})
    heard = sorted([(await relay.hear())["id"] for _ in range(100)])
    assert heard == list(range(100))
