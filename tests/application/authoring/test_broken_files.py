"""Every file under tests/broken has one mistake, and says in its first line what must be reported and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from awf.bootstrap import App
from awf.domain.catalogue import CATALOGUE

BROKEN = Path(__file__).parents[2] / "broken"
FOLDERS = ("text", "structure", "semantics")
FILES = sorted(file for folder in FOLDERS for file in (BROKEN / folder).glob("*.yaml"))


def expectation(file: Path) -> tuple[str, str]:
    _, _, expected = file.read_bytes().splitlines()[0].decode().partition("# expect: ")
    code, _, place = expected.partition(" ")
    return code, place


def findings(file: Path, home: Path) -> list:
    app = App(cwd=str(file.parent), environment={"HOME": str(home)})
    return app.validator.problems(app.library.load(f"./{file.name}"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_broken_file_is_reported_with_its_code_and_its_place(file, tmp_path, monkeypatch):
    monkeypatch.chdir(file.parent)
    here = [problem for problem in findings(file, tmp_path) if problem.place.file == file.name]
    assert {(p.code, f"{p.place.line}:{p.place.column}") for p in here} == {expectation(file)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_what_is_reported_is_in_the_catalogue_and_says_something(file, tmp_path, monkeypatch):
    monkeypatch.chdir(file.parent)
    for problem in findings(file, tmp_path):
        assert problem.code in CATALOGUE
        assert len(problem.message) > 10
        assert problem.severity == "error"


def test_both_files_of_a_recursion_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(BROKEN / "semantics")
    found = findings(BROKEN / "semantics" / "recursion_between_two_files.yaml", tmp_path)
    assert {p.place.file for p in found} == {"recursion_between_two_files.yaml", "called/back.yaml"}
    assert {p.code for p in found} == {"WORKFLOW.VALIDATION.RECURSION"}


def test_every_code_a_file_can_cause_has_a_broken_file():
    """Codes of a workflow's author; what only a command line or a running step can cause is tested there."""
    caused = {expectation(file)[0] for file in FILES}
    asked = {
        "WORKFLOW.VALIDATION.UNKNOWN_OPERATION",
        "WORKFLOW.VALIDATION.PLUGIN_ISSUE",
    }  # only a plugin can tell
    assert {code for code in CATALOGUE if code.startswith("WORKFLOW.")} - asked <= caused


SIX = [
    ("WORKFLOW.PARSE.UNKNOWN_FIELD", 3, 1, "description"),
    ("WORKFLOW.VALIDATION.UNKNOWN_TYPE", 9, 11, "step"),
    ("WORKFLOW.VALIDATION.UNKNOWN_PROVIDER", 14, 15, "scripted"),
    ("WORKFLOW.VALIDATION.UNDEFINED_INPUT", 15, 24, "target"),
    ("WORKFLOW.VALIDATION.MISSING_STATE", 17, 17, "done"),
    ("WORKFLOW.PARSE.INVALID_VALUE", 20, 13, "success"),
]


def awf_validate(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "awf", "validate", "six_mistakes.yaml", *arguments]
    return subprocess.run(
        command, cwd=BROKEN, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_six_mistakes_are_all_reported_at_once_with_place_and_suggestion(tmp_path):
    told = awf_validate(home=tmp_path)
    assert told.returncode == 2
    assert told.stderr == ""
    for code, line, column, meant in SIX:
        assert f"six_mistakes.yaml:{line}:{column}: error {code}" in told.stdout
        assert f"did you mean '{meant}'?" in told.stdout
    assert told.stdout.splitlines()[-1] == "6 errors in 1 file."


def test_six_mistakes_as_json_are_the_same_list(tmp_path):
    told = awf_validate("-o", "json", home=tmp_path)
    document = json.loads(told.stdout)
    assert told.returncode == 2
    assert document["valid"] is False
    listed = [(p["code"], p["line"], p["column"], p["hint"]) for p in document["problems"]]
    assert listed == [(code, line, column, f"did you mean '{meant}'?") for code, line, column, meant in SIX]
    assert {p["file"] for p in document["problems"]} == {"six_mistakes.yaml"}
