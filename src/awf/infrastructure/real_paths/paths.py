"""The `Surroundings` of calls whose files lie on this machine."""

from __future__ import annotations

import os
import re
import stat

__all__ = ["RealPaths"]

# What these links lead to depends on who follows them, and on which processes it sees.
_OF_A_PROCESS = re.compile(
    r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/(?:cwd|root|exe|fd|map_files)"
)
_MOST_LINKS = 40  # as many as the kernel follows


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
        if "\0" in path:  # some take what stands before it
            return ()
        whole = [os.path.join(root, path) for root in self._roots]
        if ".." in path:  # behind a link: some follow it first, others take it away with the dots
            whole += map(os.path.normpath, whole[:])
        if self._home and path.startswith("~"):
            whole.append(self._expanded(path))
        found = {one: _real(one) for one in whole}
        if any(one != real and _leads_through_a_process(one) for one, real in found.items()):
            return ()
        return tuple(dict.fromkeys(found.values()))

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


def _leads_through_a_process(path: str) -> bool:
    here, links, waiting = "", 0, path.split("/")[::-1]
    while waiting:
        name = waiting.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            here = here.rpartition("/")[0]
            continue
        here = f"{here}/{name}"
        if _OF_A_PROCESS.fullmatch(here):
            return True
        try:
            target = os.readlink(here)
        except (OSError, ValueError):
            continue
        links += 1
        if links > _MOST_LINKS:
            return False
        here = "" if target.startswith("/") else here.rpartition("/")[0]
        waiting += target.split("/")[::-1]
    return False


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # no file can have such a name
        return os.path.normpath(path)
