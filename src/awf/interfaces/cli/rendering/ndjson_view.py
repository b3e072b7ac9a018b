from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from awf.domain.events import event_fields
from awf.interfaces.cli.rendering.json_text import write_json

if TYPE_CHECKING:
    from awf.domain.events import Stamped

__all__ = ["NdjsonView"]


class NdjsonView:
    """For programs: every event as one JSON object on a line of its own, as soon as it happens."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._broken = False

    def on_event(self, stamped: Stamped) -> None:
        if self._broken:
            return
        try:
            write_json(self._out, event_fields(stamped))
        except BrokenPipeError:
            self._broken = True

    def close(self) -> None:
        """Nothing is held back."""
