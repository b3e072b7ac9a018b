"""Kill the engine with SIGKILL at random points of random workflows, resume, and compare with the run nobody disturbed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from awf.bootstrap import App
from awf.domain.ports.run_store import RunFilter
from awf.domain.run import RunRecord

sys.path.insert(0, str(Path(__file__).parent))
from random_workflows import CHILD, make_workflow

CASES = int(os.environ.get("AWF_KILL_CASES", "200"))
SHARDS = 8
pytestmark = pytest.mark.journey


@pytest.fixture(scope="module")
def server():
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "kill_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()
        process.wait(30)


class Case:
    def __init__(self, server, folder: Path, seed: int, database: str = "") -> None:
        self.server = server
        self.folder = folder
        folder.mkdir()
        (folder / "workflow.yaml").write_text(make_workflow(seed), encoding="utf-8")
        (folder / "child.yaml").write_text(json.dumps(CHILD), encoding="utf-8")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "SHELL": "/bin/sh",
            "AWF_STORAGE": str(folder / "store"),
            "AWF_DATABASE_URL": database,
        }

    def ask(self, run_id: str | None, kill_at: int | None) -> dict | None:
        """One life of the engine: what it came to, or None when it was killed."""
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        request = {
            "cwd": str(self.folder),
            "file": str(self.folder / "workflow.yaml"),
            "environment": self.environment,
            "run_id": run_id,
            "kill_at": kill_at,
            "result": str(result),
        }
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        answer = json.loads(self.server.stdout.readline())
        assert answer["killed"] or answer["code"] == 0, answer
        return None if answer["killed"] else json.loads(result.read_text())

    def recorded(self) -> tuple[RunRecord | None, set[str]]:
        """The run, and the attempts whose results are safe."""
        app = App(cwd=str(self.folder), environment=self.environment)
        try:
            runs = [run for run in app.store.runs(RunFilter(limit=10_000)) if run.cwd == str(self.folder)]
            if not runs:
                return None, set()
            end = time.monotonic() + 60
            while app.store.is_alive(runs[0].id):  # a server sees a moment later that its client is dead
                assert time.monotonic() < end
                time.sleep(0.01)
            runs = [app.store.find(runs[0].id)]
            return runs[0], {row.path for row in app.store.steps(runs[0].id)}
        finally:
            app.database.close()

    def log(self) -> Counter:
        path = self.folder / "log"
        return Counter(path.read_text().split()) if path.exists() else Counter()


def attempt_of(line: str) -> str:
    path, _, attempt = line.rpartition("@")
    return path if attempt == "1" else line


@pytest.mark.timeout(900)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_killed_run_resumes_to_the_same_end_and_repeats_nothing_finished(server, tmp_path, shard):
    kill_and_resume(server, tmp_path, range(shard, CASES, SHARDS))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("shard", range(2))
def test_the_same_holds_on_postgresql(server, tmp_path, shard, database_url):
    kill_and_resume(server, tmp_path, range(shard, max(2, CASES // 5), 2), database_url)


def kill_and_resume(server, tmp_path, seeds, database=""):
    kills = 0
    for seed in seeds:
        chance = random.Random(seed * 7919)
        undisturbed = Case(server, tmp_path / f"{seed}-calm", seed, database).ask(None, None)
        case = Case(server, tmp_path / f"{seed}-killed", seed, database)
        result, run_id, finished = None, None, {}
        for life in range(5):
            kill_at = chance.randint(1, undisturbed["points"]) if life < 4 else None
            result = case.ask(run_id, kill_at)
            now = case.log()
            for attempt, count in finished.items():
                assert now[attempt] == count, f"seed {seed}: {attempt} had finished and ran again"
            if result is not None:
                break
            kills += 1
            record, recorded = case.recorded()
            run_id = record.id if record else None
            if (
                record and record.status == "completed"
            ):  # killed after the end was safe: nothing is left to do
                result = {**undisturbed, "outputs": record.outputs}
                break
            finished = {line: count for line, count in now.items() if attempt_of(line) in recorded}
        assert result is not None
        same = ("status", "outputs", "message", "error")
        assert {key: result[key] for key in same} == {key: undisturbed[key] for key in same}, f"seed {seed}"
    assert kills > 0
