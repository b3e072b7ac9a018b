from __future__ import annotations

import asyncio
import resource

import pytest

pytestmark = pytest.mark.race


@pytest.fixture(autouse=True)
def _room_for_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_two_hundred_commands_at_once_do_not_mix_up(runner, shell, new_sink, tmp_path, until):
    def script(index):
        return f"echo > started.{index}; until [ -e go ]; do sleep 0.05; done; cat; echo err {index} >&2; exit {index}"

    sinks = [new_sink() for _ in range(200)]
    texts = [f"{index}\n".encode() * 5000 for index in range(200)]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(runner.run(shell(script(index), stdin=texts[index]), sinks[index]))
            for index in range(200)
        ]
        await until(lambda: sum(1 for _ in tmp_path.glob("started.*")) == 200)
        (tmp_path / "go").touch()

    assert [task.result().exit_code for task in tasks] == list(range(200))
    assert [sink.stdout for sink in sinks] == texts
    assert [sink.stderr for sink in sinks] == [f"err {index}\n".encode() for index in range(200)]
    assert not any(task.result().leftovers for task in tasks)


async def test_a_hundred_commands_with_families_are_cancelled_together(
    runner, shell, new_sink, is_alive, in_background
):
    sinks = [new_sink() for _ in range(100)]
    command = shell("sleep 1000 & echo $!; echo $$; wait")
    tasks = [in_background(runner.run(command, sink)) for sink in sinks]
    for sink in sinks:
        await sink.until(b"\n")
    for task in tasks:
        task.cancel()

    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert not any(is_alive(int(pid)) for sink in sinks for pid in sink.stdout.split())


async def test_every_kind_of_end_at_the_same_time(runner, shell, sink, new_sink, in_background):
    kinds = {
        "ends": shell("exit 1"),
        "leaves": shell("sleep 1000 & exit 2"),
        "late": shell("exec sleep 1000", timeout=0.2),
        "cancelled": shell("exec sleep 1000"),
    }
    tasks = {
        (kind, index): in_background(runner.run(command, new_sink()))
        for kind, command in kinds.items()
        for index in range(8)
    }
    tasks |= {("deaf", index): in_background(_outlast(runner, shell, new_sink())) for index in range(8)}
    await runner.run(shell("true"), sink)
    for (kind, _), task in tasks.items():
        if kind == "cancelled":
            task.cancel()

    results = dict(zip(tasks, await asyncio.gather(*tasks.values(), return_exceptions=True), strict=True))

    found = {(kind, _summary(result)) for (kind, _), result in results.items()}
    assert found == {
        ("ends", (1, False, 0)),
        ("leaves", (2, False, 1)),
        ("late", (143, True, 0)),
        ("deaf", (137, True, 0)),
        ("cancelled", "cancelled"),
    }


async def _outlast(runner, shell, sink):
    child = runner.start(shell("exec sh deaf /dev/stdout"), sink)
    await sink.until(b"\n")
    child.limit(0.01)
    return await child.wait()


def _summary(result):
    if isinstance(result, asyncio.CancelledError):
        return "cancelled"
    return result.exit_code, result.timed_out, result.leftovers
