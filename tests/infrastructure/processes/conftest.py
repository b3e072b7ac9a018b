from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import Counter

import pytest

from awf.domain.ports.command_runner import Command
from awf.infrastructure.processes import ProcessRunner

PATIENCE = 30.0
GRACE = 0.3


class Sink:
    """Keeps what a command prints and lets a test wait for it."""

    def __init__(self):
        self.chunks = []

    def __call__(self, stream, chunk):
        self.chunks.append((stream, chunk))

    @property
    def stdout(self):
        return b"".join(chunk for stream, chunk in self.chunks if stream == "stdout")

    @property
    def stderr(self):
        return b"".join(chunk for stream, chunk in self.chunks if stream == "stderr")

    async def until(self, text):
        await until(lambda: text in self.stdout)


async def until(check):
    """Wait until it is so; fail when it does not come true."""
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, "this did not come true in time"
        await asyncio.sleep(0.002)
    return found


def process_state(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""


def is_alive(pid):
    return process_state(pid) not in {"", "Z", "X"}


def number_in(path):
    """The process id that a command wrote there, once the whole line is there."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return 0
    return int(text) if text.endswith("\n") else 0


def held():
    """Pipes and process descriptors, children and threads of this process."""
    kinds = Counter()
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if "pipe" in target or "pidfd" in target:
            kinds[target.split(":")[0]] += 1
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children") as file:
            kinds["children"] += len(file.read().split())
    kinds["threads"] = threading.active_count()
    return kinds


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    before = held()
    yield
    assert held() == before


@pytest.fixture(params=["linux", "portable"])
async def runner(request):
    """Both ways of doing it; a test that needs what only Linux can do takes `linux_runner`."""
    runner = ProcessRunner(grace=GRACE, portable=request.param == "portable")
    yield runner
    await runner.close()


@pytest.fixture
async def linux_runner():
    runner = ProcessRunner(grace=GRACE)
    yield runner
    await runner.close()


# `sh lasting NAME` stays; `sh deaf NAME` does not even listen to SIGTERM; `sh restless NAME` is in the middle of an
# exec most of the time. They write their process id to NAME.
SCRIPTS = {
    "restless": "[ -s $1 ] || echo $$ > $1; exec sh restless $1",
    "lasting": "echo $$ > $1; exec sleep 1000",
    "deaf": "trap '' TERM; echo $$ > $1; while :; do sleep 0.01; done",
}


@pytest.fixture(autouse=True)
def _scripts(tmp_path):
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)


@pytest.fixture
def shell(tmp_path):
    """A shell command that runs in a directory of its own."""

    def build(script, **parts):
        env = {"PATH": os.environ["PATH"], **parts.pop("env", {})}
        return Command(argv=("/bin/sh", "-c", script), cwd=str(tmp_path), env=env, **parts)

    return build


@pytest.fixture
def python(tmp_path):
    def build(source, **parts):
        env = {"PATH": os.environ["PATH"]}
        return Command(argv=(sys.executable, "-S", "-c", source), cwd=str(tmp_path), env=env, **parts)

    return build


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture(name="new_sink")
def _new_sink():
    return Sink


@pytest.fixture(name="until")
def _until():
    return until


@pytest.fixture(name="is_alive")
def _is_alive():
    return is_alive


@pytest.fixture(name="process_state")
def _process_state():
    return process_state


@pytest.fixture(name="number_in")
def _number_in():
    return number_in


@pytest.fixture(name="held")
def _held():
    return held


@pytest.fixture
def in_background():
    """Run something beside the test."""
    tasks = []

    def start(awaitable):
        task = asyncio.get_running_loop().create_task(awaitable)
        tasks.append(task)
        return task

    yield start
    assert all(task.done() for task in tasks)
