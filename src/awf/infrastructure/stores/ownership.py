"""Who owns a run. A file lock says it: the kernel gives it back the moment the owner dies, however it dies."""

from __future__ import annotations

import fcntl
import os

__all__ = ["Ownership", "is_owned"]


class Ownership:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, folder: str) -> Ownership | None:
        """Own the run kept in this folder, or None while somebody else does."""
        handle = os.open(os.path.join(folder, "owner.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        return cls(handle)

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_owned(folder: str) -> bool:
    try:
        handle = os.open(os.path.join(folder, "owner.lock"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(handle)
