"""A mark that all processes share: whoever has changed the store makes it another one.

It is a few bytes of a file, mapped into memory, so that it can be looked at with every call: to ask the system anything takes
ten times as long. It only says that something has changed; one that is missing (its writer was killed, or is a program that
knows nothing of it) is made up for by a look into the store.
"""

from __future__ import annotations

import contextlib
import errno
import operator
import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from awf.infrastructure.mapped_file import Mapped

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NO_MARK", "Stamp"]

_SIZE = 8
_mark_in = operator.itemgetter(slice(_SIZE))
NO_MARK = bytes(_SIZE)  # nobody could write one; or somebody has cut the file short


class Stamp:
    """`look()` gives the mark. It raises `ValueError` when this is closed."""

    look: Callable[[], bytes]

    def __init__(self, path: str) -> None:
        """Raises `OSError`."""
        self._path = path
        self._kept = threading.Lock()  # nobody else's file may get the handle while it is written to
        self._use(*_opened(path))

    def _use(self, handle: int, memory: Mapped) -> None:
        self._handle, self._memory = handle, memory
        self.look = partial(_mark_in, memory)
        if self.look() == NO_MARK:
            self.change()

    def renewed(self) -> bool:
        """Whether there is another file now, which others use where somebody has removed this one, or has cut it. Raises `OSError`."""
        with contextlib.suppress(FileNotFoundError):
            if not self._memory.cut and os.path.samestat(os.stat(self._path), os.fstat(self._handle)):
                return False
        there = _opened(self._path)
        self.close()
        self._use(*there)
        return True

    def change(self) -> None:
        """What was written is safe in any case; without the mark others see it a moment later."""
        mark = os.urandom(_SIZE)
        with self._kept, contextlib.suppress(OSError):
            # Not into the memory, where a full disk is a signal.
            os.pwrite(self._handle, mark, 0)

    def close(self) -> None:
        self._memory.close()
        with self._kept:
            handle, self._handle = self._handle, -1
            if handle >= 0:
                os.close(handle)


def _opened(path: str) -> tuple[int, Mapped]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(handle).st_size < _SIZE:
            os.ftruncate(handle, _SIZE)
        return handle, Mapped(handle, _SIZE)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, ValueError):  # somebody cuts it at this very moment
            raise OSError(errno.EIO, "it was cut short", path) from error
        raise
