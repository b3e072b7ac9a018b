"""Keeps messages apart for editors that do not look at their ids and join all text between two tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.editor.projection.frames import chunks

if TYPE_CHECKING:
    from awf.domain.editor import Update

__all__ = ["Messages"]

_MESSAGE = "agent_message_chunk"
_BETWEEN = "\n\n"
_ANSWER = "/answer"  # holds exactly what `awf run` prints


class Messages:
    def __init__(self) -> None:
        self._last_id = ""  # of the message that text would be joined to
        self._ends_well = False

    def apart(self, updates: list[Update]) -> list[Update]:
        """An empty line between a message and the one that follows it."""
        shown: list[Update] = []
        for update in updates:
            if update["sessionUpdate"] == _MESSAGE:
                shown += self._before(update["messageId"])
                self._last_id = update["messageId"]
                self._ends_well = update["content"]["text"].endswith(_BETWEEN)
            elif update["sessionUpdate"] == "tool_call":
                self._last_id = ""
            shown.append(update)
        return shown

    def turn_over(self) -> None:
        """What comes next stands below what the person says."""
        self._last_id = ""

    def _before(self, message_id: str) -> list[Update]:
        if self._last_id in {"", message_id} or self._ends_well:
            return []
        to = message_id if self._last_id.endswith(_ANSWER) else self._last_id
        return chunks(_MESSAGE, _BETWEEN, to)
