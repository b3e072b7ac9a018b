"""Random workflows at workers that are killed come to the same end as where nobody disturbed them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
from pathlib import Path

import pytest

from awf.bootstrap import App
from awf.bootstrap.workers import hand_over, open_queue
from awf.domain.ports.run_store import RunFilter
from awf.domain.run_queue import QueueName

CASES = int(os.environ.get("AWF_FLEET_CASES", "24"))
pytestmark = pytest.mark.journey

_spec = importlib.util.spec_from_file_location(
    "random_workflows", Path(__file__).parents[1] / "killing" / "random_workflows.py"
)
random_workflows = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(random_workflows)


def folder_for(root: Path, seed: int) -> Path:
    folder = root / str(seed)
    folder.mkdir(parents=True)
    (folder / "workflow.yaml").write_text(random_workflows.make_workflow(seed), encoding="utf-8")
    (folder / "child.yaml").write_text(json.dumps(random_workflows.CHILD), encoding="utf-8")
    return folder


async def prepared(app):
    services = app.run_services(app.nobody(), approve_all=True)
    program = await app.execution.program(str(Path(app.cwd) / "workflow.yaml"))
    return await app.execution.start(program, app.execution.inputs(program.main, {}, services), services)


async def undisturbed(folder, environment):
    app = App(cwd=str(folder), environment=environment)
    try:
        outcome = await (await prepared(app)).execute(lambda _stamped: None)
        return outcome.status, outcome.outputs, outcome.error.code if outcome.error else ""
    finally:
        await app.close()


async def submit(folder, environment, queue):
    app = App(cwd=str(folder), environment=environment)
    try:
        return await hand_over(await prepared(app), queue, QueueName("default"), {"yes": True})
    finally:
        await app.close()


@pytest.mark.timeout(900)
def test_random_workflows_survive_the_death_of_their_workers(journey, database_url, until, tmp_path):
    alone = dict(journey.environment)
    journey.environment["AWF_DATABASE_URL"] = database_url
    expected = {
        seed: asyncio.run(undisturbed(folder_for(tmp_path / "calm", seed), alone)) for seed in range(CASES)
    }
    opening = App(cwd=str(tmp_path), environment=journey.environment)
    queue = open_queue(opening)
    runs = {
        seed: asyncio.run(submit(folder_for(tmp_path / "fleet", seed), journey.environment, queue))
        for seed in range(CASES)
    }
    queue.close()
    workers = [journey.start("worker", "--concurrency", "3") for _ in range(2)]

    def ended():
        return len(
            [
                run
                for run in opening.store.runs(RunFilter(limit=1000))
                if run.status in {"completed", "failed"}
            ]
        )

    for part in range(1, 4):
        until(lambda part=part: ended() >= CASES * part // 5, f"{part} fifths of the runs")
        workers.pop(0).send(signal.SIGKILL)
        workers.append(journey.start("worker", "--concurrency", "3"))
    until(lambda: ended() == CASES, "all runs")
    for seed, run_id in runs.items():
        run = opening.store.find(run_id)
        found = (run.status, run.outputs, run.error.code if run.error else "")
        assert found == expected[seed], f"seed {seed}"
        sequence = [event.seq for event in opening.store.events(run_id, limit=100_000)]
        assert sequence == list(range(1, len(sequence) + 1)), f"seed {seed}"
    opening.database.close()
    for worker in workers:
        worker.send(signal.SIGTERM)
    for worker in workers:
        assert worker.wait().status == 0
