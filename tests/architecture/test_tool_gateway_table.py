"""The table of docs/tool-gateway.md: every line of the specification is shown by tests that exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "tool-gateway.md").read_text(encoding="utf-8")
CASES = json.loads((PROJECT / "tests/contracts/tool_gateway/cases.json").read_text(encoding="utf-8"))["cases"]
ROWS = re.findall(r"^\| ((?:§|Lifecycle|Acceptance)[^|]*) \| (.*) \|$", PAGE, re.MULTILINE)
# How many lines each part has at least; the acceptance criteria and the required tests are counted in the text.
PARTS = {"§1 ": 1, "§2 ": 4, "§3 ": 3, "§4 ": 4, "§5 ": 3, "§6 ": 2, "§8 ": 5, "Acceptance ": 6}


def names_in(file: str) -> set[str]:
    tree = ast.parse((PROJECT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("line", "shown_by"), ROWS, ids=[line for line, _ in ROWS])
def test_a_line_is_shown_by_tests_that_exist(line, shown_by):
    named = re.findall(r"`([^`]+)`", shown_by)
    assert named, line
    for one in named:
        file, _, name = one.partition("::")
        known = names_in(file) if name else {case["name"] for case in CASES}
        assert (name or one) in known, one


@pytest.mark.parametrize(("part", "least"), PARTS.items())
def test_no_part_of_the_specification_is_left_out(part, least):
    assert len([line for line, _ in ROWS if line.startswith(part)]) >= least


def test_the_six_acceptance_criteria_are_there_once_each():
    numbers = [line.partition(":")[0] for line, _ in ROWS if line.startswith("Acceptance")]
    assert numbers == [f"Acceptance {number}" for number in range(1, 7)]


def test_links_of_the_page_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (PROJECT / "docs" / target).exists(), target
