"""The editor's side of one session: updates go out while a turn is open, and wait for the next one otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.editor.masking import masked_update

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.domain.editor import Update
    from awf.domain.ports.editor import Editor
    from awf.domain.redaction import Masker

__all__ = ["Screen", "message"]

# These tell of the session itself, and may come at any time.
_ANY_TIME = {
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
}


class Screen:
    """Whatever passes here has its secrets masked."""

    def __init__(self, editor: Editor, session_id: str, masker: Masker) -> None:
        self.editor = editor
        self.session_id = session_id
        self.masker = masker
        self._open = False
        self._held: list[Update] = []
        self._speaks = False  # text would be joined to what was shown last

    def show(self, updates: Iterable[Update]) -> None:
        for update in updates:
            if self._open or update["sessionUpdate"] in _ANY_TIME:
                self._show(update)
            else:
                self._held.append(update)

    def _show(self, update: Update) -> None:
        self.editor.show(self.session_id, masked_update(self.masker, update))
        if update["sessionUpdate"] in {"agent_message_chunk", "tool_call"}:
            self._speaks = update["sessionUpdate"] == "agent_message_chunk"

    def open(self) -> None:
        """A turn begins: what happened meanwhile is told first."""
        self._open, self._speaks = True, False
        held, self._held = self._held, []
        self.show(held)

    def close(self) -> None:
        """The turn is answered: nothing of it may follow."""
        self._open = False

    def say(self, text: str, message_id: str) -> None:
        """Editors that know no message ids run all text together; a blank line keeps this apart."""
        self.show([message(f"\n\n{text}" if self._speaks else text, message_id)])


def message(text: str, message_id: str, *, who: str = "agent") -> Update:
    return {
        "sessionUpdate": f"{who}_message_chunk",
        "content": {"type": "text", "text": text},
        "messageId": message_id,
    }
