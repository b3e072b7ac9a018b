"""Spill files: where entries are safe at once, before they have a place in the chain.

Each writer has its own, named `WRITER-NUMBER.spill`, and holds a lock on it while it lives (the kernel gives it back however
the writer ends). The room for its lines is reserved on the disk and mapped into memory: adding a line is a copy, which
survives the end of the process and cannot fail. What lies behind the last line is zeros. The first byte of a line is
written last, so that half a line is none. A line is a checksum, the entry, and a line end; those of plain calls say less
(call_form.py).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import re
import sys
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "SUM",
    "Found",
    "Spill",
    "held_by_nobody",
    "line_of",
    "lines_in",
    "spill_files",
    "whole_lines",
    "writer_of",
]

_READY = 64 * 1024  # of the memory are made ready at a time: the kernel takes longer to do it page by page
_POPULATE_WRITE = 23  # of madvise(2), since Linux 5.14
_NAME = re.compile(r"([0-9a-f]{16})-(\d{6,})\.spill")
SUM = 9  # eight digits and a blank


class Spill:
    """A file that this process writes."""

    def __init__(self, folder: str, writer: str, number: int, room: int) -> None:
        """Raises `OSError` when there is no such room."""
        self.name = f"{writer}-{number:06}.spill"
        self.size = 0  # of its lines
        self.room = room
        self.merged = 0
        self._ready = 0  # of its memory
        path = os.path.join(folder, self.name)
        self.handle = _opened(path)
        try:
            _reserve(self.handle, room)
            self.memory = mmap.mmap(self.handle, room)
        except BaseException:
            os.unlink(path)
            os.close(self.handle)
            raise

    def put(self, line: bytes) -> None:
        """There is room for it. Its first byte comes last: from then on it is one."""
        at = self.size
        end = at + len(line)
        if end > self._ready:
            self._make_ready(end)
        self.memory[at + 1 : end] = line[1:]
        self.memory[at] = line[0]
        self.size = end

    def _make_ready(self, end: int) -> None:
        begin, self._ready = self._ready, (end // _READY + 1) * _READY
        if sys.platform == "linux":
            with contextlib.suppress(OSError, ValueError):  # an older kernel; or the file is short by now
                self.memory.madvise(_POPULATE_WRITE, begin, min(self._ready, self.room) - begin)

    @property
    def is_there(self) -> bool:
        """Nobody has removed it, or cut it short: what is written to a file without a name is lost with the process."""
        status = os.fstat(self.handle)
        return status.st_nlink != 0 and status.st_size >= self.room

    def close(self) -> None:
        if self.handle >= 0:
            self.memory.close()  # it has a handle of its own, and so the lock
            os.close(self.handle)
            self.handle = -1


def _opened(path: str) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _reserve(handle: int, room: int) -> None:
    """So that writing to the memory can never meet a full disk, which would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, room)
    elif os.pwrite(handle, bytes(room), 0) != room:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def line_of(data: bytes) -> bytes:
    return b"%08x %b\n" % (crc32(data), data)


def lines_in(chunk: bytes) -> Iterator[bytes | None]:
    """What the whole lines say; None for one that does not have its checksum."""
    for line in chunk.split(b"\n")[:-1]:
        data = line[SUM:]
        yield data if line[:SUM] == b"%08x " % crc32(data) else None


def whole_lines(chunk: bytes) -> bytes:
    """What is there of them. A hole with more behind it is a line, too: one that does not have its checksum.

    A line that is being written, or never was finished, has nothing behind it.
    """
    end = chunk.find(b"\0")
    if end < 0:
        return chunk[: chunk.rfind(b"\n") + 1]
    good = chunk[: chunk.rfind(b"\n", 0, end) + 1]
    if good:
        return good
    written = chunk.rstrip(b"\0")
    behind = written.find(b"\n", end) + 1
    return written[:behind] if behind < len(written) else b""


class Found:
    """A spill file in the folder, of whatever process."""

    __slots__ = ("is_newest", "name", "writer")

    def __init__(self, name: str) -> None:
        self.name = name
        self.writer = writer_of(name)
        self.is_newest = True  # of its writer


def writer_of(name: str) -> str:
    found = _NAME.fullmatch(name)
    return found[1] if found else ""


def spill_files(folder: str) -> list[Found]:
    """In the order in which their writers began them."""
    return [Found(name) for name in sorted(os.listdir(folder)) if _NAME.fullmatch(name)]


def held_by_nobody(handle: int) -> bool:
    """Whether its writer has ended. Keeps the lock until the handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
