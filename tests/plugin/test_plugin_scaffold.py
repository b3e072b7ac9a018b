"""What `awf plugin new` writes works at once: it starts, answers, and passes the test that comes with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from awf.application.authoring.plugin_scaffold import new_plugin as files_of
from awf.domain.errors import AwfError
from awf.domain.plugin_file import PluginManifest
from awf.infrastructure.yaml_files.config_file import read_record
from awf.interfaces.cli.commands.plugin_new import new_plugin

PROJECT = Path(__file__).parents[2]
KINDS = {"operation": "operations", "step_type": "step_types", "validator": "validators", "events": "events"}
LANGUAGES = ["python", "node"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*arguments: str):
    return CliRunner().invoke(new_plugin, list(arguments))


def write(folder: Path, language: str, kind: str, name: str = "sample-1") -> Path:
    for file in files_of(name, language, kind):
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.text, encoding="utf-8")
    return folder / ".awf" / "plugins" / name


def test_the_command_writes_a_folder_and_says_how_to_go_on(here):
    told = new("greeting")
    assert told.exit_code == 0, told.output
    written = sorted(path.name for path in (here / ".awf/plugins/greeting").iterdir())
    assert written == ["README.md", "plugin.py", "plugin.yaml", "test_plugin.py"]
    assert told.output.endswith("\nNext:\n  awf plugin check greeting\n")


def test_nothing_is_overwritten_without_force(here):
    new("greeting")
    program = here / ".awf/plugins/greeting/plugin.py"
    program.write_text("mine", encoding="utf-8")
    told = new("greeting", "--language", "node")
    assert isinstance(told.exception, AwfError)
    assert told.exception.code == "USER.FILE.EXISTS"
    assert program.read_text(encoding="utf-8") == "mine"
    assert new("greeting", "--force").exit_code == 0
    assert "greet" in program.read_text(encoding="utf-8")


def test_a_dry_run_shows_and_writes_nothing(here):
    told = new("greeting", "--dry-run")
    assert "--- .awf/plugins/greeting/plugin.yaml" in told.output
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["", "Greeting", "1st", "../up", "a b", "a/b", "x" * 64])
def test_a_name_that_cannot_be_one_is_refused(here, name):
    told = new("--", name)
    assert isinstance(told.exception, AwfError)
    assert told.exception.code == "USER.INPUT.USAGE"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_the_manifest_is_read_as_meant(tmp_path, language, kind):
    folder = write(tmp_path, language, kind)
    manifest = read_record(str(folder / "plugin.yaml"), PluginManifest)
    wanted = list(KINDS.values()) if kind == "all" else [KINDS[kind]]
    assert (manifest.name, list(manifest.capabilities)) == ("sample-1", wanted)
    assert (manifest.config is not None) == ("operations" in wanted)
    assert bool(manifest.events.subscribe) == ("events" in wanted)


def test_a_name_that_is_a_word_of_yaml_stays_a_name(tmp_path):
    folder = write(tmp_path, "python", "all", name="on")
    assert read_record(str(folder / "plugin.yaml"), PluginManifest).name == "on"


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_a_new_plugin_in_python_passes_its_own_test(tmp_path, kind):
    folder = write(tmp_path, "python", kind)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(folder)],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_a_new_plugin_in_node_passes_its_own_test(tmp_path, kind, node):
    folder = write(tmp_path, "node", kind)
    done = subprocess.run(
        [node, "--test", str(folder / "plugin.test.mjs")],
        cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_a_new_plugin_in_python_is_clean_to_linters(tmp_path, kind):
    folder = write(tmp_path, "python", kind)
    for command in (["check"], ["format", "--check", "--line-length", "120"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(folder)],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_new_plugin_with_everything_starts_and_answers(tmp_path, start, request, language):
    folder = write(tmp_path, language, "all")
    argv = (
        [sys.executable, "-m", "plugin"]
        if language == "python"
        else [request.getfixturevalue("node"), "main.mjs"]
    )
    started = await start(*argv, cwd=folder)
    assert await started.health() == 1
    assert sorted((await started.call("GetInfo")).capabilities) == sorted(KINDS.values())
    await started.call("Init", config={"greeting": b'"Hi"'})
    assert (await started.execute("greet", name="Ada", times=2)).output == "Hi, Ada!\nHi, Ada!"
    assert (await started.execute("greet", name="Ada", times=0)).error == "times has to be 1 or more, not 0."
    assert (await started.execute("greet")).error == "greet: name is missing"
    came = await started.call("ExecuteStep", step_type="join", config=b'{"texts": ["a", "b"]}')
    assert (came.output, came.exit_code) == ("a b", 0)
    assert (await started.call("ExecuteStep", step_type="join")).exit_code == 1
    issues = (
        await started.call("ValidateWorkflow", workflow_json=b'{"states": {"ask": {"type": "agent"}}}')
    ).issues
    assert [(issue.step, issue.severity) for issue in issues] == [("ask", 1)]
    events = (await started.call("HandleEvent", type="workflow.failed", payload=b"{}")).emitted_events
    assert [(event.type, json.loads(event.payload)) for event in events] == [
        ("sample-1.noticed", {"type": "workflow.failed"})
    ]
    await started.call("Shutdown")
    assert await started.ended() == 0
    assert list(started.folder.iterdir()) == []


def test_the_node_kit_of_a_new_plugin_is_that_of_the_example():
    (kit,) = [file for file in files_of("sample", "node", "all") if file.path.endswith("awf_plugin.mjs")]
    example = PROJECT / "examples/plugins/.awf/plugins/text-stats/awf_plugin.mjs"
    assert kit.text == example.read_text(encoding="utf-8")
