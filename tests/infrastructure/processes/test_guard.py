from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

import awf
from awf.infrastructure.processes import ProcessRunner, guard
from awf.infrastructure.processes.descendants import household, lasting_mark

pytestmark = pytest.mark.race

# A program that runs one command and reports through files.
OWNER = """
import asyncio, os, sys
from awf.domain.ports.command_runner import Command
from awf.infrastructure.processes import ProcessRunner

async def main(script, portable):
    runner = ProcessRunner(grace=0.3, portable=portable == "portable")
    command = Command(argv=("/bin/sh", "-c", script), cwd=os.getcwd(), env=dict(os.environ))
    child = runner.start(command, lambda *_: None)
    open("noted", "w").close()
    await child.wait()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def own(tmp_path):
    """Start such a program."""
    started = []

    def start(script, portable):
        source = os.path.dirname(os.path.dirname(awf.__file__))
        program = subprocess.Popen(
            [sys.executable, "-c", OWNER, script, portable],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([source, *sys.path])},
        )
        started.append(program)
        return program

    yield start
    for program in started:
        program.kill()
        program.wait()
    _let_orphans_end()


def _let_orphans_end():
    """They come to this process when it has run a command before."""
    end = time.monotonic() + 30
    while household.orphans():
        assert time.monotonic() < end, "the guard did not end everything"
        time.sleep(0.01)


@pytest.mark.parametrize("portable", ["linux", "portable"])
async def test_when_awf_is_killed_its_commands_end(own, portable, tmp_path, until, number_in, is_alive):
    script = "sh lasting pid1 & sh deaf pid2 & echo $$ > pid3; wait"
    owner = own(script, portable)
    pids = [await until(lambda n=name: number_in(tmp_path / n)) for name in ("pid1", "pid2", "pid3")]

    owner.kill()

    await until(lambda: not any(map(is_alive, pids)))


async def test_when_awf_is_killed_escaped_daemons_end(own, tmp_path, until, number_in, is_alive):
    script = "setsid sh lasting pid1 & setsid sh deaf pid2 & setsid sh restless pid3 & wait"
    owner = own(script, "linux")
    pids = [await until(lambda n=name: number_in(tmp_path / n)) for name in ("pid1", "pid2", "pid3")]

    owner.kill()

    await until(lambda: not any(map(is_alive, pids)))


async def test_when_awf_is_killed_a_stopped_command_and_one_without_our_token_end(
    own, tmp_path, until, number_in, is_alive, process_state
):
    script = "echo $$ > main; env -i sleep 1000 & echo $! > bare; kill -STOP $$"
    owner = own(script, "portable")
    pids = [await until(lambda n=name: number_in(tmp_path / n)) for name in ("main", "bare")]
    await until(lambda: process_state(pids[0]) == "T" and (tmp_path / "noted").exists())

    owner.kill()

    await until(lambda: not any(map(is_alive, pids)))


async def test_the_guard_goes_when_it_has_done_its_work(own, tmp_path, until, number_in, is_alive):
    owner = own("echo $$ > main; exec sleep 1000", "linux")
    main = await until(lambda: number_in(tmp_path / "main"))
    watcher = next(pid for pid in _children(owner.pid) if pid != main)

    owner.kill()

    await until(lambda: not is_alive(watcher))
    assert not is_alive(main)


async def test_awf_leaves_nothing_open_in_the_guard(own, tmp_path, until, number_in):
    owner = own("echo $$ > main; exec sleep 1000", "linux")
    main = await until(lambda: number_in(tmp_path / "main"))
    watcher = next(pid for pid in _children(owner.pid) if pid != main)

    held = {fd: os.readlink(f"/proc/{watcher}/fd/{fd}") for fd in os.listdir(f"/proc/{watcher}/fd")}

    assert held.pop("0").startswith("pipe:")
    assert set(held.values()) == {os.devnull}
    assert os.getsid(watcher) == watcher
    assert os.readlink(f"/proc/{watcher}/cwd") == "/"


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


@pytest.fixture
async def guarded(shell, sink):
    runner = ProcessRunner(grace=0.3, portable=True)
    await runner.run(shell("true"), sink)
    yield runner
    await runner.close()


async def test_the_guard_ignores_the_signals_that_end_awf(guarded, shell, sink, is_alive):
    watcher = guarded._guard.pid
    await guarded.run(shell("true"), sink)
    ignored = _ignored_signals(watcher)

    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT} <= ignored
    assert is_alive(watcher)


def _ignored_signals(pid):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with open(f"/proc/{pid}/status") as file:
            mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigIgn:"))
        found = {number for number in range(1, 65) if mask & 1 << (number - 1)}
        if signal.SIGTERM in found:
            return found
    raise AssertionError("the guard never set its traps")


async def test_one_guard_serves_all_commands_and_goes_with_the_runner(guarded, shell, sink, is_alive):
    watcher = guarded._guard.pid
    await guarded.run(shell("true"), sink)
    assert guarded._guard.pid == watcher

    await guarded.close()

    assert not is_alive(watcher)


async def test_a_guard_that_died_is_not_missed(guarded, shell, sink):
    os.kill(guarded._guard.pid, signal.SIGKILL)

    outcomes = [await guarded.run(shell("exit 3"), sink) for _ in range(5)]

    assert {outcome.exit_code for outcome in outcomes} == {3}


async def test_a_guard_that_does_not_read_holds_nothing_up(guarded, shell, sink, monkeypatch):
    watcher = guarded._guard
    os.kill(watcher.pid, signal.SIGSTOP)
    for number in range(20_000):
        watcher.note(2_000_000_000 + number)

    assert (await guarded.run(shell("exit 3"), sink)).exit_code == 3
    os.kill(watcher.pid, signal.SIGCONT)


async def test_a_guard_that_never_reads_again_is_given_up(guarded, shell, sink, monkeypatch, is_alive):
    monkeypatch.setattr(guard, "BACKLOG_LIMIT", 1000)
    watcher = guarded._guard
    pid = watcher.pid
    os.kill(pid, signal.SIGSTOP)
    for number in range(20_000):
        watcher.note(2_000_000_000 + number)

    assert watcher.pid is None
    assert not is_alive(pid)
    assert (await guarded.run(shell("exit 3"), sink)).exit_code == 3


async def test_without_a_shell_commands_still_run(shell, sink, monkeypatch):
    monkeypatch.setattr(guard, "SHELL", "/no/such/shell")
    runner = ProcessRunner(grace=0.3)

    assert (await runner.run(shell("exit 3"), sink)).exit_code == 3
    assert runner._guard.pid is None
    await runner.close()


@contextlib.contextmanager
def _script_with(lines, mark="AWF_PROCESS_TOKEN=none", in_limits=()):
    """The guard's script alone, at the moment it has read these lines and awf is gone."""
    command = [guard.SHELL, "-c", guard.SCRIPT, "awf-guard", mark, "3", *in_limits]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as script:
        script.stdin.write(lines)
        script.stdin.close()
        yield
        assert script.wait(60) == 0


