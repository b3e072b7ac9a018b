"""Output of a command while it runs, paced so that an editor can follow.

Without a terminal the last lines are shown again and again; with one, what is new is sent to it.
"""

from __future__ import annotations

import abc
import re
from typing import Any

from awf.application.editor.projection.frames import fenced, sound
from awf.application.editor.projection.words import last_lines

__all__ = ["LastLines", "LiveOutput", "TerminalText"]

_KEPT = 32_000  # characters at the end of the output that are remembered
_SHOWN_LIVE = 2000
_TERMINAL_LIMIT = 256 * 1024
_TERMINAL_END = 16 * 1024
_LINE_END = re.compile(r"(?<!\r)\n")


class LiveOutput(abc.ABC):
    """What both ways have in common: the end is remembered, and updates keep a distance."""

    gap = 0.25

    def __init__(self) -> None:
        self.is_held = False
        self._tail = ""
        self._sent_at: float | None = None

    @property
    def due(self) -> float:
        return (self._sent_at or 0.0) + self.gap

    def feed(self, text: str, now: float, row_id: str) -> dict[str, Any] | None:
        """Fields of an update to send now; nothing when it has to wait."""
        self._remember(text)
        self.is_held = True
        early = self._sent_at is not None and self._sent_at <= now < self.due
        return None if early else self.release(now, row_id)

    def release(self, now: float, row_id: str) -> dict[str, Any] | None:
        if not self.is_held:
            return None
        self.is_held, self._sent_at = False, now
        return self._fields(row_id)

    def last(self, limit: int) -> str:
        return last_lines(self._tail, limit)

    def final(self, row_id: str) -> dict[str, Any]:
        """What has to go along with the last update of the row, for its _meta."""
        del row_id
        self.is_held = False
        return {}

    def again(self, note: str) -> None:
        """Another attempt begins."""
        self._tail = ""
        del note

    def _remember(self, text: str) -> None:
        self._tail += text
        if len(self._tail) > 2 * _KEPT:
            self._tail = self._tail[-_KEPT:]

    @abc.abstractmethod
    def _fields(self, row_id: str) -> dict[str, Any] | None:
        """What is new, for an update of the row; None when nothing is."""


class LastLines(LiveOutput):
    def _fields(self, row_id: str) -> dict[str, Any] | None:
        del row_id
        shown = self.last(_SHOWN_LIVE)
        return {"content": [fenced(shown)]} if shown.strip() else None


class TerminalText(LiveOutput):
    """Colours stay. A terminal that is given too much gets a note, and at the end the last part."""

    gap = 0.05

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[str] = []
        self._room = _TERMINAL_LIMIT
        self._left_out = 0

    def _remember(self, text: str) -> None:
        super()._remember(text)
        if self._left_out:
            self._left_out += len(text)
            return
        taken = text[: self._room]
        self._room -= len(taken)
        self._waiting.append(taken)
        if len(taken) < len(text):
            self._left_out = len(text) - len(taken)
            self._waiting.append("\n… more output follows; its end is shown when the command ends …\n")

    def again(self, note: str) -> None:
        super().again(note)
        self._waiting.append(f"— {note} —\n")
        self.is_held = True

    def _fields(self, row_id: str) -> dict[str, Any] | None:
        data = self._take()
        return {"meta": _written(row_id, data)} if data else None

    def _take(self) -> str:
        text, self._waiting = "".join(self._waiting), []
        return _LINE_END.sub("\r\n", sound(text))

    def final(self, row_id: str) -> dict[str, Any]:
        self.is_held = False
        if self._left_out:
            end = self._tail[-min(self._left_out, _TERMINAL_END) :]
            skipped = self._left_out - len(end)
            self._waiting.append(f"\n… {skipped} characters left out …\n{end}" if skipped else end)
            self._left_out = 0
        data = self._take()
        return _written(row_id, data) if data else {}


def _written(row_id: str, data: str) -> dict[str, Any]:
    return {"terminal_output": {"terminal_id": row_id, "data": data}}
