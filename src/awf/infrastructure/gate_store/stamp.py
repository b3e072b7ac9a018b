"""A mark that all processes share: whoever has changed the store makes it another one.

Reading it costs about a microsecond, so it can be done with every call. It only says that something has changed; one that is
missing (its writer was killed, or is a program that knows nothing of it) is made up for by a look into the store.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial

__all__ = ["Stamp"]

_SIZE = 16


class Stamp:
    def __init__(self, path: str) -> None:
        """Raises `OSError`."""
        self._path = path
        self._open()

    def _open(self) -> None:
        self._use(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if os.fstat(self._handle).st_size < _SIZE:
            self.change()

    def _use(self, handle: int) -> None:
        """`look()` gives the mark. It is not mapped into memory: a file that somebody cuts short must not end the process.

        It raises `OSError`, and always when this is closed.
        """
        self._handle = handle
        self.look = partial(os.pread, handle, _SIZE, 0)

    def renew(self) -> None:
        """Others use another file where somebody has removed this one. Raises `OSError`."""
        try:
            if os.path.samestat(os.stat(self._path), os.fstat(self._handle)):
                return
        except FileNotFoundError:
            pass
        self.close()
        self._open()

    def change(self) -> None:
        """What was written is safe in any case; without the mark others see it a moment later."""
        with contextlib.suppress(OSError):
            os.pwrite(self._handle, os.urandom(_SIZE), 0)

    def close(self) -> None:
        handle = self._handle
        self._use(-1)
        if handle >= 0:
            os.close(handle)
