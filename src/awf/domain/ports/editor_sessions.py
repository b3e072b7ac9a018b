"""Where sessions of editors are kept, so that another process can go on with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.editor import SessionRecord

__all__ = ["EditorSessions"]


class EditorSessions(Protocol):
    def save(self, record: SessionRecord) -> None:
        """Replace what is known of this session, whole or not at all."""
        ...

    def find(self, session_id: str) -> SessionRecord | None: ...

    def sessions(self, cwd: str | None = None) -> Sequence[SessionRecord]:
        """Those of one folder or of all, the latest first."""
        ...

    def delete(self, session_id: str) -> None:
        """Forget it; one that is not known is forgotten already."""
        ...
