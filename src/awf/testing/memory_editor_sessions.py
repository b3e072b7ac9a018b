"""Sessions of editors in memory; implements the `EditorSessions` port."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.editor import SessionRecord

__all__ = ["MemoryEditorSessions"]

_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class MemoryEditorSessions:
    def __init__(self) -> None:
        self._kept: dict[str, SessionRecord] = {}

    def save(self, record: SessionRecord) -> None:
        if not _SESSION_ID.fullmatch(record.id):  # as strict as the files, so that a test notices
            raise ValueError(f"not an id of a session: {record.id!r}")
        self._kept[record.id] = record

    def find(self, session_id: str) -> SessionRecord | None:
        return self._kept.get(session_id)

    def sessions(self, cwd: str | None = None) -> Sequence[SessionRecord]:
        wanted = [record for record in self._kept.values() if cwd is None or record.cwd == cwd]
        return sorted(wanted, key=lambda record: (-record.updated_at, record.id))

    def delete(self, session_id: str) -> None:
        self._kept.pop(session_id, None)
