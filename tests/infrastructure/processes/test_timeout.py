from __future__ import annotations

import pytest

FOREVER = "while :; do sleep 0.01; done"


@pytest.fixture
def run_too_long(runner, shell, sink):
    """Let the time of a command be over once it has printed a line, however slow the machine is."""

    async def run(script):
        child = runner.start(shell(script), sink)
        await sink.until(b"\n")
        child.limit(0.01)
        return await child.wait()

    return run


async def test_a_command_that_runs_too_long_is_ended(runner, shell, sink):
    outcome = await runner.run(shell("exec sleep 1000", timeout=0.2), sink)

    assert outcome.timed_out
    assert (outcome.exit_code, outcome.signal) == (143, 15)


async def test_no_time_at_all_ends_it_at_once(runner, shell, sink):
    assert (await runner.run(shell("exec sleep 1000", timeout=0), sink)).timed_out


async def test_a_command_that_is_quick_enough_did_not_time_out(runner, shell, sink):
    assert not (await runner.run(shell("true", timeout=60), sink)).timed_out


async def test_what_it_printed_until_then_is_kept(run_too_long, sink):
    outcome = await run_too_long("printf 'one\ntwo'; echo three >&2; exec sleep 1000")

    assert outcome.timed_out
    assert (sink.stdout, sink.stderr) == (b"one\ntwo", b"three\n")


async def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(run_too_long):
    outcome = await run_too_long("exec sh deaf /dev/stdout")

    assert outcome.timed_out
    assert (outcome.exit_code, outcome.signal) == (137, 9)


async def test_a_command_may_use_the_grace_to_tidy_up(run_too_long, sink):
    outcome = await run_too_long(f"trap 'echo tidy; exit 7' TERM; echo ready; {FOREVER}")

    assert outcome.timed_out
    assert (outcome.exit_code, outcome.signal) == (7, 0)
    assert sink.stdout == b"ready\ntidy\n"


async def test_the_children_of_a_command_that_runs_too_long_end_with_it(run_too_long, sink, is_alive):
    outcome = await run_too_long("sleep 1000 & echo $!; wait")

    assert outcome.timed_out
    assert outcome.leftovers == 0  # the whole group was ended; it did not leave them behind
    assert not is_alive(int(sink.stdout))


async def test_a_child_that_ignores_sigterm_does_not_outlive_the_command(run_too_long, sink, is_alive):
    outcome = await run_too_long("sh deaf /dev/stdout & wait")

    assert outcome.timed_out
    assert not is_alive(int(sink.stdout))


async def test_a_stopped_command_is_ended_too(runner, shell, sink, until, process_state):
    child = runner.start(shell(f"trap 'exit 5' TERM; kill -STOP $$; {FOREVER}"), sink)
    await until(lambda: process_state(child.pid) == "T")
    child.limit(0.01)

    outcome = await child.wait()

    assert outcome.timed_out
    assert outcome.exit_code == 5  # it got to act on SIGTERM


async def test_input_that_nobody_reads_does_not_hinder_the_end(runner, shell, sink):
    command = shell("exec sleep 1000", timeout=0.1, stdin=bytes(1_000_000))

    assert (await runner.run(command, sink)).timed_out
