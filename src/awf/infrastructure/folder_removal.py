"""Removing a folder that somebody else has filled: however deep, whatever its modes, and never through a link."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat

__all__ = ["remove_folder"]

_ALL = stat.S_IRWXU
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ONLY_NAMED = getattr(os, "O_PATH", None)  # Linux: opens also what may not be read


def remove_folder(path: str) -> None:
    """Raises nothing; what cannot be removed stays.

    Folders inside folders are moved up to the top before they are emptied. So nothing is ever deep: neither calls, nor
    paths, nor the number of open files grow with it.
    """
    with contextlib.suppress(OSError):
        top = _opened(path)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(path)


def _empty(top: int) -> None:
    mark, serial = secrets.token_hex(8), itertools.count()
    waiting = _remove_files(top)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            folder = _opened(name, top)
            try:
                for inner in _remove_files(folder):
                    with contextlib.suppress(OSError):
                        os.close(_opened(inner, folder))  # one that we may not write cannot be moved
                        moved = f"{mark}-{next(serial)}"
                        os.rename(inner, moved, src_dir_fd=folder, dst_dir_fd=top)
                        waiting.append(moved)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _remove_files(folder: int) -> list[str]:
    """The names of the folders that are left in it."""
    left = []
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            left.append(entry.name)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.name, dir_fd=folder)
    return left


def _opened(name: str, folder: int | None = None) -> int:
    """With all rights to it, which its owner can have back."""
    try:
        fd = os.open(name, _OPEN, dir_fd=folder)
    except PermissionError:
        _regain(name, folder)
        fd = os.open(name, _OPEN, dir_fd=folder)
    try:
        if os.fstat(fd).st_mode & _ALL != _ALL:
            os.fchmod(fd, _ALL)
    except OSError:
        os.close(fd)
        raise
    return fd


def _regain(name: str, folder: int | None) -> None:
    if _ONLY_NAMED is None:
        os.chmod(name, _ALL, dir_fd=folder, follow_symlinks=False)
        return
    fd = os.open(name, _ONLY_NAMED | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{fd}", _ALL)
    finally:
        os.close(fd)
