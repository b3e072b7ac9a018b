from __future__ import annotations

import signal

import pytest


@pytest.fixture
def fleet_over(journey, until):
    """A function that makes a journey whose store is the database of an address, which workers share."""

    def worker(*arguments):
        running = journey.start("worker", *arguments)
        until(lambda: "takes runs" in running.err.read_text() or not running.alive, "a worker")
        assert running.alive, running.err.read_text()
        return running

    def status(run_id):
        return journey.run_record(run_id)["status"]

    def ended(run_id, how="completed"):
        until(lambda: status(run_id) == how, f"{run_id} {how}")

    def submit(*arguments):
        return journey.awf("run", "--submit", *arguments).succeeded().stdout.strip()

    def over(url):
        journey.environment["AWF_DATABASE_URL"] = url
        journey.worker, journey.status_of, journey.ended, journey.submit = worker, status, ended, submit
        return journey

    yield over
    for running in journey._started:
        if running.alive:
            running.send(signal.SIGTERM)
    for running in journey._started:
        running.wait()


@pytest.fixture
def fleet(database_url, fleet_over):  # in this order: workers end before their database does
    return fleet_over(database_url)
