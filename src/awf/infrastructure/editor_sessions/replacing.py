"""A file is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import time

__all__ = ["forget_leftover", "replace_file"]

_ENDING = ".part"
_OLD_SECONDS = 3600.0  # nobody writes one file for so long


def replace_file(path: str, data: bytes) -> os.stat_result:
    """The status of the new file. When this fails the old one is untouched, and nothing else is left."""
    part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}{_ENDING}"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            status = os.fstat(handle)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return status


def forget_leftover(entry: os.DirEntry[str]) -> None:
    """Remove what a process left that was killed while it wrote."""
    if entry.name.endswith(_ENDING):
        with contextlib.suppress(OSError):
            if entry.stat().st_mtime < time.time() - _OLD_SECONDS:
                os.unlink(entry.path)
