from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from awf.domain.ports.command_runner import Command
from awf.infrastructure.processes import ProcessRunner, ending

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can find them")

# Detaches from everything: a session of its own and no parent.
DAEMON = "setsid sh lasting daemon & until [ -s daemon ]; do sleep 0.01; done"


async def test_a_background_process_is_ended_and_counted(runner, shell, sink, is_alive):
    outcome = await runner.run(shell("sleep 1000 & echo $!"), sink)

    assert outcome.exit_code == 0
    assert outcome.leftovers == 1
    assert not is_alive(int(sink.stdout))


async def test_each_background_process_is_counted(linux_runner, shell, sink):
    outcome = await linux_runner.run(shell("sleep 1000 & sleep 1000 & (sleep 1000 &) & wait $!"), sink)

    assert outcome.leftovers == 3


async def test_a_background_process_that_prints_without_end_does_not_hold_up_the_end(runner, shell):
    outcome = await runner.run(shell("cat /dev/zero & exit 4"), lambda *_: None)

    assert (outcome.exit_code, outcome.leftovers) == (4, 1)


async def test_a_background_process_that_ignores_sigterm_is_killed(
    runner, shell, sink, is_alive, tmp_path, number_in
):
    script = "sh deaf pid & until [ -s pid ]; do sleep 0.01; done"

    outcome = await runner.run(shell(script), sink)

    assert outcome.leftovers >= 1
    assert not is_alive(number_in(tmp_path / "pid"))


async def test_a_stopped_background_process_is_ended(runner, shell, sink, is_alive):
    outcome = await runner.run(shell("sleep 1000 & kill -STOP $!; echo $!"), sink)

    assert outcome.leftovers == 1
    assert not is_alive(int(sink.stdout))


async def test_a_background_process_may_use_the_grace(runner, shell, sink):
    script = "sh -c 'trap \"echo bye; exit\" TERM; echo > set; while :; do sleep 0.01; done' & until [ -e set ]; do sleep 0.01; done"

    await runner.run(shell(script), sink)

    assert sink.stdout == b"bye\n"


async def test_a_helper_that_finishes_by_itself_is_no_leftover(runner, shell, sink, monkeypatch):
    monkeypatch.setattr(ending, "SETTLING_TIME", 30.0)

    outcome = await runner.run(shell("(sleep 0.05; echo late) &"), sink)

    assert sink.stdout == b"late\n"
    assert outcome.leftovers == 0


async def test_a_process_without_our_token_but_in_the_group_is_ended(runner, shell, sink, is_alive):
    outcome = await runner.run(shell("env -i sleep 1000 & echo $!"), sink)

    assert outcome.leftovers == 1
    assert not is_alive(int(sink.stdout))


@linux_only
async def test_an_escaped_daemon_is_found_and_ended(linux_runner, shell, sink, is_alive, tmp_path, number_in):
    outcome = await linux_runner.run(shell(DAEMON), sink)

    assert outcome.leftovers == 1
    assert not is_alive(number_in(tmp_path / "daemon"))


@linux_only
async def test_an_escaped_daemon_that_ignores_sigterm_is_killed(
    linux_runner, shell, sink, is_alive, tmp_path, number_in
):
    script = DAEMON.replace("lasting", "deaf")

    outcome = await linux_runner.run(shell(script), sink)

    assert outcome.leftovers >= 1
    assert not is_alive(number_in(tmp_path / "daemon"))


# What sandboxes do first, so that nothing wipes the mark. Then: a daemon without an environment.
MARKED_DAEMON = """
import os, resource
from awf.infrastructure.processes.descendants import lasting_mark
mark = int(lasting_mark(os.environ["AWF_PROCESS_TOKEN"]))
resource.setrlimit(10, (mark, mark))
if os.fork() == 0:
    os.setsid()
    os.execve("/bin/sh", ["sh", "deaf", "daemon"], {})
while not (os.path.exists("daemon") and open("daemon").read()):
    pass
"""


@linux_only
async def test_an_escaped_daemon_without_an_environment_is_found_by_the_mark_in_a_limit(
    linux_runner, sink, is_alive, tmp_path, number_in
):
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    command = Command(argv=(sys.executable, "-c", MARKED_DAEMON), cwd=str(tmp_path), env=env)

    outcome = await linux_runner.run(command, sink)

    assert (outcome.exit_code, outcome.leftovers >= 1) == (0, True)
    assert not is_alive(number_in(tmp_path / "daemon"))


@linux_only
async def test_an_escaped_daemon_whose_first_thread_has_ended_is_killed(
    linux_runner, python, sink, is_alive, tmp_path, number_in
):
    # It looks dead, and shows neither memory nor environment.
    source = """
import ctypes, os, threading, time
if os.fork() == 0:
    os.setsid()
    threading.Thread(target=time.sleep, args=(1000,)).start()
    with open("daemon", "w") as file:
        print(os.getpid(), file=file)
    ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
while not (os.path.exists("daemon") and open("daemon").read()):
    pass
"""
    await linux_runner.run(python(source), sink)

    assert not os.path.exists(f"/proc/{number_in(tmp_path / 'daemon')}")


