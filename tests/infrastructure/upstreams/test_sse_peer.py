"""The official Python SDK's server over its stream of events."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from pathlib import Path

import pytest

from awf.domain.tool import CallContext
from awf.testing import peers

SCRIPT = Path(__file__).parent / "peer_servers" / "python_v1.py"
pytestmark = pytest.mark.journey


@pytest.fixture
async def official(tmp_path, unused_port):
    """Its address, and the file with what it says."""
    python = peers.requested(lambda: peers.python_peer("mcp==1.30.0"))
    errors = tmp_path / "errors"
    command = [python, str(SCRIPT), str(unused_port), "sse"]
    with errors.open("wb") as sink:
        environment = peers.peer_environment(tmp_path / "home")
        process = subprocess.Popen(command, env=environment, stdout=sink, stderr=sink)
    try:
        await _listening(process, unused_port)
        yield f"http://127.0.0.1:{unused_port}/sse", errors
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def _listening(process, port):
    async with asyncio.timeout(120):
        while True:
            assert process.poll() is None, "the server did not start"
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await writer.wait_closed()
                return
            await asyncio.sleep(0.05)


async def test_an_official_server_works_over_its_stream_of_events(official, at, context, until):
    url, errors = official
    changes, steps = [], []
    tools = at(url, transport="sse", on_change=lambda: changes.append(1))

    assert (await tools.call_tool("add", {"a": 1, "b": 2}, context)).structured == {"result": 3}
    assert len((await tools.call_tool("large", {"size": 1_000_000}, context)).text) == 1_000_000
    counting = CallContext(call_id="c", progress=lambda *step: steps.append(step))
    assert (await tools.call_tool("count", {"steps": 2}, counting)).text == "counted"
    assert steps == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]

    await tools.list_tools()
    await tools.call_tool("grow", {}, context)
    await until(lambda: changes)
    assert "new" in [tool.name for tool in await tools.list_tools()]

    call = asyncio.get_running_loop().create_task(tools.call_tool("wait", {}, context))
    await until(lambda: b"the wait has begun" in errors.read_bytes(), 60)
    call.cancel()
    await asyncio.wait([call])
    await until(lambda: b"the wait was cancelled" in errors.read_bytes(), 60)
    assert (await tools.call_tool("add", {"a": 2, "b": 2}, context)).text == "4"
