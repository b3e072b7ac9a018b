"""What the kernel of this machine offers for walls. Asking changes nothing."""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["counts_processes_by_namespace", "landlock_interface", "memory_file"]

_CREATE_RULESET = 444  # the same number on every architecture
_ASK_VERSION = 1


def landlock_interface() -> int:
    """The version of its interface; 0: none."""
    if not sys.platform.startswith("linux"):
        return 0
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))
    return 0


def counts_processes_by_namespace() -> bool:
    """Since Linux 5.14 a limit of processes holds for a user namespace by itself."""
    release = os.uname().release.split(".")
    try:
        return (int(release[0]), int(release[1].split("-")[0])) >= (5, 14)
    except (IndexError, ValueError):
        return False


def memory_file(data: bytes) -> int:
    """An open file that lies in memory only, ready to be read from its beginning."""
    fd = os.memfd_create("awf-sandbox", os.MFD_CLOEXEC)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd
