"""A server that closes its standard output and lives on: nothing can come from it any more."""

from __future__ import annotations

import asyncio
import os

import pytest

from awf.domain.tool import ToolFailure

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])
CLOSED = r"(?s)closed its standard output.*I keep to myself"


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.race
@both_eras
async def test_every_call_that_waits_is_told_why_and_does_not_wait_for_its_timeout(
    odd, context, era, tmp_path, until, received
):
    log = tmp_path / "log"
    server = odd("--era", era, "--log", log, timeout=20)
    await server.list_tools()
    loop = asyncio.get_running_loop()
    waiting = [loop.create_task(server.call_tool("never", {}, context)) for _ in range(3)]
    await until(lambda: sum("waiting" in item for item in received(log)) == 3)

    with pytest.raises(ToolFailure, match=CLOSED) as caught:
        await server.call_tool("hush", {"lives_on": True}, context)

    assert caught.value.code == "EXECUTION_FAILED"
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(outcome, ToolFailure)
        assert "closed its standard output" in outcome.message


@pytest.mark.parametrize("lives_on", [False, True], ids=["leaves when asked to", "has to be ended"])
async def test_it_is_ended_also_when_nobody_calls_it_again(odd, context, lives_on, until):
    server = odd(timeout=20)
    pid = int((await server.call_tool("pid", {}, context)).text)

    with pytest.raises(ToolFailure, match=CLOSED):
        await server.call_tool("hush", {"lives_on": lives_on}, context)

    await until(lambda: is_gone(pid))


@pytest.mark.race
@both_eras
async def test_the_next_call_starts_it_again_and_the_old_one_is_gone_by_then(odd, context, era):
    server = odd("--era", era, timeout=20)
    first = int((await server.call_tool("pid", {}, context)).text)
    with pytest.raises(ToolFailure, match=CLOSED):
        await server.call_tool("hush", {"lives_on": True}, context)

    second = int((await server.call_tool("pid", {}, context)).text)

    assert second != first
    assert is_gone(first)


async def test_one_that_does_so_again_and_again_is_left_alone_for_a_while(odd, context):
    server = odd("--hush", timeout=20)
    said = []
    for _ in range(6):
        with pytest.raises(ToolFailure) as caught:
            await server.call_tool("echo", {}, context)
        said.append(caught.value.message)

    assert all("closed its standard output" in text for text in said)
    assert "left alone" in said[-1]
    assert "left alone" not in said[0]


async def test_closing_it_meanwhile_leaves_nothing(odd, context, tmp_path, until, received):
    log = tmp_path / "log"
    server = odd("--log", log, timeout=20)
    pid = int((await server.call_tool("pid", {}, context)).text)
    call = asyncio.get_running_loop().create_task(
        server.call_tool("hush", {"lives_on": True, "notes": True}, context)
    )
    await until(lambda: any("hushed" in item for item in received(log)))

    await server.close()

    with pytest.raises(ToolFailure, match="closed"):
        await call
    assert is_gone(pid)
