from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tracemalloc

import pytest

import awf


async def test_each_stream_is_handed_over_raw_and_in_order(runner, shell, sink):
    outcome = await runner.run(shell(r"printf 'a\377\0b\n'; printf 'oops' >&2; printf 'c'"), sink)

    assert sink.stdout == b"a\xff\x00b\nc"
    assert sink.stderr == b"oops"
    assert (outcome.exit_code, outcome.signal, outcome.timed_out, outcome.leftovers) == (0, 0, False, 0)


async def test_output_comes_while_the_command_still_runs(runner, shell, sink, tmp_path):
    def answer(stream, chunk):
        sink(stream, chunk)
        (tmp_path / "heard").touch()

    script = "echo ready; until [ -e heard ]; do sleep 0.01; done; echo done"
    outcome = await runner.run(shell(script, timeout=30), answer)

    assert sink.stdout == b"ready\ndone\n"
    assert not outcome.timed_out


@pytest.mark.parametrize("code", [0, 1, 42, 255])
async def test_the_exit_code_is_that_of_the_command(runner, shell, sink, code):
    outcome = await runner.run(shell(f"exit {code}"), sink)

    assert (outcome.exit_code, outcome.signal) == (code, 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1])
async def test_an_end_by_a_signal_is_told_as_a_shell_tells_it(runner, shell, sink, number):
    outcome = await runner.run(shell(f"kill -{int(number)} $$"), sink)

    assert (outcome.exit_code, outcome.signal) == (128 + number, number)


async def test_standard_input_is_empty_unless_something_is_given(runner, shell, sink):
    outcome = await runner.run(shell("cat; echo end"), sink)

    assert sink.stdout == b"end\n"
    assert outcome.exit_code == 0


@pytest.mark.parametrize("size", [0, 5, 65_536, 5_000_000])
async def test_any_amount_of_standard_input_passes_without_a_deadlock(runner, shell, sink, size):
    text = os.urandom(size)

    outcome = await runner.run(shell("cat", stdin=text, timeout=60), sink)

    assert sink.stdout == text
    assert not outcome.timed_out


async def test_a_command_need_not_read_its_standard_input(runner, shell, sink):
    outcome = await runner.run(shell("exit 3", stdin=b"x" * 1_000_000), sink)

    assert outcome.exit_code == 3


async def test_a_command_may_close_its_standard_input_and_go_on(runner, shell, sink):
    outcome = await runner.run(shell("exec 0<&-; sleep 0.05; echo on", stdin=b"x" * 1_000_000), sink)

    assert sink.stdout == b"on\n"
    assert outcome.exit_code == 0


async def test_only_the_given_environment_and_a_token_of_its_own_reach_the_command(runner, python, sink):
    command = python("import os; print(sorted(k for k in os.environ if k != 'LC_CTYPE'))")
    await runner.run(command, sink)

    assert sink.stdout == b"['AWF_PROCESS_TOKEN', 'PATH']\n"


async def test_every_command_has_a_different_token(runner, shell, sink):
    for _ in range(3):
        await runner.run(shell("echo $AWF_PROCESS_TOKEN"), sink)

    assert len(set(sink.stdout.split())) == 3


async def test_the_command_runs_in_its_directory(runner, shell, sink, tmp_path):
    await runner.run(shell("pwd -P"), sink)

    assert sink.stdout.decode().strip() == os.path.realpath(tmp_path)


async def test_the_command_leads_its_own_session_and_group(runner, python, sink):
    command = python("import os; print({os.getpid()} == {os.getsid(0), os.getpgrp()})")
    await runner.run(command, sink)

    assert sink.stdout == b"True\n"


async def test_the_command_inherits_nothing_but_its_three_streams(runner, python, sink):
    await runner.run(python("import os; print(len(os.listdir('/proc/self/fd')))"), sink)

    assert sink.stdout == b"4\n"  # the fourth is the listing itself


async def test_much_output_does_not_grow_memory(runner, shell):
    count = 0

    def measure(_stream, chunk):
        nonlocal count
        count += len(chunk)

    tracemalloc.start()
    try:
        await runner.run(shell("head -c 200000000 /dev/zero"), measure)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count == 200_000_000
    assert peak < 2_000_000


async def test_the_loop_stays_free_while_a_command_prints_without_end(runner, shell, in_background):
    turns = 0

    def ignore(_stream, _chunk):
        pass

    task = in_background(runner.run(shell("exec cat /dev/zero"), ignore))
    while turns < 200:
        await asyncio.sleep(0)
        turns += 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_listener_ends_the_command_and_is_passed_on(runner, shell, until, is_alive):
    heard = []

    def refuse(_stream, chunk):
        heard.append(int(chunk))
        raise LookupError("nobody listens")

    with pytest.raises(LookupError, match="nobody listens"):
        await runner.run(shell("echo $$; exec sleep 1000"), refuse)

    assert not is_alive(heard[0])


async def test_an_error_of_the_listener_counts_also_when_the_command_is_through(runner, shell):
    def refuse(_stream, _chunk):
        raise LookupError("nobody listens")

    with pytest.raises(LookupError, match="nobody listens"):
        await runner.run(shell("echo all at once"), refuse)


async def test_a_command_that_widened_its_pipe_loses_nothing(linux_runner, python, sink):
    # It fills a pipe of 1 MiB and exits before anybody can have read it.
    source = "import fcntl, os; fcntl.fcntl(1, 1031, 1 << 20); os.set_blocking(1, False); os.write(1, bytes(1 << 20))"

    await linux_runner.run(python(source), sink)

    assert len(sink.stdout) == 1 << 20


def test_exit_codes_survive_a_parent_that_ignores_dead_children():
    source = """
import asyncio, os, signal
from awf.domain.ports.command_runner import Command
from awf.infrastructure.processes import ProcessRunner

async def main():
    runner = ProcessRunner()
    command = Command(argv=("/bin/sh", "-c", "exit 7"), cwd="", env={})
    print((await runner.run(command, print)).exit_code)
    await runner.close()

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
asyncio.run(main())
"""
    source_root = os.path.dirname(os.path.dirname(awf.__file__))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([source_root, *sys.path])}

    done = subprocess.run([sys.executable, "-c", source], env=env, stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"7\n"
