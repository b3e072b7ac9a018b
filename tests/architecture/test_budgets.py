"""Small by budget: what grows past a limit wants to be two things."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from awf.domain.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
FILES = sorted(SRC.rglob("*.py"))
LONGEST_FILE = 500
LONGEST_FUNCTION = 60
CODE = re.compile(r'"((?:USER|WORKFLOW|EXECUTION|SYSTEM)\.[A-Z_]+\.[A-Z_]+)"')


def test_no_file_is_longer_than_the_budget():
    too_long = {
        str(file.relative_to(SRC)): count
        for file in FILES
        if (count := len(file.read_text().splitlines())) > LONGEST_FILE
    }
    assert too_long == {}


def test_no_function_is_longer_than_the_budget():
    too_long = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    too_long[f"{file.relative_to(SRC)}:{node.name}"] = length
    assert too_long == {}


def test_every_code_that_is_used_is_explained_and_every_explained_code_is_used():
    used: set[str] = set()
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        if file.parent.name != "catalogue":
            used.update(CODE.findall(text))
            used.update(
                f"WORKFLOW.VALIDATION.{name}" for name in re.findall(r'_problem\(\s*"([A-Z_]+)"', text)
            )
        if file.parent.name == "checks":
            used.update(
                f"WORKFLOW.VALIDATION.{name}"
                for name in re.findall(r'"([A-Z]+_(?:SYNTAX|INPUT|VARIABLE))"', text)
            )
    assert used - CATALOGUE.keys() == set(), "used but not explained"
    assert CATALOGUE.keys() - used == set(), "explained but never used"


def test_public_modules_say_what_is_public():
    missing = []
    for file in sorted((SRC / "awf" / "domain").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {
            n.name
            for n in tree.body
            if isinstance(n, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and not n.name.startswith("_")
        }
        declared = next(
            (
                ast.literal_eval(n.value)
                for n in tree.body
                if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"
            ),
            None,
        )
        if names and declared is None:
            missing.append(str(file.relative_to(SRC)))
        elif declared is not None:
            defined = {
                getattr(t, "id", "") for n in tree.body if isinstance(n, ast.Assign) for t in n.targets
            }
            defined |= {
                getattr(t, "id", "")
                for n in tree.body
                if isinstance(n, ast.Assign)
                for e in n.targets
                if isinstance(e, ast.Tuple)
                for t in e.elts
            }
            defined |= {getattr(n.target, "id", "") for n in tree.body if isinstance(n, ast.AnnAssign)}
            imported = {
                a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names
            }
            assert set(declared) <= names | defined | imported, file
    assert missing == []


def test_no_tracked_text_names_a_machine_path():
    pattern = re.compile(r"(^|[^a-zA-Z.])/(work|root|farm)/")
    for folder in ("src", "tests", "docs", "examples", "bench"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in {".py", ".md", ".yaml", ".yml", ".toml", ".json", ".txt"} and file != Path(
                __file__
            ):
                assert not pattern.search(file.read_text(encoding="utf-8", errors="replace")), file
