"""Every example can be drawn in every form."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from awf.interfaces.cli.app import run_cli

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/workflow.yaml"))


@pytest.mark.parametrize("direction", ["TB", "LR"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_is_drawn_in_every_form(example, direction, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(example.parent)
    assert run_cli(["diagram", "./workflow.yaml", "--direction", direction]) == 0
    assert capsys.readouterr().out.startswith(f"flowchart {direction}")
    assert run_cli(["diagram", "./workflow.yaml", "-f", "dot", "--direction", direction]) == 0
    assert capsys.readouterr().out.startswith("digraph")
    assert (
        run_cli(["diagram", "./workflow.yaml", "-O", str(tmp_path / "w.svg"), "--direction", direction]) == 0
    )
    root = ET.parse(tmp_path / "w.svg").getroot()
    assert root.tag.endswith("svg")
    assert float(root.attrib["width"].removesuffix("px")) > 0


def test_an_unknown_state_cannot_be_highlighted(monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES[0].parent)
    assert run_cli(["diagram", "./workflow.yaml", "--highlight", "nowhere"]) == 1
    assert "USER.RUN.UNKNOWN_STEP" in capsys.readouterr().err
