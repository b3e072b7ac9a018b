"""The first words of a conversation over blocking descriptors, before anything heavy is loaded.

Whatever the session can answer by itself is answered here. At the first message that needs a tool, everything is
handed over: the session, the bytes of a line that is not complete yet, and what was read but not handled.
"""

from __future__ import annotations

import os

from mcpserver.framing import Frames, encode
from mcpserver.requests import Send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mcpserver.requests import Effect
    from mcpserver.session import Session

__all__ = ["Opening", "listen"]

_CHUNK = 65536


class Opening:
    """Where the next reader goes on."""

    __slots__ = ("effects", "frames", "messages", "session")

    def __init__(
        self, session: Session, frames: Frames, effects: Sequence[Effect], messages: Sequence[Any]
    ) -> None:
        self.session = session
        self.frames = frames
        self.effects = effects
        self.messages = messages


def listen(session: Session, source: int, target: int) -> Opening | None:
    """Answer until a tool is needed; None when the input ended before."""
    frames = Frames()
    while True:
        data = _read(source)
        messages = frames.feed(data) if data else frames.end()
        for place, message in enumerate(messages):
            effects = session.receive(message)
            if not all(isinstance(effect, Send) for effect in effects):
                return Opening(session, frames, effects, messages[place + 1 :])
            for effect in effects:
                if isinstance(effect, Send):
                    _write(target, encode(effect.message))
        if not data:
            for message in session.close():
                _write(target, encode(message))
            return None


def _read(source: int) -> bytes:
    while True:
        try:
            return os.read(source, _CHUNK)
        except BlockingIOError:  # some parents hand over non-blocking pipes
            import select

            select.select([source], [], [])


def _write(target: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(target, data) :]
        except BlockingIOError:
            import select

            select.select([], [target], [])
