"""Where the measuring happens: a folder with a copy of awf, compiled, and nothing of the person's own settings."""

from __future__ import annotations

import copy
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measuring import process_cost

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measuring import Cost

__all__ = ["BARE", "Stage"]

BARE = (sys.executable, "-c", "pass")
_AWF = (sys.executable, "-c", "from awf.__main__ import main; main()")  # what the installed command does
_SOURCE = Path(__file__).parents[1] / "src"


class Stage:
    """The copy keeps figures steady while the sources are edited, and is compiled as an installed package is."""

    def __init__(self, folder: Path, *, quick: bool = False, profile: bool = False) -> None:
        self.folder = folder
        self.quick = quick
        self.profile = profile
        self.notes: list[str] = []
        shutil.copytree(_SOURCE, folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "home").mkdir()
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "AWF_STORAGE": str(folder / "storage"),
            "PYTHONPATH": str(folder / "src"),
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        }

    def elsewhere(self, **variables: str) -> Stage:
        """The same stage with other variables."""
        other = copy.copy(self)
        other.environment = {**self.environment, **variables}
        return other

    def rounds(self, full: int) -> int:
        return 2 if self.quick else full

    def size(self, full: int) -> int:
        return max(5, full // 100) if self.quick else full

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def awf(self, *arguments: str) -> Callable[[], Cost]:
        """A contestant: awf with these arguments, from start to end."""
        return self.process(*_AWF, *arguments)

    def process(self, *argv: str) -> Callable[[], Cost]:
        errors = str(self.folder / "stderr.txt")
        return lambda: process_cost(argv, env=self.environment, cwd=str(self.folder), errors=errors)

    @staticmethod
    def awf_argv(*arguments: str) -> list[str]:
        return [*_AWF, *arguments]
