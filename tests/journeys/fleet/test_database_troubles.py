"""Databases that die and are followed by a standby, that are full, slow, or silent: runs wait, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from awf.testing.postgres_node import PostgresNode
from awf.testing.slow_line import SlowLine

pytestmark = pytest.mark.journey

WAIT = "echo b >> trace; until test -e go; do sleep 0.02; done; echo end of b"


@pytest.fixture
def node():
    """A function that gives a PostgreSQL server that is not started yet."""
    made = []

    def make():
        try:
            made.append(PostgresNode())
        except ImportError as error:
            if os.environ.get("AWF_REQUIRE_PEERS") == "1":
                raise
            pytest.skip(f"PostgreSQL could not be started: {error}")
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def slow_line():
    """A function that puts a line between us and a port."""
    made = []

    def make(port, **how):
        made.append(SlowLine(port, **how).start())
        return made[-1]

    yield make
    for line in made:
        line.stop()


# -- fail-over -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["?target_session_attrs=read-write", ""])
def test_runs_go_on_at_the_standby_when_the_primary_is_killed(node, fleet_over, until, words):
    primary = node().start()
    standby = node().start_as_standby_of(primary)
    # The standby is listed first: who reads only is not written to.
    fleet = fleet_over(primary.url(by=f"{standby.place},{primary.place}") + words)
    assert f"{standby.place},{primary.place}" in fleet.awf("doctor").stdout
    workers = [fleet.worker("--concurrency", "3") for _ in range(2)]
    fleet.steps("x", "echo a >> trace", WAIT, "echo c >> trace")
    runs = [fleet.submit("./x.yaml") for _ in range(5)]
    until(lambda: fleet.trace().count("b") == 5, "five runs at work")
    following = fleet.start("logs", "-f", runs[0], "-o", "ndjson")
    until(lambda: following.events("step.started"), "a follower")
    primary.kill()
    fleet.touch("go")
    until(lambda: not fleet.commands(), "the end of the steps while nobody can record it")
    standby.promote()
    for run in runs:
        fleet.ended(run)
    assert following.wait().status == 0, following.err.read_text()
    told = following.events()
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert told[-1]["type"] == "workflow.completed"
    assert (fleet.trace().count("a"), fleet.trace().count("c")) == (5, 5)
    fleet.ended(fleet.submit("./x.yaml"))
    assert all(worker.alive for worker in workers)


def test_a_worker_can_be_stopped_while_the_database_is_gone_and_its_runs_go_on_later(node, fleet_over, until):
    server = node().start()
    fleet = fleet_over(server.url())
    fleet.steps("x", "echo a >> trace", WAIT, "echo c >> trace")
    worker = fleet.worker("--drain", "0")
    run = fleet.submit("./x.yaml")
    until(lambda: "b" in fleet.trace(), "the second step")
    server.kill()
    worker.send(signal.SIGTERM)
    told = worker.wait()
    assert (told.status, "Traceback" in told.stderr) == (0, False), told.stderr
    assert not fleet.commands()
    server.begin()
    fleet.touch("go")
    fleet.worker()
    fleet.ended(run)
    assert fleet.trace() == ["a", "b", "b", "c"]


def test_whoever_follows_is_told_when_the_database_does_not_come_back(node, fleet_over, until, tmp_path):
    server = node().start()
    fleet = fleet_over(server.url())
    fleet.steps("x", WAIT)
    fleet.worker()
    impatient(fleet, tmp_path / "impatient")
    following = fleet.start("run", "./x.yaml", "--submit", "--follow")
    until(lambda: "b" in fleet.trace() and following.err.read_text(), "the run, and what is shown of it")
    server.kill()
    told = following.wait().one_error("SYSTEM.STORE.UNAVAILABLE")
    assert "The run goes on without you" in told.stderr
    server.begin()
    fleet.touch("go")
    fleet.ended(next(run["id"] for run in fleet.history()))


def impatient(fleet, folder):
    """Processes that are started from here on do not wait for a minute until they give up."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "from awf.infrastructure.stores.postgres import runs\nruns._FOLLOW_SECONDS = 1.0\n", encoding="utf-8"
    )
    fleet.environment["PYTHONPATH"] = str(folder)


# -- full ----------------------------------------------------------------------------------------------------------------


def test_a_full_database_stops_runs_and_they_go_on_when_there_is_room(node, small_disk, fleet_over, until):
    server = node()
    disk = small_disk("100m", at=server.data)
    server.start()
    fleet = fleet_over(server.url())
    worker = fleet.worker()
    big = "head -c 200000 /dev/urandom | base64 -w 0"
    fleet.steps("x", "echo a >> trace", WAIT, f"echo c >> trace; {big}", f"echo d >> trace; {big}")
    runs = [fleet.submit("./x.yaml") for _ in range(3)]
    until(lambda: fleet.trace().count("b") == 3, "three runs at work")
    filling = disk / "filling"
    fill(filling)
    fleet.touch("go")
    until(lambda: "cannot be written" in worker.err.read_text(), "the worker that tells")
    assert "It is tried again" in worker.err.read_text()
    fleet.awf("run", "./x.yaml").one_error("SYSTEM.STORE.WRITE_FAILED")
    filling.unlink()
    for run in runs:
        fleet.ended(run)
    stopped = next(run["id"] for run in fleet.history() if run["id"] not in runs)
    fleet.awf("resume", stopped).succeeded()
    assert fleet.trace().count("a") == 4, (
        fleet.trace()
    )  # what was at work may begin again; what was finished does not
    fleet.ended(fleet.submit("./x.yaml"))


def fill(path):
    """Until nothing more fits."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


# -- slow ----------------------------------------------------------------------------------------------------------------


def test_a_slow_database_only_makes_runs_slow(node, slow_line, fleet_over, until):
    server = node().start()
    near = server.url()
    fleet = fleet_over(near)
    fleet.worker().send(signal.SIGTERM)  # it has made the tables, some hundred statements
    line = slow_line(server.port, delay=0.05)
    fleet.environment["AWF_DATABASE_URL"] = server.url(by=line.place)
    fleet.worker("--concurrency", "2")
    fleet.steps("x", "echo a >> trace", "echo b >> trace; echo said", "echo {{ states.b.output }} >> trace")
    told = fleet.awf("run", "./x.yaml", "--submit", "--follow", "-o", "ndjson").succeeded().events()
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert told[-1]["type"] == "workflow.completed"
    assert fleet.trace() == ["a", "b", "said"]
    assert line.carried > 0
    fleet.environment["AWF_DATABASE_URL"] = near
    assert [run["status"] for run in fleet.history()] == ["completed"]


def test_a_database_that_says_nothing_for_a_while_is_waited_for(node, slow_line, fleet_over, until):
    server = node().start()
    line = slow_line(server.port)
    fleet = fleet_over(server.url(by=line.place))
    worker = fleet.worker()
    fleet.steps("x", "echo a >> trace", WAIT, "echo c >> trace")
    following = fleet.start("run", "./x.yaml", "--submit", "--follow", "-o", "ndjson")
    until(lambda: "b" in fleet.trace(), "the second step")
    line.hush()
    before = line.carried
    fleet.touch("go")
    until(lambda: not fleet.commands(), "the end of the step while nobody answers")
    until(lambda: line.carried > before, "what nobody hears")
    assert fleet.trace() == ["a", "b"]
    line.speak()
    assert following.wait().status == 0, following.err.read_text()
    assert fleet.trace() == ["a", "b", "c"]
    assert worker.alive


# -- the end of a worker ----------------------------------------------------------------------------------------------------


def test_a_worker_ends_although_nobody_takes_down_that_its_run_has_ended(node, fleet_over, until):
    server = node().start()
    fleet = fleet_over(server.url())
    fleet.steps("x", WAIT)
    worker = fleet.worker("--drain", "600")
    run = fleet.submit("./x.yaml")
    until(lambda: "b" in fleet.trace(), "the step")
    with no_steps_taken_down(server):
        fleet.touch("go")
        fleet.ended(run)
        until(
            lambda: server.execute("SELECT 1 FROM pg_locks WHERE NOT granted"), "one who waits for the table"
        )
        server.kill()
    worker.send(signal.SIGTERM)
    told = worker.wait()
    assert (told.status, "Traceback" in told.stderr) == (0, False), told.stderr
    server.begin()
    fleet.worker()
    until(lambda: place_in_the_queue(server, run) == "SUCCESS", "another worker that notes it")
    assert fleet.trace() == ["b"]


@contextlib.contextmanager
def no_steps_taken_down(server):
    """The queue's library cannot write that the step in which a run is carried out has ended."""
    import psycopg

    connection = psycopg.connect(server.url())
    try:
        connection.execute("LOCK TABLE dbos.operation_outputs IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        connection.close()


def place_in_the_queue(server, run):
    ((status,),) = server.execute(f"SELECT status FROM dbos.workflow_status WHERE workflow_uuid = '{run}.1'")
    return status


def test_a_worker_ends_although_its_database_says_nothing_any_more(node, slow_line, fleet_over, until):
    server = node().start()
    line = slow_line(server.port)
    fleet = fleet_over(server.url(by=line.place))
    fleet.steps("x", WAIT)
    worker = fleet.worker("--drain", "0")
    run = fleet.submit("./x.yaml")
    until(lambda: "b" in fleet.trace(), "the step")
    line.hush()
    worker.send(signal.SIGTERM)
    told = worker.wait()
    assert (told.status, "Traceback" in told.stderr) == (0, False), told.stderr
    assert "does not end in time" not in told.stderr, told.stderr  # it came to its end by itself
    assert not fleet.commands()
    line.speak()
    fleet.touch("go")
    fleet.worker()
    fleet.ended(run)
    assert fleet.trace() == ["b", "b"]


def test_a_worker_ends_although_nobody_reads_its_log(node, fleet_over, until, tmp_path):
    server = node().start()
    fleet = fleet_over(server.url())
    fleet.steps("x", WAIT)
    with nobody_reads(tmp_path / "log") as log:
        worker = fleet.worker("--drain", "600", "--log-file", str(log))
        run = fleet.submit("./x.yaml")
        until(lambda: fleet.status_of(run) == "running", "a worker that wants to say that it begins")
        worker.send(signal.SIGTERM)
        worker.send(signal.SIGINT)  # asked twice: the runs are not waited for
        assert worker.wait().status == 0
    fleet.touch("go")
    fleet.worker()
    fleet.ended(run)
    assert fleet.trace() == ["b"]


@contextlib.contextmanager
def nobody_reads(path):
    """A pipe that is full: who writes to it waits for ever."""
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, bytes(4096))
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, b"0")
        yield path
    finally:
        os.close(pipe)


def test_a_database_that_was_dropped_is_not_made_anew_by_a_worker_that_stops(node, fleet_over):
    server = node().start()
    server.execute("CREATE DATABASE doomed")
    worker = fleet_over(server.url("doomed")).worker()
    server.execute("DROP DATABASE doomed WITH (FORCE)")
    worker.send(signal.SIGTERM)
    assert worker.wait().status == 0
    assert server.execute("SELECT 1 FROM pg_database WHERE datname = 'doomed'") == []
