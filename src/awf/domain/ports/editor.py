"""The editor at the other end: it is shown things and asked things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.editor import EditorAbilities, FormAnswer, Update

__all__ = ["Editor"]


class Editor(Protocol):
    @property
    def abilities(self) -> EditorAbilities: ...

    def show(self, session_id: str, update: Update) -> None:
        """Send one update, in order, at once. Does nothing when the editor has gone."""
        ...

    def unread(self) -> int:
        """How many bytes of what it was sent the editor has yet to read."""
        ...

    async def permit(
        self, session_id: str, tool_call: Mapping[str, Any], options: Sequence[Mapping[str, str]]
    ) -> str:
        """The id of the chosen option; nothing when the person chose none. Cancelling withdraws the question."""
        ...

    async def fill_in(self, session_id: str, message: str, schema: Mapping[str, Any]) -> FormAnswer:
        """Ask for a form to be filled in. Only where the editor has forms."""
        ...
