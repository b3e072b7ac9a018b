"""A mark that all processes share: whoever has changed the store makes it another one.

It is the size of a file, which grows by a byte with each change: nothing tells it at a lower price that is safe, and so it can
be asked for with every call. It only says that something has changed; one that is missing (its writer was killed, or is a
program that knows nothing of it) is made up for by a look into the store.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial

__all__ = ["Stamp"]


class Stamp:
    def __init__(self, path: str) -> None:
        """Raises `OSError`."""
        self._path = path
        self._open()

    def _open(self) -> None:
        self._use(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        if not self.look():
            self.change()

    def _use(self, handle: int) -> None:
        """`look()` gives the mark. Nothing is mapped into memory: a file that somebody cuts short must not end the process.

        It raises `OSError`, and always when this is closed.
        """
        self._handle = handle
        self.look = partial(os.lseek, handle, 0, os.SEEK_END)

    def renewed(self) -> bool:
        """Whether there is another file now, which others use where somebody has removed this one. Raises `OSError`."""
        try:
            if os.path.samestat(os.stat(self._path), os.fstat(self._handle)):
                return False
        except FileNotFoundError:
            pass
        self.close()
        self._open()
        return True

    def change(self) -> None:
        """What was written is safe in any case; without the mark others see it a moment later."""
        with contextlib.suppress(OSError):
            os.write(self._handle, b".")

    def close(self) -> None:
        handle = self._handle
        self._use(-1)
        if handle >= 0:
            os.close(handle)
