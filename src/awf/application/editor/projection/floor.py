"""Who speaks. Agents that work side by side do not talk into each other's sentences.

The first to speak has the floor and is heard at once. What others say meanwhile is kept and shown, whole, when the floor
is free: when the one who has it calls a tool, asks something, has ended, or has long been silent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from awf.application.editor.projection.frames import chunks
from awf.application.history.step_path import name_of

if TYPE_CHECKING:
    from awf.domain.editor import Update

__all__ = ["Floor"]

_MESSAGE, _THOUGHT = "agent_message_chunk", "agent_thought_chunk"
_PATIENCE = 5.0  # seconds that others wait for one who has the floor and is silent
_REMEMBERED = 256  # texts that the answer is compared with


class _Piece(NamedTuple):
    kind: str
    message_id: str
    name: str
    path: str
    texts: list[str]


class _Speaker:
    def __init__(self) -> None:
        self.number = 1
        self.is_open = False  # something was said under this number
        self.message: list[str] = []  # since the last pause
        self.turn: list[str] = []  # since the last question to the person


class Floor:
    """`several`: it is known that more than one step will speak, so each says its name."""

    def __init__(self, base: str, *, several: bool = False) -> None:
        self._base = base
        self._several = several
        self._first = ""
        self._holder = ""
        self._heard_at = 0.0  # when who has the floor said something
        self._speakers: dict[str, _Speaker] = {}
        self._kept: dict[str, list[_Piece]] = {}
        self._heard_last = {_MESSAGE: "", _THOUGHT: ""}
        self._said: deque[int] = deque(maxlen=_REMEMBERED)

    def say(self, path: str, text: str, now: float, *, thought: bool = False) -> list[Update]:
        if not text:
            return []
        speaker = self._speakers.setdefault(path, _Speaker())
        speaker.is_open = True
        self._first = self._first or path
        self._several = self._several or name_of(path) != name_of(self._first)
        if not thought:
            speaker.message.append(text)
            speaker.turn.append(text)
        number = f"thought-{speaker.number}" if thought else str(speaker.number)
        kind = _THOUGHT if thought else _MESSAGE
        piece = _Piece(kind, f"{self._base}/{path}/{number}", name_of(path), path, [text])
        if self._holder in {"", path}:
            self._holder, self._heard_at = path, now
            return self._spoken(piece)
        self._keep(piece)
        return []

    def begin_again(self, base: str) -> None:
        """Under this base no message has an id yet."""
        self._base = base

    def spoke(self, path: str) -> bool:
        """Whether it said something since it last asked."""
        speaker = self._speakers.get(path)
        return speaker is not None and bool(speaker.turn)

    def pause(self, path: str, *, turn_over: bool = False) -> list[Update]:
        """It calls a tool or waits for an answer: what it says next is another message, and others may speak."""
        speaker = self._speakers.get(path)
        if speaker is not None:
            self._note(speaker, turn_over=turn_over)
        return self._give_up(path)

    def leave(self, path: str) -> list[Update]:
        speaker = self._speakers.pop(path, None)
        if speaker is not None:
            self._note(speaker, turn_over=True)
        return self._give_up(path)

    def flush(self) -> list[Update]:
        """Everything kept, whoever has the floor."""
        kept, self._kept, self._holder = self._kept, {}, ""
        for path in kept:
            self._hand_over(path, is_last=path == next(reversed(kept)))
        return [update for pieces in kept.values() for piece in pieces for update in self._spoken(piece)]

    def _hand_over(self, path: str, *, is_last: bool) -> None:
        """Who was heard last may finish the sentence; the others go on in a message of their own."""
        speaker = self._speakers.get(path)
        if speaker is None or not speaker.is_open:
            return
        if is_last:
            self._holder = path
        else:
            speaker.number += 1

    @property
    def due(self) -> float | None:
        """When others are heard although somebody has the floor; None where nobody waits for it."""
        return self._heard_at + _PATIENCE if self._kept else None

    def pass_on(self, now: float) -> list[Update]:
        """The one who has the floor is silent: let the others be heard."""
        speaker = self._speakers.get(self._holder)
        if speaker is not None:
            self._note(speaker, turn_over=False)
        self._heard_at = now
        return self.flush()

    def said(self, text: str) -> bool:
        """Whether an agent said exactly this."""
        for speaker in self._speakers.values():
            self._note(speaker, turn_over=True)
        return hash(text.strip()) in self._said

    def _note(self, speaker: _Speaker, *, turn_over: bool) -> None:
        speaker.number += speaker.is_open
        speaker.is_open = False
        if speaker.message:
            self._said.append(hash("".join(speaker.message).strip()))
            speaker.message = []
        if turn_over and speaker.turn:
            self._said.append(hash("".join(speaker.turn).strip()))
            speaker.turn = []

    def _give_up(self, path: str) -> list[Update]:
        return self.flush() if self._holder == path else []

    def _keep(self, piece: _Piece) -> None:
        pieces = self._kept.setdefault(piece.path, [])
        if pieces and pieces[-1].message_id == piece.message_id:
            pieces[-1].texts.extend(piece.texts)
        else:
            pieces.append(piece)

    def _spoken(self, piece: _Piece) -> list[Update]:
        text = "".join(piece.texts)
        changed = self._heard_last[piece.kind] != piece.path
        self._heard_last[piece.kind] = piece.path
        if changed and self._several:
            text = f"**{piece.name}**\n\n{text}"
        return chunks(piece.kind, text, piece.message_id)
