"""Spill files: where entries are safe at once, before they have a place in the chain.

Each writer has its own, named `WRITER-NUMBER.spill`, holds a lock on it while it lives (the kernel gives it back however the
writer ends), and adds one line with one `write` for each entry. What `write` has taken survives the end of the process. A
line is a checksum, the entry, and a line end, so that half of one is never taken for a whole. Lines of plain calls name
their call before the entry (call_form.py).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Found", "Spill", "held_by_nobody", "line_of", "lines_in", "spill_files", "writer_of"]

_NAME = re.compile(r"([0-9a-f]{16})-(\d{6,})\.spill")
_SUM = 9  # eight digits and a blank


class Spill:
    """A file that this process writes."""

    def __init__(self, folder: str, writer: str, number: int) -> None:
        self.name = f"{writer}-{number:06}.spill"
        self.size = 0
        self.merged = 0
        self.handle = _opened(os.path.join(folder, self.name))

    def take_back(self) -> None:
        """Half a line is no line; but the next one must not be glued to it."""
        with contextlib.suppress(OSError):
            os.ftruncate(self.handle, self.size)
            return
        self.size = os.fstat(self.handle).st_size
        with contextlib.suppress(OSError):
            self.size += os.write(self.handle, b"\n")

    @property
    def is_there(self) -> bool:
        """Nobody has removed it: what is written to a file without a name is lost with the process."""
        return os.fstat(self.handle).st_nlink != 0

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def _opened(path: str) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


def line_of(data: bytes) -> bytes:
    return b"%08x %b\n" % (crc32(data), data)


def lines_in(chunk: bytes) -> Iterator[bytes | None]:
    """What the whole lines say; None for one that does not have its checksum."""
    for line in chunk.split(b"\n")[:-1]:
        data = line[_SUM:]
        yield data if line[:_SUM] == b"%08x " % crc32(data) else None


class Found:
    """A spill file in the folder, of whatever process."""

    __slots__ = ("name", "size", "writer")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.writer = writer_of(name)


def writer_of(name: str) -> str:
    found = _NAME.fullmatch(name)
    return found[1] if found else ""


def spill_files(folder: str) -> list[Found]:
    """In the order in which their writers began them."""
    with os.scandir(folder) as entries:
        found = [Found(entry.name, entry.stat().st_size) for entry in entries if _NAME.fullmatch(entry.name)]
    return sorted(found, key=lambda one: one.name)


def held_by_nobody(handle: int) -> bool:
    """Whether its writer has ended. Keeps the lock until the handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
