"""What the names of files in a call mean on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Surroundings"]


class Surroundings(Protocol):
    @property
    def root(self) -> str:
        """The folder that relative names start from; absolute, without links in it."""
        ...

    def meanings(self, path: str) -> Sequence[str]:
        """Every absolute path, without links in it, that the name may stand for. Never raises. Empty: nobody can tell."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is something already. Never raises."""
        ...
