"""The editor's side of one session: updates go out while a turn is open, and wait for the next one otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        self._speaking: str | None = None  # the message of this turn that was last added to

    def show(self, updates: Iterable[Update]) -> None:
        for update in updates:
            if self._open or update["sessionUpdate"] in _ANY_TIME:
                self.editor.show(self.session_id, self.masker.mask_data(self._set_apart(update)))
            else:
                self._held.append(update)

    def _set_apart(self, update: Update) -> Update:
        """Editors that know no message ids run all text of a turn together; a blank line keeps messages apart."""
        if update["sessionUpdate"] != "agent_message_chunk":
            return update
        before, self._speaking = self._speaking, update["messageId"]
        if before is None or before == update["messageId"]:
            return update
        return {**update, "content": {**update["content"], "text": "\n\n" + update["content"]["text"]}}

    def open(self) -> None:
        """A turn begins: what happened meanwhile is told first."""
        self._open, self._speaking = True, None
        held, self._held = self._held, []
        self.show(held)

    def close(self) -> None:
        """The turn is answered: nothing of it may follow."""
        self._open = False

    def say(self, text: str, message_id: str) -> None:
        self.show([message(text, message_id)])


def message(text: str, message_id: str, *, who: str = "agent") -> Update:
    return {
        "sessionUpdate": f"{who}_message_chunk",
        "content": {"type": "text", "text": text},
        "messageId": message_id,
    }
