"""A copy of those files in /etc that programs need: shown in one piece, where showing each would take longer.

What lies beside them (passwords, keys) can be read by root, and so by programs that root starts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import TYPE_CHECKING

from awf.infrastructure.sandboxes.layout import ETC

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["copy_settings", "hold_place"]

_LARGEST = 4 * 1024 * 1024


def copy_settings(folder: str, changing: Iterable[str] = ()) -> None:
    """What cannot be read is left out; for what changes there is at least something to put it over."""
    for path in ETC:
        target = os.path.join(folder, os.path.relpath(path, "/etc"))
        with contextlib.suppress(OSError, shutil.Error):
            _copy(path, target)
    for path in changing:
        hold_place(folder, path, folder=False)


def hold_place(copy: str, path: str, *, folder: bool) -> None:
    target = os.path.join(copy, os.path.relpath(path, "/etc"))
    with contextlib.suppress(OSError):
        os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
        if not folder:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _copy(path: str, target: str) -> None:
    status = os.stat(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISDIR(status.st_mode):
        shutil.copytree(path, target, symlinks=True, ignore_dangling_symlinks=True)
    elif stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
        shutil.copyfile(path, target)