@pytest.fixture
def group():
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_the_script_ends_the_groups_that_are_noted(group):
    with _script_with(b"+%d\n" % group.pid):
        assert group.wait(30) == -signal.SIGTERM


@pytest.mark.parametrize(
    "lines", [b"", b"+%(pid)d\n-%(pid)d\n", b"+1%(pid)d9\n+%(pid)d\n-%(pid)d\n-1%(pid)d9\n"]
)
def test_the_script_spares_the_groups_that_are_forgotten(group, lines):
    with _script_with(lines % {b"pid": group.pid}):
        pass

    assert group.poll() is None


def test_the_script_forgets_only_what_it_is_told_to(group):
    lines = b"".join(b"+%d\n" % (900_000_000 + n) for n in range(50)) + b"+%d\n" % group.pid
    lines += b"".join(b"-%d\n" % (900_000_000 + n) for n in reversed(range(50)))

    with _script_with(lines):
        assert group.wait(30) == -signal.SIGTERM


def test_the_script_finds_a_group_through_the_mark_of_its_leader():
    mark = f"AWF_PROCESS_TOKEN={os.urandom(8).hex()}"
    leader = subprocess.Popen(
        ["/bin/sh", "-c", "env -i sleep 1000 & echo $!; exec 1>&-; wait"],
        env=dict([mark.split("="), ("PATH", os.environ["PATH"])]),
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    with leader.stdout as printed:
        member = int(printed.readline())

    with _script_with(b"", mark):
        assert leader.wait(30) == -signal.SIGTERM

    _let_orphans_end()
    assert not os.path.exists(f"/proc/{member}")


def test_the_script_finds_processes_by_the_mark_in_a_limit_and_no_others():
    token = os.urandom(8).hex()

    def marked(number: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "1000"], env={}, start_new_session=True)
        resource.prlimit(process.pid, 10, (int(number), int(number)))
        return process

    ours, others = marked(lasting_mark(token + "000000ff")), marked(lasting_mark(token[::-1] + "000000ff"))
    with _script_with(b"", in_limits=[lasting_mark(token + "00000000")[:-8]]):
        assert ours.wait(30) == -signal.SIGTERM
    assert others.poll() is None
    with _script_with(b"", in_limits=[]):
        pass
    assert others.poll() is None

    others.kill()
    others.wait()
