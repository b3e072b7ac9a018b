"""The `Surroundings` of calls whose files lie on this machine."""

from __future__ import annotations

import os
import stat

__all__ = ["RealPaths"]


class RealPaths:
    """`home` is what a tilde may stand for; whether it does is the tool's affair, so both are meant."""

    def __init__(self, root: str, home: str = "") -> None:
        self._root = _real(os.path.abspath(root))
        self._home = home

    @property
    def root(self) -> str:
        return self._root

    def meanings(self, path: str) -> tuple[str, ...]:
        own = _real(os.path.join(self._root, path))
        if self._home and (path == "~" or path.startswith("~/")):
            return own, _real(os.path.join(self._home, path[2:]))
        return (own,)

    def exists(self, path: str) -> bool:
        """Of a folder nothing is lost when something is put into it."""
        try:
            return not stat.S_ISDIR(os.lstat(path).st_mode)
        except (OSError, ValueError):
            return False


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # no file can have such a name
        return os.path.normpath(path)
