"""Write: a whole file at once, or nothing of it."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from awf.domain.tool import ToolFailure, text_result
from awf.infrastructure.builtin_tools.wording import failure_of, kind_of, size_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.tool import ToolResult
    from awf.infrastructure.builtin_tools.paths import Spot

__all__ = ["check_writable", "encoded", "replace_contents", "write_file"]


def encoded(text: str, what: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as reason:
        raise ToolFailure(
            "INVALID_ARGUMENTS", f"{what} contains a lone surrogate, which no file can hold. Leave it out."
        ) from reason


def write_file(spot: Spot, data: bytes, check: Callable[[], None]) -> ToolResult:
    """`check` is asked right before the change and raises when nobody wants it any more."""
    try:
        before = spot.status()
        check_writable(spot, before)
        replace_contents(spot, data, before, check)
    except BaseException:
        spot.forget_parents()
        raise
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    done = "Created" if before is None else "Overwrote"
    return text_result(
        f"{done} {spot.shown} ({lines} line{'' if lines == 1 else 's'}, {size_of(len(data))})."
    )


def check_writable(spot: Spot, status: os.stat_result | None) -> None:
    """Replacing a file asks for a right on its folder only; that a file is write-protected should count as well."""
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailure("INVALID_ARGUMENTS", f"{spot.shown} is a folder. Give the path of a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailure(
            "INVALID_ARGUMENTS", f"{spot.shown} is {kind_of(status.st_mode)}, not a regular file."
        )
    effective = os.access in os.supports_effective_ids
    if not os.access(spot.name, os.W_OK, dir_fd=spot.folder, effective_ids=effective):
        mode = stat.S_IMODE(status.st_mode)
        raise ToolFailure("PERMISSION_DENIED", f"{spot.shown} is write-protected (mode {mode:04o}).")


def replace_contents(
    spot: Spot, data: bytes, before: os.stat_result | None, check: Callable[[], None]
) -> None:
    """Into a new file beside it, which then takes its place."""
    temporary = f".awf-{os.urandom(8).hex()}.tmp"
    try:
        _fill(spot, temporary, data, before)
        check()
        os.replace(temporary, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    except BaseException as reason:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=spot.folder)
        if isinstance(reason, OSError):
            raise failure_of(reason, spot.shown) from reason
        raise


def _fill(spot: Spot, temporary: str, data: bytes, before: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666 if before is None else 0o600, dir_fd=spot.folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if before is not None:
            _keep_owner_and_mode(fd, before)
    finally:
        os.close(fd)


def _keep_owner_and_mode(fd: int, before: os.stat_result) -> None:
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & 0o777)
