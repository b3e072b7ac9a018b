"""Spill files: where entries are safe at once, before they have a place in the chain.

Each writer has its own, named `WRITER-NUMBER.spill`, and holds a lock on it while it lives (the kernel gives it back however
the writer ends). The room for its lines is reserved on the disk and mapped into memory (mapped_file.py): adding a line is a copy, which
survives the end of the process. What lies behind the last line is zeros. The first byte of a line is written last, so that half a
line is none. A line is a checksum, the entry, and a line end; those of plain calls say less (call_form.py).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
from typing import TYPE_CHECKING
from zlib import crc32

from awf.domain.audit import AuditUnavailable
from awf.infrastructure.mapped_file import Mapped

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "SUM",
    "CutShort",
    "Found",
    "Spill",
    "held_by_nobody",
    "line_of",
    "lines_in",
    "opened_spill",
    "spill_files",
    "strangers",
    "whole_lines",
    "writer_of",
]

_log = logging.getLogger("awf.audit")
_NAME = re.compile(r"([0-9a-f]{16})-(\d{6,})\.spill")
SUM = 9  # eight digits and a blank
_DAMAGE = b"damage\n\n"  # behind a hole: what has nothing behind it may never have been finished


class CutShort(AuditUnavailable):
    """Another file has to be begun."""


class Spill:
    """A file that this process writes."""

    def __init__(self, folder: str, writer: str, number: int, room: int) -> None:
        """Raises `OSError` when there is no such room."""
        self.name = f"{writer}-{number:06}.spill"
        self.size = 0  # of its lines
        self.room = room
        self.merged = 0
        path = os.path.join(folder, self.name)
        self.handle = _opened(path)
        try:
            _reserve(self.handle, room)
            self._memory = Mapped(self.handle, room)
        except BaseException:
            os.unlink(path)
            os.close(self.handle)
            raise

    def put(self, line: bytes) -> None:
        """There is room for it, unless somebody has cut the file short. Raises `CutShort`; then it takes no more."""
        memory, at = self._memory, self.size
        end = at + len(line)
        if end > memory.ready:
            memory.make_ready(end)
        memory[at + 1 : end] = line[1:]
        memory[at] = line[0]
        if memory.cut:
            self.room = at
            raise CutShort(f"{self.name}: somebody has cut it short")
        self.size = end

    @property
    def is_there(self) -> bool:
        """Nobody has removed it, or cut it short: what is written to a file without a name is lost with the process."""
        status = os.fstat(self.handle)
        return status.st_nlink != 0 and status.st_size >= self.room

    def close(self) -> None:
        if self.handle >= 0:
            self._memory.close()  # it has a handle of its own, and so the lock
            with contextlib.suppress(OSError):
                self._leave_word(os.fstat(self.handle))
            os.close(self.handle)
            self.handle = -1

    def _leave_word(self, status: os.stat_result) -> None:
        """Where somebody has cut it, whoever merges it next finds lines that are none, unless all of it was merged. Where somebody
        has removed it, nobody finds anything.
        """
        left = self.size - self.merged
        if status.st_nlink == 0 and left:
            _log.error(
                "Entries of the audit are lost: %d bytes in %s, which somebody has removed.", left, self.name
            )
        elif status.st_size < self.size:
            os.ftruncate(self.handle, self.size)
            if left:
                os.pwrite(self.handle, _DAMAGE, self.size)


def _opened(path: str) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _reserve(handle: int, room: int) -> None:
    """So that a line that is begun never meets a full disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, room)
    elif os.pwrite(handle, bytes(room), 0) != room:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def line_of(data: bytes) -> bytes:
    return b"%08x %b\n" % (crc32(data), data)


def lines_in(chunk: bytes) -> Iterator[bytes | None]:
    """What the whole lines say; None for one that does not have its checksum, and for a hole before one."""
    for line in chunk.split(b"\n")[:-1]:
        data = line[SUM:]
        if line[:SUM] == b"%08x " % crc32(data):
            yield data
        else:
            yield None
            _, hole, behind = line.rpartition(b"\0")
            if hole and behind[:SUM] == b"%08x " % crc32(behind[SUM:]):
                yield behind[SUM:]


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
    return [Found(name) for name, is_file in _named(folder) if is_file]


def strangers(folder: str) -> list[str]:
    """What is called like a spill file, and is none: folders, links, pipes."""
    return [name for name, is_file in _named(folder) if not is_file]


def _named(folder: str) -> list[tuple[str, bool]]:
    with os.scandir(folder) as found:
        return sorted(
            (one.name, one.is_file(follow_symlinks=False)) for one in found if _NAME.fullmatch(one.name)
        )


def opened_spill(folder: str, name: str, mode: int = os.O_RDONLY) -> int:
    """Also where somebody puts something else there meanwhile: a pipe would keep us waiting. Raises `OSError`."""
    return os.open(os.path.join(folder, name), mode | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)


def held_by_nobody(handle: int) -> bool:
    """Whether its writer has ended. Keeps the lock until the handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
