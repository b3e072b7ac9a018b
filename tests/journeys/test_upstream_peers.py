"""Servers on the official SDKs, and published ones, as sources of tools."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from pathlib import Path

import pytest

from awf.domain.mcp_server import McpServer
from awf.domain.tool import CallContext
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.upstreams import open_server
from awf.testing import peers

SERVERS = Path(__file__).parents[1] / "infrastructure" / "upstreams" / "peer_servers"
LINES = {"v1": ("mcp==1.30.0", "2025-11-25"), "v2": ("mcp==2.3.0", "2026-07-28")}
SECONDS = 60.0
CONTEXT = CallContext(call_id="c")
pytestmark = pytest.mark.journey


class Peer:
    def __init__(self, tools, version, errors, changes):
        self.tools = tools
        self.version = version
        self.errors = errors
        self.changes = changes

    async def until(self, holds):
        async with asyncio.timeout(SECONDS):
            while not holds():
                await asyncio.sleep(0.02)


@pytest.fixture
async def runner():
    runner = ProcessRunner()
    yield runner
    await runner.close()


@pytest.fixture(params=[f"{line} {way}" for line in LINES for way in ("stdio", "events", "json")])
async def peer(request, runner, tmp_path):
    """Each line of the SDK over pipes, over HTTP with event streams, and over HTTP with plain answers."""
    line, way = request.param.split()
    requirement, version = LINES[line]
    command = [peers.requested(lambda: peers.python_peer(requirement)), str(SERVERS / f"python_{line}.py")]
    environment, errors, changes = peers.peer_environment(tmp_path / "home"), tmp_path / "errors", []

    def changed():
        changes.append(1)

    with contextlib.ExitStack() as stack:
        if way == "stdio":
            # A shell keeps what the server says on its standard error where the test can read it.
            script = f'exec "$0" "$@" 2>"{errors}"'
            config = McpServer(command="sh", args=["-c", script, *command, "stdio"])
        else:
            port = _free_port()
            stack.enter_context(_running([*command, str(port), way], environment, errors, port))
            config = McpServer(url=f"http://127.0.0.1:{port}/mcp")
        tools = open_server("peer", config, runner, environment, changed, http=LeanHttpClient)
        try:
            yield Peer(tools, version, errors, changes)
        finally:
            await tools.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _running(command, environment, errors, port):
    with errors.open("wb") as sink:
        process = subprocess.Popen(command, env=environment, stdout=sink, stderr=sink)
    try:
        _wait_for(port, process)
        yield
    finally:
        process.kill()
        process.wait()


def _wait_for(port, process):
    import time

    end = time.monotonic() + SECONDS
    while True:
        assert process.poll() is None and time.monotonic() < end, "the server did not start"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)


async def test_tools_of_an_official_server_are_listed_and_called(peer):
    tools = {tool.name: tool for tool in await peer.tools.list_tools()}
    added = await peer.tools.call_tool("add", {"a": 1, "b": 2}, CONTEXT)

    assert peer.tools.client.era.version == peer.version
    assert list(tools) == ["add", "fail", "count", "wait", "large", "grow"]
    assert tools["add"].annotations["readOnlyHint"] is True
    assert tools["add"].output_schema["type"] == "object"
    assert (added.text, added.structured, added.is_error) == ("3", {"result": 3}, False)
    assert (await peer.tools.call_tool("fail", {"why": "so"}, CONTEXT)).is_error
    assert len((await peer.tools.call_tool("large", {"size": 3_000_000}, CONTEXT)).text) == 3_000_000


async def test_many_calls_at_once_get_their_own_answers(peer):
    calls = [peer.tools.call_tool("add", {"a": number, "b": 0}, CONTEXT) for number in range(30)]

    assert [done.text for done in await asyncio.gather(*calls)] == [str(number) for number in range(30)]


async def test_progress_of_an_official_server_is_heard_where_it_can_be_sent(peer, request):
    heard = []
    context = CallContext(call_id="c", progress=lambda *step: heard.append(step))

    assert (await peer.tools.call_tool("count", {"steps": 2}, context)).text == "counted"

    plain_answers = "json" in request.node.callspec.id  # has no room for anything but the result
    assert heard == ([] if plain_answers else [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")])


async def test_a_cancelled_call_is_cancelled_in_an_official_server(peer, request):
    if request.node.callspec.id == "v2 json":
        pytest.skip("this server does not watch the connection when it gives plain answers")
    await peer.tools.list_tools()
    call = asyncio.get_running_loop().create_task(peer.tools.call_tool("wait", {}, CONTEXT))
    await peer.until(lambda: b"the wait has begun" in peer.errors.read_bytes())

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await peer.until(lambda: b"the wait was cancelled" in peer.errors.read_bytes())
    assert (await peer.tools.call_tool("add", {"a": 2, "b": 2}, CONTEXT)).text == "4"


async def test_a_change_of_an_official_servers_tools_is_heard(peer, request, caplog):
    caplog.set_level("DEBUG", "awf.upstreams")
    await peer.tools.list_tools()
    # The stream for changes opens in the background; a change before that is nobody's news.
    if "v2" in request.node.callspec.id:
        await peer.until(lambda: "notifications/subscriptions/acknowledged" in caplog.text)
    elif "stdio" not in request.node.callspec.id:
        await peer.until(lambda: b'"GET /mcp HTTP/1.1" 200' in peer.errors.read_bytes())

    await peer.tools.call_tool("grow", {}, CONTEXT)
    await peer.until(lambda: peer.changes)

    assert "new" in [tool.name for tool in await peer.tools.list_tools()]


async def test_a_published_modern_server_works(runner, tmp_path):
    python = peers.requested(lambda: peers.python_peer("mcp-server-time==2026.10.19"))
    config = McpServer(command=python, args=["-m", "mcp_server_time", "--local-timezone", "UTC"])
    tools = open_server("time", config, runner, peers.peer_environment(tmp_path / "home"))
    try:
        assert {tool.name for tool in await tools.list_tools()} == {"get_current_time", "convert_time"}
        asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        assert "21:00" in (await tools.call_tool("convert_time", asked, CONTEXT)).text
        assert tools.client.era.modern
    finally:
        await tools.close()


async def test_a_published_javascript_server_works(runner, tmp_path):
    node = peers.requested(lambda: peers.node_executable((20,)))
    package = "@modelcontextprotocol/server-everything"
    folder = peers.requested(lambda: peers.npm_peer(f"{package}@2026.8.31")) / "node_modules" / package
    config = McpServer(command=node, args=[str(folder / "dist" / "index.js"), "stdio"])
    tools = open_server("everything", config, runner, peers.peer_environment(tmp_path / "home"))
    try:
        assert len(await tools.list_tools()) >= 10
        assert "hello" in (await tools.call_tool("echo", {"message": "hello"}, CONTEXT)).text
        assert tools.client.era.version == "2025-11-25"
    finally:
        await tools.close()
