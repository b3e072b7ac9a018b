"""The secret by which the gateway's page knows a person: made once, and kept beside the store for its owner only."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat

from awf.infrastructure.gate_store.opening import open_folder
from awf.infrastructure.gate_store.trouble import unavailable
from awf.infrastructure.sqlite_files import alone

__all__ = ["operator_key"]

FILE = "operator.key"
_BYTES = 32
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


def operator_key(folder: str) -> str:
    """The one that there is, or a new one. One that others may have read is not used any more. Raises `AwfError`."""
    path = os.path.join(folder, FILE)
    open_folder(folder)
    try:
        with alone(os.path.join(folder, "gate.db.lock")):  # several gateways may begin at once
            return _kept(path) or _made(path)
    except OSError as error:
        raise unavailable(path, error.strerror or error) from error


def _kept(path: str) -> str:
    """Empty: there is none that is good and private."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077
        if not private or status.st_uid != os.geteuid():
            return ""
        found = stream.read(2 * _BYTES).decode("ascii", "replace").strip()
    return found if _FORM.fullmatch(found) else ""


def _made(path: str) -> str:
    key = secrets.token_urlsafe(_BYTES)
    part = f"{path}.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part)  # of somebody who was interrupted
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "w", encoding="ascii") as stream:
        stream.write(f"{key}\n")
        stream.flush()
        os.fsync(handle)
    os.replace(part, path)
    return key
