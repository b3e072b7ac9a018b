"""`awf doctor`: what it prints, and that it changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from awf.interfaces.cli.app import run_cli

KEY = "sk-never-to-be-seen"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home, a project and a short PATH; nothing of the caller's own."""
    for name in ("home", "project", "bin"):
        (tmp_path / name).mkdir()
    for name in list(os.environ):
        if name.startswith(("AWF_", "XDG_", "OTEL_", "ANTHROPIC_", "CLAUDE", "GEMINI_", "GOOGLE_", "CODEX_", "COPILOT_")) or name in {
            "OPENAI_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "GH_CONFIG_DIR", "OPENROUTER_API_KEY", "NO_COLOR"
        }:  # fmt: skip
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def program(place, name, version, code=0):
    path = place / "bin" / name
    path.write_text(
        f"#!/bin/sh\necho asked >> {place}/asked-{name}\necho '{version}'\nexit {code}\n", encoding="utf-8"
    )
    path.chmod(0o755)
    return path


def doctor(capsys, *arguments):
    status = run_cli(["doctor", "-o", "json", *arguments])
    told = json.loads(capsys.readouterr().out)
    return status, {finding["name"]: finding for finding in told["findings"]}


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_plain_machine_is_fine_and_stays_as_it_is(place, capsys):
    before = files(place)

    status, found = doctor(capsys)

    assert status == 0
    assert not [one for one in found.values() if one["severity"] in {"warning", "problem"}]
    assert found["claude"]["text"] == "not installed"
    assert found["claude"]["fix"] == "npm install -g @anthropic-ai/claude-code"
    assert found["openai_compatible"]["severity"] == "ok"
    assert found["runs"]["text"].endswith("made by the first run")
    assert files(place) == before


def test_every_agent_is_listed(place, capsys):
    _, found = doctor(capsys)

    assert {"claude", "gemini", "codex", "opencode", "github_copilot", "openai_compatible"} <= found.keys()


def test_an_agent_of_a_proven_version_is_good_once_somebody_is_signed_in(place, capsys, monkeypatch):
    program(place, "claude", "2.1.325 (Claude Code)")
    _, before = doctor(capsys)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    _, found = doctor(capsys)

    assert (before["claude"]["severity"], "no key or login seen" in before["claude"]["text"]) == (
        "note",
        True,
    )
    assert found["claude"]["severity"] == "ok"
    assert found["claude"]["text"] == "2.1.325, signed in by ANTHROPIC_API_KEY; isolation is guaranteed"
    assert KEY not in json.dumps(found)


def test_a_login_is_told_by_its_file_which_is_not_opened(place, capsys):
    program(place, "codex", "codex-cli 0.166.0")
    login = place / "home" / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text(KEY, encoding="utf-8")
    login.chmod(0)

    _, found = doctor(capsys)

    assert "signed in by ~/.codex/auth.json" in found["codex"]["text"]


@pytest.mark.parametrize("version", ["2.9.0 (Claude Code)", "2.0.1", "no number"])
def test_a_version_that_nothing_is_proven_for_is_a_warning(place, capsys, version):
    program(place, "claude", version)

    status, found = doctor(capsys)

    assert status == 0
    assert found["claude"]["severity"] == "warning"
    assert "best_effort" in found["claude"]["text"]
    assert "2.1.325" in found["claude"]["fix"]


def test_versions_are_asked_for_once(place, capsys):
    for name, version in (("claude", "2.1.325"), ("opencode", "1.18.33")):
        program(place, name, version)

    doctor(capsys)
    doctor(capsys)

    assert (place / "asked-claude").read_text(encoding="utf-8") == "asked\n"
    assert (place / "asked-opencode").read_text(encoding="utf-8") == "asked\n"


def test_a_program_that_may_not_be_executed_is_told(place, capsys):
    program(place, "claude", "2.1.325").chmod(0o644)

    _, found = doctor(capsys)

    assert found["claude"]["severity"] == "warning"
    assert "chmod +x" in found["claude"]["fix"]


def test_a_broken_configuration_is_a_problem_with_its_place(place, capsys):
    config = place / "project" / ".awf" / "config.yaml"
    config.parent.mkdir()
    config.write_text("log:\n  levle: info\n", encoding="utf-8")

    status, found = doctor(capsys)

    assert status == 4
    assert found["configuration"]["severity"] == "problem"
    assert "config.yaml:2" in found["configuration"]["text"]
    assert "level" in found["configuration"]["fix"]
    assert found["claude"]["text"] == "not installed"  # the rest is looked at all the same


def test_variables_that_nobody_reads_are_warned_of(place, capsys, monkeypatch):
    monkeypatch.setenv("AWF_STORGE", "x")
    monkeypatch.setenv("AWF_RUN_ID", "inherited")

    _, found = doctor(capsys)

    assert found["AWF_STORGE"]["fix"] == "Did you mean AWF_STORAGE?"
    assert "AWF_RUN_ID" not in found


def test_a_store_that_cannot_be_opened_is_a_problem(place, capsys):
    (place / "store").mkdir()
    (place / "store" / "awf.db").write_text("this is no database" * 100, encoding="utf-8")

    status, found = doctor(capsys)

    assert status == 4
    assert found["runs"]["severity"] == "problem"
    assert "--storage" in found["runs"]["fix"]


def test_a_store_that_cannot_be_made_is_a_problem(place, capsys):
    (place / "store").write_text("a file is in the way", encoding="utf-8")

    status, found = doctor(capsys)

    assert (status, found["runs"]["severity"]) == (4, "problem")


def test_a_store_in_use_is_shown_with_its_size_and_layout(place, capsys):
    (place / "project" / "w.yaml").write_text(
        "name: w\nstates:\n  initial: a\n  a: {type: step, command: 'true', on_success: b}\n  b: {type: terminal}\n",
        encoding="utf-8",
    )
    subprocess.run([sys.executable, "-m", "awf", "run", "./w.yaml"], check=True, capture_output=True)

    _, found = doctor(capsys)

    assert "kB, layout " in found["runs"]["text"]


def test_plugins_are_listed_and_started_only_when_asked(place, capsys):
    folder = place / "project" / ".awf"
    folder.mkdir()
    (folder / "plugins.yaml").write_text("plugins:\n  weather: {command: [./nowhere]}\n", encoding="utf-8")

    status, found = doctor(capsys)
    deep_status, deep = doctor(capsys, "--deep")

    assert (status, found["plugin weather"]["severity"]) == (0, "ok")
    assert (deep_status, deep["plugin weather"]["severity"]) == (4, "problem")


def test_a_broken_declaration_of_plugins_is_a_problem(place, capsys):
    folder = place / "project" / ".awf"
    folder.mkdir()
    (folder / "plugins.yaml").write_text("plugins: [weather]\n", encoding="utf-8")

    status, found = doctor(capsys)

    assert status == 4
    assert "plugins.yaml" in found["plugins"]["text"]


def test_the_text_is_grouped_and_ends_with_a_summary(place, capsys):
    status = run_cli(["doctor"])
    text = capsys.readouterr().out

    assert status == 0
    heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert heads[:-1] == ["AWF", "Agents", "Tools and plugins", "Settings", "Run store", "This machine"]
    assert heads[-1].endswith("notes.")
    assert "→ npm install -g @google/gemini-cli" in text
