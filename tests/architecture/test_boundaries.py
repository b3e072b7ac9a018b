"""Imports point inward, and the engines stand alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"


def imported_roots(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where things come from"
            found.add(node.module or "")
    return found


def modules(package: str) -> list[Path]:
    found = sorted((SRC / package).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("engine", ["mcpserver", "acpserver"])
def test_an_engine_imports_the_standard_library_and_itself_only(engine):
    for file in modules(engine):
        for name in imported_roots(file):
            root = name.split(".", 1)[0]
            assert root in sys.stdlib_module_names or root == engine, f"{file} imports {name}"


@pytest.mark.parametrize("engine", ["mcpserver", "acpserver"])
def test_an_engine_can_be_imported_in_an_empty_environment(engine):
    code = f"import sys; sys.path.insert(0, {str(SRC)!r}); import {engine}; print('ok')"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout == "ok\n", done.stderr


@pytest.mark.parametrize("layer", ["domain", "application"])
def test_the_inner_layers_know_the_standard_library_and_msgspec_only(layer):
    for file in modules(f"awf/{layer}"):
        for name in imported_roots(file):
            root = name.split(".", 1)[0]
            assert root in sys.stdlib_module_names or root in {"msgspec", "awf"}, f"{file} imports {name}"


def test_the_domain_touches_nothing_outside():
    forbidden = {
        "asyncio",
        "os",
        "pathlib",
        "random",
        "socket",
        "subprocess",
        "tempfile",
        "threading",
        "time",
    }
    for file in modules("awf/domain"):
        assert not forbidden & {name.split(".", 1)[0] for name in imported_roots(file)}, file


def test_only_bootstrap_and_the_terminal_read_the_process_environment():
    allowed = {"interfaces", "bootstrap", "testing"}
    for file in modules("awf"):
        own = file.parent.name == "processes"  # what its helper process inherits
        own = own or file.name == "entrance.py"  # a program by itself, started with next to nothing
        if not own and file.relative_to(SRC / "awf").parts[0] not in allowed:
            assert "os.environ" not in file.read_text(encoding="utf-8"), f"{file} reads os.environ"
