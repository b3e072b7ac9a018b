"""Grep and Glob of the built-in tools on a tree of 20 000 files, beside `rg` itself."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING

from bench.measuring import interleaved, timed
from bench.rows import Limits, Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.measuring import Cost
    from bench.stage import Stage

__all__ = ["run"]

_PER_FOLDER = 50
_ENDINGS = ("py", "ts", "md", "json", "txt")
_NEEDLE = "needle_here"
_GREP, _GLOB = Limits(1.3), Limits(1.5)


def run(stage: Stage) -> list[Row]:
    count = stage.size(20_000)
    tree = stage.folder / "tree"
    _plant(tree, count)
    tools = _Tools(stage, tree)
    try:
        return _measured(stage, tools, tree, f"{count:,} files")
    finally:
        tools.close()


def _measured(stage: Stage, tools: _Tools, tree: Path, what: str) -> list[Row]:
    lines = ("-n", "--no-heading", "-H")
    taken = interleaved(
        stage.rounds(15),
        {
            "grep files": tools.call("Grep", pattern=_NEEDLE),
            "rg files": _rg(tree, "-l", _NEEDLE),
            "grep lines": tools.call("Grep", pattern=_NEEDLE, output_mode="content"),
            "rg lines": _rg(tree, *lines, _NEEDLE),
            "glob all": tools.call("Glob", pattern="**"),
            "rg all by date": _rg(tree, "--files", "--sortr", "modified"),
            "rg all": _rg(tree, "--files"),
            "glob some": tools.call("Glob", pattern="**/*.py"),
            "rg some by date": _rg(tree, "--files", "--sortr", "modified", "-g", "*.py"),
            "rg some": _rg(tree, "--files", "-g", "*.py"),
        },
    )
    return [
        compared(f"Grep, names, {what} / rg -l", taken["grep files"], taken["rg files"], _GREP),
        compared(f"Grep, lines, {what} / rg -n", taken["grep lines"], taken["rg lines"], _GREP),
        compared(
            f"Glob **, {what} / rg --files newest first", taken["glob all"], taken["rg all by date"], _GLOB
        ),
        compared("  the same / rg --files in any order", taken["glob all"], taken["rg all"]),
        compared(
            f"Glob **/*.py, {what} / rg --files newest first",
            taken["glob some"],
            taken["rg some by date"],
            _GLOB,
        ),
        compared("  the same / rg --files in any order", taken["glob some"], taken["rg some"]),
    ]


def _plant(tree: Path, count: int) -> None:
    """Files of some kilobytes in folders three deep; every fiftieth holds the needle."""
    dice = random.Random(1)
    words = ["".join(dice.choices("abcdefghijklmnop", k=dice.randint(3, 9))) for _ in range(2000)]
    texts = ["\n".join(" ".join(dice.choices(words, k=8)) for _ in range(60)) for _ in range(100)]
    (tree / ".git").mkdir(parents=True)
    for number in range(count):
        place, file = divmod(number, _PER_FOLDER)
        folder = tree / f"package{place // 20}" / f"part{place % 20}" / "source"
        if file == 0:
            folder.mkdir(parents=True)
        text = dice.choice(texts) + (f"\n{_NEEDLE} = 1\n" if number % 50 == 0 else "\n")
        (folder / f"file{file}.{_ENDINGS[file % len(_ENDINGS)]}").write_text(text, encoding="utf-8")


def _program() -> str:
    beside = os.pathsep.join([sysconfig.get_path("scripts"), os.path.dirname(sys.executable)])
    found = shutil.which("rg") or shutil.which("rg", path=beside)
    if found is None:
        raise RuntimeError("rg is not installed.")
    return found


def _rg(tree: Path, *arguments: str) -> Callable[[], Cost]:
    """As a script would call it: a plain process whose output is read to the end."""
    argv = [_program(), *arguments]

    def work() -> None:
        done = subprocess.run(argv, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr[-500:]!r}")

    return lambda: timed(work)


class _Tools:
    """As in a step: one runner and one set of tools for many calls."""

    def __init__(self, stage: Stage, tree: Path) -> None:
        from awf.infrastructure.builtin_tools import BuiltinTools
        from awf.infrastructure.processes import ProcessRunner

        self._loop = asyncio.Runner()
        self._runner = ProcessRunner()
        spool = str(stage.folder / "spool")
        self._tools = BuiltinTools(str(tree), self._runner, environment=stage.environment, spool=spool)

    def call(self, name: str, **arguments: str) -> Callable[[], Cost]:
        return lambda: timed(lambda: self._loop.run(self._call(name, arguments)))

    async def _call(self, name: str, arguments: dict[str, str]) -> None:
        from awf.domain.tool import CallContext

        result = await self._tools.call_tool(name, arguments, CallContext(call_id="1"))
        if result.is_error or not result.text:
            raise RuntimeError(f"{name} failed: {result.text}")

    def close(self) -> None:
        self._loop.run(self._runner.close())
        self._loop.close()
