"""Who owns a run. A file lock says it: the kernel gives it back the moment the owner dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time

__all__ = ["Ownership", "is_owned"]

# Whoever looks whether a run is owned holds the lock for a moment. Only an owner holds it longer than this.
_TRIES, _GLANCE = 20, 0.005


class Ownership:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, folder: str) -> Ownership | None:
        """Own the run kept in this folder, or None while somebody else does."""
        handle = os.open(os.path.join(folder, "owner.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(_TRIES):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_GLANCE)
            else:
                return cls(handle)
        os.close(handle)
        return None

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
