"""What every way to a server promises: the one in memory, and the real one over a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError
from awf.domain.mcp_server import McpServer
from awf.domain.ports.upstream import Guise
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.upstreams import ServerWays
from awf.testing.memory_upstreams import MemoryServer, text

ODD = Path(__file__).parent.parent / "infrastructure" / "upstreams" / "odd_server.py"
PATIENT = 60.0


class Listening:
    """A `Hearer` that keeps what it hears, and answers what it is asked."""

    def __init__(self):
        self.heard, self.asked_for, self.news = [], [], asyncio.Event()
        self.answer = {"roots": []}

    def notified(self, message, tag):
        self.heard.append(message["method"])
        self.news.set()

    async def asked(self, message, tag):
        self.asked_for.append(message["method"])
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def paused(self, tag):
        pass


def in_memory(era):
    """The odd server once more, as far as it is used here."""
    server = MemoryServer(
        modern=era != "legacy", legacy=era != "modern", capabilities={"tools": {"listChanged": True}}
    )

    def progress(asked):
        for step in (1, 2):
            asked.progress(step, total=2, message=f"step {step}")
        return "done"

    async def ask(asked):
        try:
            answer = {"result": await asked.ask(asked.arguments["method"], {})}
        except RpcError as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        return text(json.dumps(answer, sort_keys=True))

    def grow(asked):
        server.tool("grown_0")
        server.say("notifications/tools/list_changed")
        return "grown"

    async def die(asked):
        server.die()
        await asyncio.Event().wait()

    async def never(asked):
        await asyncio.Event().wait()

    scripts = {
        "echo": lambda asked: asked.arguments["text"],
        "refuse": RpcError(-32000, "I would rather not", {"why": "mood"}),
        "progress": progress,
        "ask": ask,
        "grow": grow,
        "die": die,
        "never": never,
        "params": lambda asked: json.dumps(asked.params, sort_keys=True),
    }
    for name, answer in scripts.items():
        server.tool(name, answer)
    return server


@pytest.fixture
async def runner():
    runner = ProcessRunner(grace=1.0)
    yield runner
    await runner.close()


@pytest.fixture(params=["memory", "pipe"])
def kind(request):
    return request.param


@pytest.fixture
async def ways(kind, runner, tmp_path):
    """A function that gives the ways to a server of an era."""
    opened = []

    def of(era="legacy"):
        if kind == "memory":
            made = in_memory(era)
            made.log = lambda: [{"method": one.method, "params": one.params} for one in made.received]
        else:
            log = tmp_path / "log"
            config = McpServer(command=sys.executable, args=[str(ODD), "--era", era, "--log", str(log)])
            made = ServerWays("odd", config, runner, dict(os.environ), LeanHttpClient)
            log.touch()
            made.log = lambda: [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        opened.append(made)
        return made

    of.opened = []
    yield of
    for way in of.opened:
        await way.close()
    for made in opened:
        await made.close()


@pytest.fixture
def listening():
    return Listening()


@pytest.fixture
def open_way(ways, listening):
    """A function that opens a way, closed at the end."""

    def make(speaks="legacy", /, **guise):
        made = ways(speaks)
        way = made.open(Guise(**guise), listening)
        way.log = made.log
        way.again = lambda **other: _kept(ways, made.open(Guise(**other), listening))
        return _kept(ways, way)

    return make


def _kept(ways, way):
    ways.opened.append(way)
    return way


async def call(way, name, arguments=None, **more):
    async with asyncio.timeout(PATIENT):
        result = await way.exchange("tools/call", {"name": name, "arguments": arguments or {}}, **more)
    return result["content"][0]["text"]


async def until(holds):
    async with asyncio.timeout(PATIENT):
        while not holds():
            await asyncio.sleep(0.005)


ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


async def test_opening_a_way_starts_nothing(open_way):
    way = open_way()
    assert (way.era, way.connections) == (None, 0)
    await way.close()
    assert way.connections == 0


@ERAS
async def test_a_connection_tells_the_era_and_is_made_once(open_way, era):
    way = open_way(era)
    found = await way.connect()
    assert found.modern is (era == "modern")
    assert found.announces_tool_changes
    assert await way.connect() == found == way.era
    assert way.connections == 1


@ERAS
async def test_a_request_connects_by_itself(open_way, era):
    way = open_way(era)
    assert await call(way, "echo", {"text": "hi"}) == "hi"
    assert way.connections == 1


async def test_a_server_of_both_eras_is_spoken_to_in_the_newer_unless_the_older_is_wanted(open_way):
    way = open_way("both")
    assert (await way.connect()).modern
    older = way.again(legacy=True, version="2025-06-18")
    assert not (await older.connect()).modern


async def test_a_server_of_the_newer_era_cannot_be_spoken_to_in_the_older(open_way):
    way = open_way("modern", legacy=True)
    with pytest.raises(AwfError) as caught:
        await way.connect()
    assert caught.value.code == "EXECUTION.MCP_SERVER.PROTOCOL"
    assert way.connections == 0


async def test_what_is_known_of_a_server_is_not_asked_again(open_way):
    known = await open_way("modern").connect()
    way = open_way("modern", era=known)
    assert way.era == known
    asked = len([one for one in way.log() if one.get("method") == "server/discover"])
    assert await call(way, "echo", {"text": "hi"}) == "hi"
    assert way.era == known
    assert len([one for one in way.log() if one.get("method") == "server/discover"]) == asked


async def test_in_the_newer_era_each_request_says_who_asks_unless_it_says_so_itself(open_way):
    way = open_way("modern", capabilities={"roots": {}}, client_info={"name": "us"})
    ours = json.loads(await call(way, "params"))["_meta"]
    assert ours["io.modelcontextprotocol/clientInfo"] == {"name": "us"}
    assert ours["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
    meta = {"io.modelcontextprotocol/clientInfo": {"name": "them"}, "own": 1}
    async with asyncio.timeout(PATIENT):
        result = await way.exchange("tools/call", {"name": "params", "_meta": meta})
    theirs = json.loads(result["content"][0]["text"])["_meta"]
    assert theirs["io.modelcontextprotocol/clientInfo"] == {"name": "them"}
    assert theirs["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
    assert theirs["own"] == 1


async def test_in_the_older_era_nothing_is_added(open_way):
    assert json.loads(await call(open_way(), "params")) == {"name": "params", "arguments": {}}


@ERAS
async def test_an_error_of_the_server_has_its_code_and_data(open_way, era):
    with pytest.raises(RpcError, match="I would rather not") as caught:
        await call(open_way(era), "refuse")
    assert (caught.value.code, caught.value.data) == (-32000, {"why": "mood"})


async def test_a_method_that_the_server_does_not_know_is_its_answer(open_way):
    with pytest.raises(RpcError) as caught:
        await open_way().exchange("no/such", {})
    assert caught.value.code == METHOD_NOT_FOUND


@ERAS
async def test_progress_is_told_to_whoever_asked_for_it(open_way, era):
    told = []
    assert await call(open_way(era), "progress", on_progress=told.append) == "done"
    assert [(one["progress"], one["message"]) for one in told] == [(1, "step 1"), (2, "step 2")]


async def test_a_question_of_the_server_is_answered(open_way, listening):
    way = open_way(capabilities={"roots": {}})
    assert json.loads(await call(way, "ask", {"method": "roots/list"})) == {"result": {"roots": []}}
    listening.answer = RpcError(-7, "not today")
    answer = json.loads(await call(way, "ask", {"method": "sampling/createMessage"}))
    assert (answer["error"]["code"], answer["error"]["message"]) == (-7, "not today")
    assert listening.asked_for == ["roots/list", "sampling/createMessage"]


@ERAS
async def test_what_the_server_announces_is_heard(open_way, listening, era):
    way = open_way(era)
    await way.connect()
    hearing = asyncio.get_running_loop().create_task(way.hear({"toolsListChanged": True}))
    if era == "modern":
        await until(lambda: listening.heard or getattr(way, "listening", None))
    await call(way, "grow")
    await until(lambda: "notifications/tools/list_changed" in listening.heard)
    assert not hearing.done()
    await way.close()
    async with asyncio.timeout(PATIENT):
        await asyncio.wait([hearing])
    assert hearing.done()
    if not hearing.cancelled():
        hearing.exception()


async def test_without_a_connection_there_is_nothing_to_hear(open_way):
    async with asyncio.timeout(PATIENT):
        await open_way().hear({})


@ERAS
async def test_hearing_ends_with_the_connection(open_way, era):
    way = open_way(era)
    await way.connect()
    hearing = asyncio.get_running_loop().create_task(way.hear({}))
    with pytest.raises(AwfError):
        await call(way, "die")
    async with asyncio.timeout(PATIENT):
        await asyncio.wait([hearing])
    hearing.exception()


@ERAS
async def test_a_server_that_dies_fails_the_call_and_is_there_for_the_next(open_way, era):
    way = open_way(era)
    with pytest.raises(AwfError) as caught:
        await call(way, "die")
    assert caught.value.code == "EXECUTION.MCP_SERVER.UNAVAILABLE"
    assert await call(way, "echo", {"text": "again"}) == "again"
    assert way.connections == 2


async def test_calls_at_the_same_time_each_get_their_own_answer(open_way):
    way = open_way()
    said = await asyncio.gather(*(call(way, "echo", {"text": str(number)}) for number in range(20)))
    assert said == [str(number) for number in range(20)]
    assert way.connections == 1


async def test_a_call_that_is_cancelled_is_cancelled_on_the_server(open_way):
    way = open_way()
    await way.connect()
    task = asyncio.get_running_loop().create_task(way.exchange("tools/call", {"name": "never"}))
    await until(lambda: any((one.get("params") or {}).get("name") == "never" for one in way.log()))
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await until(lambda: any(one.get("method") == "notifications/cancelled" for one in way.log()))
    assert await call(way, "echo", {"text": "still there"}) == "still there"


async def test_a_notification_reaches_the_server(open_way):
    way = open_way()
    await way.notify("notifications/roots/list_changed")
    await way.notify("notifications/own", {"a": 1})
    await until(lambda: any(one.get("method") == "notifications/own" for one in way.log()))
    told = [
        one
        for one in way.log()
        if one.get("method") in {"notifications/roots/list_changed", "notifications/own"}
    ]
    assert [one["method"] for one in told] == ["notifications/roots/list_changed", "notifications/own"]
    assert told[1]["params"] == {"a": 1}


async def test_closing_tells_whoever_waits_and_nothing_comes_after(open_way):
    way = open_way()
    await way.connect()
    task = asyncio.get_running_loop().create_task(way.exchange("tools/call", {"name": "never"}))
    await until(lambda: any((one.get("params") or {}).get("name") == "never" for one in way.log()))
    await way.close()
    async with asyncio.timeout(PATIENT):
        with pytest.raises(AwfError):
            await task
    await way.close()
    for later in (way.connect(), way.exchange("ping", {}), way.notify("notifications/own")):
        with pytest.raises(AwfError, match="closed"):
            await later


async def test_ways_to_one_server_are_strangers(open_way):
    way = open_way()
    other = way.again()
    await asyncio.gather(way.connect(), other.connect())
    await other.close()
    assert await call(way, "echo", {"text": "mine"}) == "mine"
