"""Every requirement in the ledger is shown by tests that exist."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("requirements_ledger", PROJECT / "tests" / "requirements.py")
ledger = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ledger)


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name for node in functions if node.name.startswith("test_")}


@pytest.mark.parametrize("requirement", ledger.LEDGER)
def test_a_requirement_is_shown_by_tests_that_exist(requirement):
    behaviour, shown_by = ledger.LEDGER[requirement]
    assert behaviour.endswith(".")
    assert shown_by
    for node in shown_by:
        file, _, name = node.partition("::")
        assert name in names_in(PROJECT / file), node
