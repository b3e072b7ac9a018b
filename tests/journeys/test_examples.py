"""Every example is valid, can be planned, and prints what its page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.journey

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir())
WITH_A_PERSON = {"conversation"}
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def awf(tmp_path):
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWF_STORAGE": str(tmp_path / "runs"), "NO_COLOR": "1",
        "TMPDIR": str(tmp_path),
    }  # fmt: skip

    def run(*arguments: str, cwd: Path = PROJECT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "awf", *arguments], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    run.environment = environment
    return run


def place_of(folder: Path) -> tuple[Path, str]:
    """Where to stand to run an example. Step templates are looked up in the folder one is in."""
    return (
        (folder, "./workflow.yaml")
        if (folder / ".awf").exists()
        else (PROJECT, f"examples/{folder.name}/workflow.yaml")
    )


def shown_commands(folder: Path) -> list[tuple[str, str]]:
    """The commands of a page, each with the output that the page shows below it."""
    blocks = _BLOCK.findall((folder / "README.md").read_text(encoding="utf-8"))
    found = []
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_is_valid(folder, awf):
    cwd, file = place_of(folder)
    told = awf("validate", file, cwd=cwd)
    assert (told.returncode, told.stdout) == (0, "1 workflow is valid.\n")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_can_be_planned_and_planning_leaves_nothing(folder, awf, tmp_path):
    cwd, file = place_of(folder)
    told = awf("plan", file, cwd=cwd)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "folder", [f for f in FOLDERS if f.name not in WITH_A_PERSON], ids=lambda folder: folder.name
)
def test_an_example_prints_what_its_page_shows(folder, awf):
    cwd, status, ran = PROJECT, 0, 0
    commands = shown_commands(folder)
    for number, (command, output) in enumerate(commands):
        words = shlex.split(command)
        if words[0] == "cd":
            cwd /= words[1]
        elif words[0] == "echo":
            assert output == f"{status}\n"
        else:
            assert words[0] == "awf"
            told = awf(*words[1:], "--no-input", cwd=cwd)
            status, ran = told.returncode, ran + 1
            assert told.stdout == output, told.stderr
            asks_for_status = commands[number + 1 : number + 2] and commands[number + 1][0] == "echo $?"
            assert asks_for_status or status == 0, told.stderr
    assert ran


def test_examples_leave_no_files_behind(awf, tmp_path):
    for name in ("review-loop", "while-retry"):
        assert awf("run", f"examples/{name}/workflow.yaml").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_an_example_that_finds_nothing_ends_with_its_own_status(awf):
    told = awf("run", "examples/for-each-files/workflow.yaml", "-i", "pattern=*.pdf")
    assert told.returncode == 4
    assert "No file fits *.pdf." in told.stderr


def test_without_a_person_the_approval_gate_stays_closed(awf):
    told = awf("run", "examples/approval-gate/workflow.yaml", "--no-input")
    assert told.returncode == 3
    assert "EXECUTION.INPUT.UNAVAILABLE" in told.stderr
    assert "released" not in told.stdout


def test_the_limits_example_stops_before_the_fourth_chapter(awf):
    told = awf("run", "examples/limits/workflow.yaml", "-o", "ndjson")
    events = [json.loads(line) for line in told.stdout.splitlines()]
    written = [event for event in events if event["type"] == "step.completed" and event["step"] == "write"]
    assert len(written) == 3
    assert events[-1]["code"] == "EXECUTION.LIMIT.EXCEEDED"


def test_the_secret_of_the_hooks_example_is_shown_nowhere(awf):
    told = awf("run", "examples/hooks-and-env/workflow.yaml", "-o", "ndjson")
    assert told.returncode == 0
    assert "not-a-real-token" not in told.stdout + told.stderr
    kinds = [json.loads(line)["type"] for line in told.stdout.splitlines()]
    assert kinds.count("log") == 3
    assert kinds.count("warning") == 1


def test_the_conversation_can_be_held_from_another_terminal(awf):
    command = [sys.executable, "-m", "awf", "run", "examples/conversation/workflow.yaml", "-o", "ndjson"]
    with subprocess.Popen(
        command, cwd=PROJECT, env=awf.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as running:
        answers = iter(["something calm, please", "/end"])
        message = ""
        for line in running.stdout:
            event = json.loads(line)
            if event["type"] == "input.required":
                assert awf("approve", event["run_id"], "talk", "--text", next(answers)).returncode == 0
            message = event.get("message", message)
    assert running.returncode == 0
    assert message.splitlines() == [
        'last words: Then I suggest "lantern".',
        "minutes: We looked for a name and settled on one.",
    ]


def test_every_example_is_listed_on_the_page_of_examples():
    listed = re.findall(
        r"^\| \[([\w-]+)\]\(\1/\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == [folder.name for folder in FOLDERS]
    assert len((EXAMPLES / "hello" / "workflow.yaml").read_text(encoding="utf-8").splitlines()) <= 15
