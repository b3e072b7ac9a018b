"""A copy of those files in /etc that programs need: shown in one piece, where showing each would take longer.

What lies beside them (passwords, keys) can be read by root, and so by programs that root starts. Folders are shown as
they are, and only have a place here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import TYPE_CHECKING

from awf.infrastructure.sandboxes.layout import ETC_FILES, ETC_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["copy_settings", "hold_place"]

_LARGEST = 4 * 1024 * 1024


def copy_settings(copy: str, changing: Iterable[str] = ()) -> list[str]:
    """The folders to be shown over it. What cannot be read is left out; for what changes there is at least a place."""
    for path in ETC_FILES:
        target = os.path.join(copy, os.path.relpath(path, "/etc"))
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(path, target)
    for path in changing:
        hold_place(copy, path, folder=False)
    folders = [path for path in ETC_FOLDERS if os.path.isdir(path)]
    for path in folders:
        hold_place(copy, path, folder=True)
    return folders


def hold_place(copy: str, path: str, *, folder: bool) -> None:
    target = os.path.join(copy, os.path.relpath(path, "/etc"))
    with contextlib.suppress(OSError):
        os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
        if not folder:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
