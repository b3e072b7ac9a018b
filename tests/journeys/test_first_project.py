"""From an empty folder to a first green run, with nothing but the program itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from awf.application.authoring.scaffold import PATTERN_NAMES

pytestmark = pytest.mark.journey


@pytest.fixture
def awf(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "AWF_STORAGE": str(tmp_path / "runs"), "NO_COLOR": "1",
    }  # fmt: skip

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "awf", *arguments], cwd=project, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run


def test_init_then_run_ends_with_success_and_an_answer(awf):
    assert awf("init").returncode == 0
    told = awf("run", "example")
    assert told.returncode == 0, told.stderr
    assert told.stdout == "Hello world, I count 1 here. That is a small folder.\n"


def test_the_first_workflow_takes_its_inputs_and_decides_by_them(awf):
    assert awf("init").returncode == 0
    told = awf("run", "example", "-i", "name=Ada", "-i", "large=1", "-o", "json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["message"] == "Hello Ada, I count 1 here. That is a large folder."


def test_the_first_project_validates_lists_and_plans(awf):
    assert awf("init").returncode == 0
    assert awf("validate").stdout == "1 workflow is valid.\n"
    assert awf("list").stdout.startswith("example ")
    assert awf("plan", "example").returncode == 0
    assert ".awf/config.yaml" not in awf("config", "show").stderr


ANSWERS = {
    "steps": "hello world",
    "agent": "Missing: a licence.",
    "parallel": "lint: no findings\nunit: 12 tests passed\npackage: package built",
    "loop": "Went through 3 items, then asked 3 times.",
    "approval": "deployed build 42 to staging",
}


@pytest.mark.parametrize("pattern", PATTERN_NAMES)
def test_every_pattern_validates_plans_and_runs(pattern, awf):
    name = f"team/{pattern}"
    assert awf("new", name, "--pattern", pattern).returncode == 0
    assert awf("validate").returncode == 0
    planned = awf("plan", name)
    assert planned.returncode == 0, planned.stderr
    if pattern == "conversation":
        told = awf("run", name, "--no-input")
        assert told.returncode == 3
        assert "EXECUTION.INPUT.UNAVAILABLE" in told.stderr
    else:
        told = awf("run", name, "--yes", "--no-input")
        assert told.returncode == 0, told.stderr
        assert told.stdout == ANSWERS[pattern] + "\n"
