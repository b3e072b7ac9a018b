"""The first words of a conversation over blocking descriptors, before anything heavy is loaded.

Whatever the conversation can answer by itself is answered here. At the first message that needs the agent, everything
is handed over: the conversation, the bytes of a line that is not complete yet, and what was read but not handled.
"""

from __future__ import annotations

import os

from acpserver.framing import Lines, encode
from acpserver.requests import Send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from acpserver.conversation import Conversation
    from acpserver.framing import Oversize
    from acpserver.journal import Trace
    from acpserver.requests import Effect

__all__ = ["Opening", "listen"]

_CHUNK = 65536


class Opening:
    """Where the next reader goes on."""

    __slots__ = ("conversation", "effects", "lines", "rest")

    def __init__(
        self,
        conversation: Conversation,
        lines: Lines,
        effects: Sequence[Effect],
        rest: Sequence[bytes | Oversize],
    ) -> None:
        self.conversation = conversation
        self.lines = lines
        self.effects = effects
        self.rest = rest


def listen(conversation: Conversation, source: int, target: int, trace: Trace) -> Opening | None:
    """Answer until the agent is needed; None when the input ended before."""
    lines = Lines()
    while True:
        data = _read(source)
        heard = lines.feed(data) if data else lines.end()
        for place, line in enumerate(heard):
            trace.received(line)
            effects = conversation.hear(line)
            if not all(isinstance(effect, Send) for effect in effects):
                return Opening(conversation, lines, effects, heard[place + 1 :])
            for effect in effects:
                if isinstance(effect, Send):
                    _write(target, encode(effect.message), trace)
        if not data:
            return None


def _read(source: int) -> bytes:
    while True:
        try:
            return os.read(source, _CHUNK)
        except BlockingIOError:  # some parents hand over non-blocking pipes
            import select

            select.select([source], [], [])
        except OSError:  # a terminal that hung up, a stream for writing: nobody speaks here
            return b""


def _write(target: int, data: bytes, trace: Trace) -> None:
    """Raises BrokenPipeError for whatever keeps the editor from reading it."""
    rest = data
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            import select

            select.select([], [target], [])
        except OSError as error:
            raise BrokenPipeError from error
    trace.sent(data)
