"""The example plugins, one in Python and one in Node.js without any library, through AWF's own host and its commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from awf.bootstrap import App
from awf.domain.errors import AwfError
from awf.domain.events import Stamped, StepFailed, WorkflowFailed
from awf.testing.descendants import processes_below
from awf.testing.peers import node_executable, requested

pytestmark = pytest.mark.journey

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugins"


@pytest.fixture
def node_on_path() -> str:
    """A PATH on which there is a Node."""
    node = requested(lambda: node_executable((18,)))
    return f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def project(tmp_path):
    """A copy of the example, so that a test can change it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
async def hosts(tmp_path, monkeypatch):
    """A function that gives the plugins of a project; what it started is gone in the end."""
    apps = []

    def open_(project: Path, path: str = os.environ["PATH"]):
        environment = {"PATH": path, "HOME": str(tmp_path), "AWF_STORAGE": str(tmp_path / "runs")}
        apps.append(App(cwd=str(project), environment=environment))
        monkeypatch.setenv("PATH", path)
        return apps[-1].plugins

    before = set(processes_below())
    yield open_
    for app in apps:
        await app.close()
    left = [one for one in processes_below() if one not in before and is_plugin(one)]
    assert left == []


def is_plugin(process: psutil.Process) -> bool:
    try:
        return "plugin" in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


async def test_the_host_finds_both_and_hears_what_they_offer(project, hosts, node_on_path):
    plugins = hosts(project, node_on_path)
    assert sorted(plugins.declared()) == ["semver", "text-stats"]
    facts = await plugins.facts(["semver", "text-stats"])
    assert {name: said.trouble for name, said in facts.items()} == {"semver": "", "text-stats": ""}
    assert sorted(facts["semver"].operations) == ["bump", "compare", "next_version", "sort"]
    assert list(facts["semver"].step_types) == ["notes"]
    assert sorted(facts["text-stats"].operations) == ["count", "similarity", "top_words"]
    assert [one.refusal for said in facts.values() for one in said.operations.values()] == [""] * 7
    bump = facts["semver"].operations["bump"].input_schema["properties"]
    assert bump["part"] == {
        "type": "string", "enum": ["major", "minor", "patch", "prerelease"], "default": "patch",
    }  # fmt: skip
    top = facts["text-stats"].operations["top_words"].input_schema["properties"]
    assert top["order"]["enum"] == ["often", "seldom"]
    assert top["limit"]["default"] == 5


@pytest.mark.parametrize(
    ("operation", "inputs", "output"),
    [
        ("bump", {"version": "v1.2.3"}, "1.2.4"),
        ("bump", {"version": "1.2.3", "part": "major"}, "2.0.0"),
        ("bump", {"version": "1.2.3", "part": "prerelease", "label": "beta"}, "1.2.4-beta.1"),
        ("bump", {"version": "1.2.4-beta.1", "part": "prerelease"}, "1.2.4-beta.2"),
        ("bump", {"version": "1.2.4-beta.1"}, "1.2.4"),
        ("next_version", {"version": "1.2.3", "changes": ["feat!: all new"]}, "2.0.0"),
        ("next_version", {"version": "1.2.3", "changes": ["docs: x", "fix: y"]}, "1.2.4"),
    ],
)
async def test_semver_raises_versions(project, hosts, operation, inputs, output):
    came = await hosts(project).execute("semver", operation, inputs)
    assert (came.success, came.output) == (True, output), came.error


async def test_semver_orders_versions_as_the_rules_say(project, hosts):
    ordered = [
        "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
        "1.0.0-rc.1", "1.0.0", "1.9.0", "1.10.0",
    ]  # fmt: skip
    came = await hosts(project).execute("semver", "sort", {"versions": ordered[::-1]})
    assert came.data == {"result": ordered}


@pytest.mark.parametrize("version", ["1.2", "1.02.3", "1.2.3-01", "one", ""])
async def test_semver_says_what_is_no_version(project, hosts, version):
    came = await hosts(project).execute("semver", "bump", {"version": version})
    assert not came.success
    assert came.error.startswith(f"'{version}' is not a semantic version")


async def test_text_stats_counts_and_ranks(project, hosts, node_on_path):
    plugins = hosts(project, node_on_path)
    text = "Größe zählt.\nthe size, the SIZE 😀\n"
    assert (await plugins.execute("text-stats", "count", {"text": text})).data == {
        "lines": 2, "words": 6, "characters": len(text),
    }  # fmt: skip
    came = await plugins.execute("text-stats", "top_words", {"text": text, "limit": 1})
    assert came.data == {"words": [{"word": "size", "count": 2}]}
    came = await plugins.execute("text-stats", "similarity", {"text": "a b", "other": "b c"})
    assert came.data == {"similarity": pytest.approx(1 / 3)}
    came = await plugins.execute("text-stats", "similarity", {"text": "", "other": ""})
    assert (came.success, came.error) == (False, "Neither text has a word in it.")


