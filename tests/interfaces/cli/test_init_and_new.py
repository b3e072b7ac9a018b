"""`awf init` and `awf new` write all of their files or none, and overwrite nothing on their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from awf.interfaces.cli.app import run_cli

FIRST = {".awf/workflows/example.yaml", ".awf/config.yaml", ".awf/.gitignore", ".awf/workflow.schema.json"}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def everything_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_init_writes_a_project_and_says_what_to_do_next(project, capsys):
    assert run_cli(["init"]) == 0
    told = capsys.readouterr().out
    assert files_in(project).keys() == FIRST
    assert all(f"wrote {path}" in told for path in FIRST)
    assert "awf run example" in told


def test_files_get_the_rights_that_the_person_wants_for_new_files(project):
    before = os.umask(0o027)
    try:
        assert run_cli(["init"]) == 0
    finally:
        os.umask(before)
    assert (project / ".awf/config.yaml").stat().st_mode & 0o777 == 0o640


def test_init_overwrites_nothing(project, capsys):
    (project / ".awf").mkdir()
    (project / ".awf/config.yaml").write_text("inputs: {mine: 1}\n")
    assert run_cli(["init"]) == 1
    told = capsys.readouterr().err
    assert "USER.FILE.EXISTS" in told
    assert ".awf/config.yaml" in told
    assert everything_in(project) == {".awf", ".awf/config.yaml"}
    assert (project / ".awf/config.yaml").read_text() == "inputs: {mine: 1}\n"


def test_a_link_that_leads_nowhere_is_not_overwritten_either(project):
    (project / ".awf").mkdir()
    (project / ".awf/config.yaml").symlink_to(project / "elsewhere")
    assert run_cli(["init"]) == 1
    assert not (project / "elsewhere").exists()


def test_init_overwrites_with_force_and_then_leaves_nothing_else(project):
    (project / ".awf").mkdir()
    (project / ".awf/config.yaml").write_text("inputs: {mine: 1}\n")
    assert run_cli(["init", "--force"]) == 0
    assert files_in(project).keys() == FIRST
    assert "mine" not in (project / ".awf/config.yaml").read_text()


@pytest.mark.parametrize("arguments", [["init"], ["new", "team/review", "--pattern", "agent"]])
def test_a_dry_run_prints_and_writes_nothing(arguments, project, capsys):
    assert run_cli([*arguments, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "--- .awf/workflows/" in told
    assert "\nstates:\n" in told
    assert everything_in(project) == set()


def test_what_a_dry_run_prints_is_what_is_written(project, capsys):
    assert run_cli(["new", "review", "--pattern", "loop", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert run_cli(["new", "review", "--pattern", "loop"]) == 0
    assert (project / ".awf/workflows/review.yaml").read_text() in told


def test_a_dry_run_reports_what_would_be_overwritten(project, capsys):
    assert run_cli(["new", "review"]) == 0
    assert run_cli(["new", "review", "--dry-run"]) == 1
    assert "USER.FILE.EXISTS" in capsys.readouterr().err


def test_new_writes_into_folders_and_brings_the_schema_once(project):
    assert run_cli(["new", "team/review"]) == 0
    (project / ".awf/workflow.schema.json").write_text("{}")
    assert run_cli(["new", "team/other"]) == 0
    assert files_in(project).keys() == {
        ".awf/workflow.schema.json", ".awf/workflows/team/review.yaml", ".awf/workflows/team/other.yaml",
    }  # fmt: skip
    assert (project / ".awf/workflow.schema.json").read_text() == "{}"


@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_new_does_not_take_the_name_of_a_workflow_that_is_there(ending, project, capsys):
    (project / ".awf/workflows").mkdir(parents=True)
    there = project / f".awf/workflows/review.{ending}"
    there.write_text("mine")
    assert run_cli(["new", "review"]) == 1
    assert "USER.FILE.EXISTS" in capsys.readouterr().err
    assert files_in(project) == {f".awf/workflows/review.{ending}": b"mine"}


def test_a_file_where_a_folder_is_needed_gives_a_coded_error(project, capsys):
    (project / ".awf").write_text("not a folder")
    assert run_cli(["init"]) == 4
    told = capsys.readouterr().err
    assert "SYSTEM.IO.WRITE_FAILED" in told
    assert "Traceback" not in told
    assert files_in(project) == {".awf": b"not a folder"}


def test_nothing_is_left_when_the_last_file_cannot_be_put_in_its_place(project, capsys):
    """The schema comes last; a folder in its place is found only when everything else has been written."""
    (project / ".awf/workflow.schema.json").mkdir(parents=True)
    (project / ".awf/config.yaml").write_text("inputs: {mine: 1}\n")
    before = everything_in(project)
    assert run_cli(["init", "--force"]) == 4
    assert "SYSTEM.IO.WRITE_FAILED" in capsys.readouterr().err
    assert everything_in(project) == before
    assert (project / ".awf/config.yaml").read_text() == "inputs: {mine: 1}\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_gives_a_coded_error_and_is_left_as_it_was(project, capsys):
    project.chmod(0o555)
    try:
        assert run_cli(["init"]) == 4
    finally:
        project.chmod(0o755)
    assert "SYSTEM.IO.WRITE_FAILED" in capsys.readouterr().err
    assert everything_in(project) == set()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file system that takes no files")
def test_a_file_system_that_takes_no_files_gives_a_coded_error(monkeypatch, capsys):
    monkeypatch.chdir("/proc/self")
    assert run_cli(["new", "review"]) == 4
    told = capsys.readouterr().err
    assert "SYSTEM.IO.WRITE_FAILED" in told
    assert "Nothing was changed" in told


def test_a_bad_name_is_a_mistake_in_the_command_line(project, capsys):
    assert run_cli(["new", "../outside"]) == 1
    assert "USER.INPUT.USAGE" in capsys.readouterr().err
    assert everything_in(project) == set()
