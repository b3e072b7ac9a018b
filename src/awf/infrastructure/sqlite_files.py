"""What all our SQLite files have in common: private from the beginning, a layout with a number, one who changes that at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

__all__ = ["Layout", "alone", "make_private"]


class Layout:
    """The numbered steps from one layout to the next: SQL files of a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @cached_property
    def _steps(self) -> dict[int, str]:
        return {
            int(name[:4]): os.path.join(self._folder, name)
            for name in sorted(os.listdir(self._folder))
            if name.endswith(".sql")
        }

    @property
    def newest(self) -> int:
        return max(self._steps)

    def bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        """Each step is one transaction."""
        current = self.of(connection)
        for number, path in self._steps.items():
            if number > current:
                with open(path, encoding="utf-8") as stream:
                    script = stream.read()
                connection.executescript(
                    f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version={number};\nCOMMIT;"
                )

    @staticmethod
    def of(connection: sqlite3.Connection) -> int:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def make_private(path: str) -> None:
    """Nobody else reads it; SQLite gives the files beside it the same mode. One that exists is never opened here:
    closing it would drop the locks that this process has on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


@contextlib.contextmanager
def alone(path: str) -> Iterator[None]:
    """Of all processes, as long as the lock at `path` is held."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
