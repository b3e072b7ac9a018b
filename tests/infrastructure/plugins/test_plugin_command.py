"""`awf plugin list` and `awf plugin check`, with real plugins."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from awf.interfaces.cli.app import run_cli
from awf.testing.descendants import processes_below

SAMPLE = str(Path(__file__).with_name("sample_plugin.py"))


@pytest.fixture
def declare(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("AWF_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)

    def write(**plugins):
        for name, entry in plugins.items():
            entry.setdefault("command", [sys.executable, SAMPLE])
            entry["env"] = {"NAME": name, **entry.get("env", {})}
        (tmp_path / ".awf").mkdir(exist_ok=True)
        (tmp_path / ".awf" / "plugins.yaml").write_text(json.dumps({"plugins": plugins}), encoding="utf-8")

    return write


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = {child.pid for child in processes_below()}
    yield
    assert {child.pid for child in processes_below()} <= before


@pytest.mark.parametrize("words", [["list"], ["check"]])
def test_without_plugins_the_way_to_a_first_one_is_shown(declare, capsys, words):
    assert run_cli(["plugin", *words]) == 0
    assert "awf plugin new" in capsys.readouterr().out


def test_a_listing_starts_nothing_and_shows_what_is_declared(declare, capsys):
    declare(good={"capabilities": ["operations", "events"]}, other={"command": ["no-such-program"]})
    assert run_cli(["plugin", "list"]) == 0
    good, other = capsys.readouterr().out.splitlines()
    assert good.split() == ["good", "-", "operations,", "events", ".awf/plugins.yaml"]
    assert other.split() == ["other", "-", "-", ".awf/plugins.yaml"]
    assert run_cli(["plugin", "list", "-o", "json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["good", "other"]


def test_a_check_shows_what_a_plugin_offers_and_what_is_wrong(declare, capsys):
    declare(sample={}, broken={"env": {"MODE": "die"}})
    assert run_cli(["plugin", "check"]) == 3
    out = capsys.readouterr().out
    assert "exit status 7" in out
    assert "no database" in out
    assert "sample 1.2.3  ready in " in out
    assert "REFUSED: the input 'when' has the unknown type 'date'" in out
    assert "deploy  deploys" in out
    assert "validators, events" in out


def test_a_plugin_without_trouble_passes_the_check(declare, capsys):
    declare(sample={"env": {"SERVICES": "PluginService,StepTypeService", "CAPABILITIES": "step_types"}})
    assert run_cli(["plugin", "check", "sample", "-o", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["ok"]
    assert row["step_types"] == {"deploy": "deploys"}
    assert row["milliseconds"] > 0
    assert row["origin"] == ".awf/plugins.yaml"


def test_an_unknown_name_is_told_before_anything_is_started(declare, capsys):
    declare(sample={})
    assert run_cli(["plugin", "check", "simple"]) == 1
    assert "did you mean 'sample'?" in capsys.readouterr().err


def test_a_broken_declaration_is_told_with_its_place(declare, capsys, tmp_path):
    declare()
    (tmp_path / ".awf" / "plugins.yaml").write_text("plugins:\n  a:\n    comand: [x]\n", encoding="utf-8")
    assert run_cli(["plugin", "list"]) == 1
    assert ".awf/plugins.yaml:3:5" in capsys.readouterr().err