async def test_a_setting_of_the_project_reaches_the_plugin_in_node(project, hosts, node_on_path):
    (project / ".awf/plugins.yaml").write_text(
        "plugins: {text-stats: {config: {stop_words: [size]}}}", encoding="utf-8"
    )
    came = await hosts(project, node_on_path).execute("text-stats", "top_words", {"text": "size the the"})
    assert came.data == {"words": [{"word": "the", "count": 2}]}


async def test_a_wrong_operation_of_either_is_told_by_name(project, hosts, node_on_path):
    plugins = hosts(project, node_on_path)
    for plugin in ("semver", "text-stats"):
        with pytest.raises(AwfError, match="no operation 'cout'"):
            await plugins.execute(plugin, "cout", {})


async def test_the_validator_of_semver_warns_of_agents_without_a_timeout(project, hosts):
    workflow = {"states": {"ask": {"type": "agent"}, "calm": {"type": "agent", "timeout": 60}}}
    facts = await hosts(project).facts(["semver"], {"w.yaml": json.dumps(workflow).encode()})
    (issue,) = facts["semver"].issues["w.yaml"]
    assert (issue.severity, issue.step, issue.field) == ("warning", "ask", "timeout")


async def test_semver_hears_a_run_and_adds_it_up(project, hosts):
    (project / ".awf/plugins.yaml").write_text(
        "plugins: {semver: {config: {summary: runs.txt}}}", encoding="utf-8"
    )
    plugins, told = hosts(project), []
    listener = plugins.subscribe(lambda plugin, kind, payload: told.append((plugin, kind, payload)))
    failed = StepFailed(
        step="build", kind="step", duration_ms=1, code="EXECUTION.COMMAND.FAILED", message="x"
    )
    ended = WorkflowFailed(workflow="release", duration_ms=5, code=failed.code, message="x")
    for number, event in enumerate([failed, failed, ended], 1):
        listener(Stamped("run-1", number, 0.0, event))
    await listener.settle()
    payload = {"workflow": "release", "came_to": "failed", "failed_steps": 2, "duration_ms": 5}
    assert told == [("semver", "semver.summary", payload)]
    assert (project / "runs.txt").read_text(encoding="utf-8") == "release failed, 2 failed steps\n"


# -- through the command -------------------------------------------------------------------------------------------


def awf(project: Path, tmp_path: Path, *arguments: str, path: str = os.environ["PATH"]):
    environment = {
        "PATH": path,
        "HOME": str(tmp_path),
        "AWF_STORAGE": str(tmp_path / "runs"),
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "awf", *arguments], cwd=project, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_workflow_in_node_prints_what_its_page_promises(project, tmp_path, node_on_path):
    told = awf(project, tmp_path, "run", "./words.yaml", "--no-input", path=node_on_path)
    assert (told.returncode, told.stdout) == (0, "row 3\nboat 1\n"), told.stderr


def test_a_run_shows_the_event_of_the_plugin(project, tmp_path):
    told = awf(project, tmp_path, "run", "./workflow.yaml", "--no-input", "-o", "ndjson")
    assert told.returncode == 0, told.stderr
    events = [json.loads(line) for line in told.stdout.splitlines()]
    (sent,) = [event for event in events if event["type"] == "plugin.event"]
    assert (sent["plugin"], sent["name"]) == ("semver", "semver.summary")


def test_a_failing_operation_fails_its_step_in_its_own_words(project, tmp_path):
    told = awf(project, tmp_path, "run", "./workflow.yaml", "--no-input", "-i", "version=one")
    assert told.returncode == 3
    assert "'one' is not a semantic version" in told.stderr


def test_the_own_tests_of_the_python_plugin_pass(project, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".awf/plugins/semver"],
        cwd=project, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_new_plugin_passes_the_check_at_once(tmp_path, language, request):
    path = request.getfixturevalue("node_on_path") if language == "node" else os.environ["PATH"]
    project = tmp_path / "empty"
    project.mkdir()
    told = awf(project, tmp_path, "plugin", "new", "fresh", "--language", language, "--kind", "all")
    assert told.returncode == 0, told.stderr
    told = awf(project, tmp_path, "plugin", "check", "fresh", path=path)
    assert told.returncode == 0, told.stderr
    assert "greet" in told.stdout
