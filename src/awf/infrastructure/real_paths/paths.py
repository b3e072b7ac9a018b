"""The `Surroundings` of calls whose files lie on this machine."""

from __future__ import annotations

import os
import stat

__all__ = ["RealPaths"]


class RealPaths:
    """`home` is what a tilde may stand for; whether it does is the tool's affair, so both are meant."""

    def __init__(self, *roots: str, home: str = "") -> None:
        """`roots`: where relative names may start; the first is the root."""
        self._roots = tuple(dict.fromkeys(_real(os.path.abspath(root)) for root in roots))
        self._root = self._roots[0]
        self._home = home

    @property
    def root(self) -> str:
        return self._root

    def meanings(self, path: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for root in self._roots:
            whole = os.path.join(root, path)
            found[_real(whole)] = None
            if ".." in path:  # behind a link: some follow it first, others take it away with the dots
                found[_real(os.path.normpath(whole))] = None
        if self._home and path.startswith("~"):
            found[_real(self._expanded(path))] = None
        return tuple(found)

    def _expanded(self, path: str) -> str:
        user, _, rest = path.partition("/")
        try:
            home = self._home if user == "~" else os.path.expanduser(user)
        except ValueError:  # nobody can have such a name
            return os.path.join(self._root, path)
        return os.path.join(self._root, home, rest.lstrip("/"))

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
