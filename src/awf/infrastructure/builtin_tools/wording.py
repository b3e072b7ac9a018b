"""Names and numbers as they stand in messages for a model: one line, no control characters, valid Unicode."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from awf.domain.tool import ToolErrorCode

__all__ = ["failure_of", "kind_of", "printable", "size_of"]

LONGEST_NAME = 300

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}

_REASONS: dict[int, tuple[ToolErrorCode, str]] = {
    errno.ENOENT: ("RESOURCE_NOT_FOUND", "does not exist"),
    errno.EACCES: ("PERMISSION_DENIED", "may not be accessed by this user (file permissions)"),
    errno.EPERM: ("PERMISSION_DENIED", "may not be changed (the system refuses it)"),
    errno.EROFS: ("PERMISSION_DENIED", "is on a read-only file system"),
    errno.ENAMETOOLONG: ("INVALID_ARGUMENTS", "is too long a name for this file system"),
    errno.EINVAL: ("INVALID_ARGUMENTS", "is not a name this file system allows"),
    errno.EILSEQ: ("INVALID_ARGUMENTS", "is not a name this file system allows"),
    errno.ENOTDIR: ("INVALID_ARGUMENTS", "leads through a file as if it were a folder"),
    errno.EISDIR: ("INVALID_ARGUMENTS", "is a folder"),
    errno.ENOSPC: ("EXECUTION_FAILED", "could not be written: no space is left on the disk"),
    errno.EDQUOT: ("EXECUTION_FAILED", "could not be written: the disk quota is used up"),
    errno.EFBIG: ("EXECUTION_FAILED", "could not be written: it would be larger than files may be"),
    errno.ELOOP: ("CONFLICT", "turned into a symbolic link meanwhile; try again"),
}


def printable(name: str | bytes) -> str:
    """A path for a message. Bytes that are no Unicode and control characters are shown as what they are."""
    raw = (
        name
        if isinstance(name, bytes)
        else name.encode("utf-8", "surrogateescape" if _escaped(name) else "replace")
    )
    text = raw.decode("utf-8", "replace")
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return text


def _escaped(name: str) -> bool:
    """Can every odd character be turned back into the byte that it stands for?"""
    return all(not "\ud800" <= c <= "\udfff" or "\udc80" <= c <= "\udcff" for c in name)


def kind_of(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "a file")


def size_of(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"


def failure_of(reason: OSError, shown: str) -> ToolFailure:
    """What the system said, in words the model can act on."""
    number = reason.errno or 0
    code, words = _REASONS.get(number, ("EXECUTION_FAILED", f"cannot be used: {os.strerror(number)}"))
    name = shown if len(shown) <= LONGEST_NAME else f"{shown[:LONGEST_NAME]}…"
    return ToolFailure(code, f"{name} {words}.")
