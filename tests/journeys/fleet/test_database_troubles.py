"""Databases that die and are followed by a standby, that are full, slow, or silent: runs wait, and nothing is lost."""

from __future__ import annotations

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

    def make(folder=None):
        try:
            made.append(PostgresNode(folder))
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
