"""Fixtures that every suite may use, and what makes `make test-race` a stress test.

With AWF_RACE_ROUNDS=N each test marked `race` runs N times while every core is kept busy. Such a test always has to leave
the process as it found it: no task, thread, child process, open socket or pipe, or temporary file of ours.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from awf.testing.descendants import processes_below
from awf.testing.laboratory import Laboratory
from awf.testing.peers import peers_are_required
from awf.testing.postgres import TestPostgres

ROUNDS = int(os.environ.get("AWF_RACE_ROUNDS", "0"))
SETTLE_SECONDS = 10.0
# How fast a machine is says nothing about what it tests. In CI the same commit always gets the same examples.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=peers_are_required()
)
settings.load_profile("patient")
for _number in (signal.SIGINT, signal.SIGHUP):
    if (
        signal.getsignal(_number) is signal.SIG_IGN
    ):  # by `&` and `nohup`; the programs that are tested would inherit that
        signal.signal(_number, lambda *_: None)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def own_log():
    """A test that sets up the log leaves it as it found it."""
    logger = logging.getLogger("awf")
    before = (logger.propagate, logger.level, list(logger.handlers))
    yield
    for handler in logger.handlers:
        if handler not in before[2]:
            handler.close()
    logger.propagate, logger.handlers = before[0], before[2]
    logger.setLevel(before[1])


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


@pytest.fixture(scope="session")
def postgres():
    """A genuine PostgreSQL, started with the first test that asks for it."""
    server = TestPostgres()
    try:
        server.start()
    except Exception as error:
        server.stop()
        if os.environ.get("AWF_REQUIRE_PEERS") == "1":
            raise
        pytest.skip(f"PostgreSQL could not be started: {error}")
    yield server
    server.stop()


@pytest.fixture
def database_url(postgres):
    """An empty database of this test's own."""
    url = postgres.new_database()
    yield url
    postgres.drop(url)


def pytest_generate_tests(metafunc):
    if ROUNDS > 1 and metafunc.definition.get_closest_marker("race"):
        metafunc.fixturenames.append("race_round")
        metafunc.parametrize("race_round", range(1, ROUNDS + 1))


@pytest.fixture(scope="session", autouse=True)
def busy_machine():
    """Other work on every core, so that the scheduler interrupts where it seldom does."""
    hogs = (
        [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
        if ROUNDS
        else []
    )
    yield
    for hog in hogs:
        hog.kill()
        hog.wait()


def snapshot() -> dict[str, set]:
    handles = set()
    if os.path.isdir("/proc/self/fd"):
        for number in os.listdir("/proc/self/fd"):
            try:
                target = os.readlink(f"/proc/self/fd/{number}")
            except OSError:
                continue
            if target.startswith(("socket:", "pipe:", "anon_inode:[pidfd]")):
                handles.add(f"{number} {target}")
    return {
        "threads": {thread.name for thread in threading.enumerate() if thread.name.startswith("awf")},
        "processes": {child.pid for child in processes_below()},
        "handles": handles,
        "files": {path.name for path in Path(tempfile.gettempdir()).glob("awf-script-*")},
    }


def is_ours(task: asyncio.Task) -> bool:
    """Not the task in which the test framework runs this very fixture."""
    return not task.done() and "TestRunner" not in str(task.get_coro())


@pytest.fixture(autouse=True)
async def nothing_is_left_behind(request, anyio_backend):
    """Only for `race` tests: what was not there before must be gone after a moment."""
    if request.node.get_closest_marker("race") is None:
        yield
        return
    before, tasks = snapshot(), asyncio.all_tasks()
    yield
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        left = {kind: now - before[kind] for kind, now in snapshot().items()}
        left["tasks"] = {str(task.get_coro()) for task in asyncio.all_tasks() - tasks if is_ours(task)}
        if not any(left.values()):
            return
        if time.monotonic() > deadline:
            pytest.fail(f"left behind: { {kind: items for kind, items in left.items() if items} }")
        await asyncio.sleep(0.01)


def pytest_terminal_summary(terminalreporter):
    """Which tools each agent gave its model, in each mode; here, since with several workers only this file is loaded."""
    rows = {
        (provider, mode): tools
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "agent_tools"
        for provider, mode, tools in [value]
    }
    if rows:
        terminalreporter.section("tools that the agents' models had")
        for (provider, mode), tools in sorted(rows.items()):
            terminalreporter.write_line(f"{provider:15} {mode:10} {', '.join(tools)}")
