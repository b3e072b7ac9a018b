from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.race

DEAF = "exec sh deaf /dev/stdout"


@pytest.fixture
def patient_runner(request):
    """One whose grace no test waits for."""
    from awf.infrastructure.processes import ProcessRunner

    return ProcessRunner(grace=1000, portable=request.param == "portable")


both = pytest.mark.parametrize("patient_runner", ["linux", "portable"], indirect=True)


async def test_a_cancelled_command_is_ended_and_the_cancellation_goes_on(
    runner, shell, sink, in_background, is_alive
):
    task = in_background(runner.run(shell("echo $$; exec sleep 1000"), sink))
    await sink.until(b"\n")

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert not is_alive(int(sink.stdout))


async def test_a_cancelled_command_may_tidy_up(runner, shell, sink, in_background):
    script = "trap 'echo tidy; exit' TERM; echo ready; while :; do sleep 0.01; done"
    task = in_background(runner.run(shell(script), sink))
    await sink.until(b"ready")

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert sink.stdout == b"ready\ntidy\n"


async def test_a_cancelled_command_that_ignores_sigterm_is_killed_after_the_grace(
    runner, shell, sink, in_background, is_alive
):
    task = in_background(runner.run(shell(DEAF), sink))
    await sink.until(b"\n")

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not is_alive(int(sink.stdout))


@both
@pytest.mark.parametrize("more", [1, 5])
async def test_a_second_cancellation_kills_at_once(
    patient_runner, shell, sink, in_background, is_alive, more
):
    task = in_background(patient_runner.run(shell(DEAF), sink))
    await sink.until(b"\n")

    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    for _ in range(more):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not is_alive(int(sink.stdout))
    await patient_runner.close()


@both
async def test_a_second_cancellation_also_kills_what_was_left_behind(
    patient_runner, shell, sink, in_background, is_alive, tmp_path, number_in, until
):
    script = "sh deaf pid & until [ -s pid ]; do sleep 0.01; done"
    task = in_background(patient_runner.run(shell(script), sink))
    pid = await until(lambda: number_in(tmp_path / "pid"))

    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not is_alive(pid)
    await patient_runner.close()


async def test_cancelled_in_its_first_moment_it_leaves_nothing(runner, shell, sink, in_background, held):
    await runner.run(shell("true"), sink)
    before = held()

    task = in_background(runner.run(shell("sleep 1000 & exec sleep 1000"), sink))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert held() == before


async def test_a_timeout_from_outside_works_too(runner, shell, sink, is_alive):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await runner.run(shell("echo $$; exec sleep 1000"), sink)

    assert not is_alive(int(sink.stdout or b"0"))


async def test_in_a_group_of_tasks_one_failure_ends_the_other_command(runner, shell, sink, is_alive):
    async def fail():
        await sink.until(b"\n")
        raise LookupError

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(runner.run(shell("echo $$; exec sleep 1000"), sink))
            group.create_task(fail())

    assert not is_alive(int(sink.stdout))
