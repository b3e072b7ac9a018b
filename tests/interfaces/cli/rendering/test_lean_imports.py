from __future__ import annotations

import ast
from pathlib import Path

import awf.interfaces.cli.rendering

FOLDER = Path(awf.interfaces.cli.rendering.__file__).parent


def imported_at_once(module):
    """What importing the module imports: not what stands in functions or under TYPE_CHECKING."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_no_view_imports_a_heavy_library_before_it_is_used():
    for module in FOLDER.glob("*.py"):
        roots = {name.split(".")[0] for name in imported_at_once(module)}
        assert not roots & {"rich", "asyncio", "click", "jinja2"}, module.name


def test_rich_is_known_in_one_place_only():
    knowing = [
        path.name
        for path in sorted(FOLDER.glob("*.py"))
        if "        from rich" in path.read_text(encoding="utf-8")
    ]
    assert knowing == ["styled.py"]