@linux_only
async def test_an_escaped_daemon_of_an_escaped_daemon_is_ended(
    linux_runner, shell, sink, is_alive, tmp_path, number_in
):
    (tmp_path / "twice").write_text("setsid sh lasting second & exec sh lasting $1")
    script = DAEMON.replace("lasting", "twice") + "; until [ -s second ]; do sleep 0.01; done"

    outcome = await linux_runner.run(shell(script), sink)

    assert outcome.leftovers == 2
    assert not is_alive(number_in(tmp_path / "daemon"))
    assert not is_alive(number_in(tmp_path / "second"))


@linux_only
async def test_an_escaped_daemon_ends_with_a_command_that_runs_too_long(
    linux_runner, shell, sink, is_alive, tmp_path, number_in
):
    child = linux_runner.start(shell(DAEMON + "; echo ready; exec sleep 1000"), sink)
    await sink.until(b"ready")
    child.limit(0.01)

    outcome = await child.wait()

    assert outcome.timed_out
    assert outcome.leftovers == 1
    assert not is_alive(number_in(tmp_path / "daemon"))


@linux_only
async def test_the_commands_of_an_inner_awf_are_recognised(
    linux_runner, shell, sink, is_alive, tmp_path, number_in
):
    script = "AWF_PROCESS_TOKEN=${AWF_PROCESS_TOKEN}0123; " + DAEMON

    outcome = await linux_runner.run(shell(script), sink)

    assert outcome.leftovers == 1
    assert not is_alive(number_in(tmp_path / "daemon"))


@linux_only
@pytest.mark.race
async def test_a_daemon_of_a_command_that_still_runs_is_left_alone(
    linux_runner, shell, sink, new_sink, is_alive, tmp_path, number_in, in_background, until
):
    script = DAEMON + "; until [ -e enough ]; do sleep 0.01; done"
    first = in_background(linux_runner.run(shell(script), sink))
    daemon = await until(lambda: number_in(tmp_path / "daemon"))

    others = [await linux_runner.run(shell("sleep 1000 &"), new_sink()) for _ in range(3)]
    assert is_alive(daemon)
    (tmp_path / "enough").touch()

    assert [other.leftovers for other in others] == [1, 1, 1]
    assert (await first).leftovers == 1
    assert not is_alive(daemon)


@linux_only
async def test_a_dead_orphan_does_not_linger_while_the_command_runs(linux_runner, shell, sink):
    script = (
        "(sleep 0.01 & echo $! > pid); read pid < pid; while kill -0 $pid 2>/dev/null; do sleep 0.01; done"
    )

    outcome = await linux_runner.run(shell(script, timeout=30), sink)

    assert not outcome.timed_out
    assert outcome.leftovers == 0


@linux_only
async def test_children_that_others_started_in_this_process_stay_theirs(shell, sink):
    with subprocess.Popen(["/bin/sh", "-c", "exit 7"], stdout=subprocess.PIPE) as other:
        assert other.stdout.read() == b""  # it is dead or dying now, and not waited for
        runner = ProcessRunner(grace=1000)

        async with asyncio.timeout(60):
            outcomes = [await runner.run(shell(script), sink) for script in ("true", "sleep 1000 &")]
        await runner.close()

        assert [outcome.leftovers for outcome in outcomes] == [0, 1]
        assert other.wait() == 7


@linux_only
@pytest.mark.race
async def test_every_escaped_daemon_is_reaped_by_the_time_the_command_is_over(
    linux_runner, shell, sink, held, tmp_path, monkeypatch
):
    # One that is on its way out has no environment any more, and is none the less ours.
    monkeypatch.setattr(ending, "SETTLING_TIME", 0.001)
    await linux_runner.run(shell("true"), sink)
    before = held()

    for _ in range(60):
        outcome = await linux_runner.run(shell(DAEMON), sink)
        assert (outcome.leftovers, held()) == (1, before)
        (tmp_path / "daemon").unlink()


@linux_only
@pytest.mark.race
async def test_an_escaped_daemon_in_the_middle_of_an_exec_is_found_and_ended(
    linux_runner, shell, sink, is_alive, tmp_path, number_in
):
    # It shows no environment at such a moment, and is none the less ours.
    for _ in range(60):
        outcome = await linux_runner.run(shell(DAEMON.replace("lasting", "restless")), sink)
        assert (outcome.leftovers, is_alive(number_in(tmp_path / "daemon"))) == (1, False)
        (tmp_path / "daemon").unlink()
