from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from awf.interfaces.cli.rendering.terminal_text import ASCII_FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LineWriter", "can_carry", "fitted"]

_SIGNS = "▶✓✗↻○■⚒…·\u202f"


def can_carry(encoding: str | None) -> bool:
    """Whether our signs can be written in this encoding. A stream without one takes any text."""
    try:
        _SIGNS.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def fitted(text: str, encoding: str) -> str:
    """The text in what a poorer encoding can carry."""
    return text.translate(ASCII_FORMS).encode(encoding, "replace").decode(encoding)


class LineWriter:
    """Writes whole lines at once, in what the stream can carry, and falls silent when nobody takes them any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._encoding = stream.encoding or "utf-8"
        self._poor = not can_carry(stream.encoding)
        self._broken = False

    def write(self, lines: Iterable[str]) -> None:
        text = "".join(f"{one}\n" for one in lines)
        if not text or self._broken:
            return
        try:
            self._put(fitted(text, self._encoding) if self._poor else text)
        except BrokenPipeError:
            self._broken = True
        except OSError:
            self._broken = True
            if (
                self._stream is not sys.stderr
            ):  # an answer must not get lost unnoticed, the talk beside it may
                raise

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:  # half a character, from a file name or a program's output
            self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
        self._stream.flush()
