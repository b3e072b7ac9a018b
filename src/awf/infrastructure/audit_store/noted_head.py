"""The keyed head once more, beside the database: a database that is set back as a whole has the head of that time.

It is noted after each commit, so it may be behind the database, and never before it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.infrastructure.audit_store.keys import Keys

__all__ = ["NotedHead"]

_LONGEST = 200


class NotedHead:
    def __init__(self, folder: str, keys: Keys, name: str = "head") -> None:
        self._path = os.path.join(folder, name)
        self._keys = keys
        self._handle = -1

    def note(self, sequence: int, head: str) -> None:
        """Always of one length, so that one write leaves nothing of what was there. Raises OSError."""
        if self._handle < 0 or not self._is_there():
            self.close()
            self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        text = f"{sequence:020} {head} {self._keys.mac(sequence, head)}\n".encode()
        if os.fstat(self._handle).st_size > len(text):  # of somebody else
            os.ftruncate(self._handle, len(text))
        os.pwrite(self._handle, text, 0)

    def _is_there(self) -> bool:
        """What is written to a file that somebody has removed or replaced, nobody reads."""
        try:
            return os.path.samestat(os.fstat(self._handle), os.stat(self._path))
        except OSError:
            return False

    def read(self) -> tuple[int, str] | None:
        """None when nothing is noted, or it is not ours."""
        try:
            with open(self._path, "rb") as stream:
                sequence, head, mac = stream.read(_LONGEST).decode().split()
            found = int(sequence), head
        except (OSError, ValueError):
            return None
        return found if self._keys.made(*found, mac) else None

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
