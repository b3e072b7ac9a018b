"""Every requirement in the ledgers is shown by tests that exist; and what claims to show one, or is there for one, is listed."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TESTS = PROJECT / "tests"


def ledger(name: str) -> dict[str, tuple[str, list[str]]]:
    spec = importlib.util.spec_from_file_location(f"ledger_{name}", TESTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LEDGER


LEDGER = {**ledger("requirements"), **ledger("requirements_of_editors")}
# F102: numbers of the lines, and how many scenarios each story has.
LINES = {"FR": 16, "NFR": 6, "SC": 6}
SCENARIOS = {"US1": 3, "US2": 3, "US3": 2, "US4": 2}
EDGE_CASES = 7
# Tests that are there for F102 alone.
SUITES = ["acpserver", "application/editor", "interfaces/acp", "journeys/acp"]
NAMED = re.compile(r"\b(?:(?:AC|FR|NFR|SC|EDGE)-\d+|US\d\.\d)\b")


@functools.cache
def named_in(file: Path) -> dict[str, str]:
    """The tests of a file, with what they say of themselves."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_docstring(node) or "" for node in functions if node.name.startswith("test_")}


def test_the_ledger_has_every_line_of_the_specification_of_editors():
    numbered = {f"F102 {kind}-{n:03}" for kind, last in LINES.items() for n in range(1, last + 1)}
    scenarios = {f"F102 {story}.{n}" for story, last in SCENARIOS.items() for n in range(1, last + 1)}
    edges = {f"F102 EDGE-{n}" for n in range(1, EDGE_CASES + 1)}
    written = {key for key in LEDGER if key.startswith("F102 ") and NAMED.search(key)}
    assert written == numbered | scenarios | edges


@pytest.mark.parametrize("requirement", LEDGER)
def test_a_requirement_is_shown_by_tests_that_exist(requirement):
    behaviour, shown_by = LEDGER[requirement]
    assert behaviour.endswith(".")
    assert shown_by
    assert len(set(shown_by)) == len(shown_by)
    for node in shown_by:
        file, _, name = node.partition("::")
        assert name in named_in(PROJECT / file), node


def test_a_test_that_names_a_requirement_is_among_those_that_show_it():
    unlisted = [
        (node, key)
        for file in sorted(TESTS.rglob("test_*.py"))
        for name, told in named_in(file).items()
        for key in map(key_of, NAMED.findall(told))
        if (node := f"{file.relative_to(PROJECT).as_posix()}::{name}") not in LEDGER[key][1]
    ]
    assert unlisted == []


def key_of(name: str) -> str:
    """The acceptance criteria are those of F099; the other numbers are of F102."""
    return f"F099 {name}" if name.startswith("AC-") else f"F102 {name}"


def test_every_suite_for_editors_is_there_for_some_requirement():
    listed = {node.partition("::")[0] for _, shown_by in LEDGER.values() for node in shown_by}
    suites = {
        file.relative_to(PROJECT).as_posix()
        for folder in SUITES
        for file in (TESTS / folder).rglob("test_*.py")
    }
    assert suites - listed == set()
