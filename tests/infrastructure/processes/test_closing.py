from __future__ import annotations

import asyncio

import pytest

from awf.infrastructure.processes import ProcessRunner

pytestmark = pytest.mark.race


async def test_closing_ends_whatever_still_runs(runner, shell, sink, new_sink, in_background, is_alive):
    sinks = [new_sink() for _ in range(5)]
    tasks = [in_background(runner.run(shell("echo $$; exec sleep 1000"), sink)) for sink in sinks]
    for sink in sinks:
        await sink.until(b"\n")

    await runner.close()

    assert {(await task).signal for task in tasks} == {15}
    assert not any(is_alive(int(sink.stdout)) for sink in sinks)


async def test_after_closing_nothing_is_held(shell, sink, held):
    before, tasks = held(), asyncio.all_tasks()
    runner = ProcessRunner(grace=0.3)
    await runner.run(shell("sleep 1000 &"), sink)
    assert held() != before

    await runner.close()

    assert held() == before
    assert asyncio.all_tasks() == tasks


async def test_closing_twice_or_unused_is_fine():
    runner = ProcessRunner()

    await runner.close()
    await runner.close()


async def test_closing_kills_what_ignores_sigterm(runner, shell, sink, in_background):
    task = in_background(runner.run(shell("trap '' TERM; echo deaf; while :; do sleep 0.01; done"), sink))
    await sink.until(b"deaf")

    await runner.close()

    assert (await task).signal == 9


async def test_a_cancelled_closing_kills_at_once_and_still_closes(shell, new_sink, in_background, held):
    before = held()
    runner = ProcessRunner(grace=1000)
    sinks = [new_sink() for _ in range(3)]
    deaf = shell("trap '' TERM; echo deaf; while :; do sleep 0.01; done")
    tasks = [in_background(runner.run(deaf, sink)) for sink in sinks]
    for sink in sinks:
        await sink.until(b"deaf")

    closing = in_background(runner.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing

    assert {(await task).signal for task in tasks} == {9}
    assert held() == before


async def test_a_closed_runner_starts_nothing(runner, shell, sink):
    await runner.close()

    with pytest.raises(RuntimeError, match="closed"):
        await runner.run(shell("true"), sink)
