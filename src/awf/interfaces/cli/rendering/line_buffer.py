"""Output arrives in pieces that end anywhere. These put lines together again, in bounded memory."""

from __future__ import annotations

from collections import deque

from awf.interfaces.cli.rendering.terminal_text import text_lines

__all__ = ["LineBuffer", "Tail"]

_LONGEST_LINE = 64 * 1024
_ENOUGH = 8 * 1024


class LineBuffer:
    """Gives back each line once it is complete."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """The lines that this piece completes."""
        *complete, rest = (self._rest + text).split("\n")
        if len(rest) > _LONGEST_LINE:
            complete.append(rest)
            rest = ""
        self._rest = rest
        return [_shown(line) for line in complete]

    def flush(self) -> list[str]:
        """What is left when no more will come."""
        rest, self._rest = self._rest, ""
        return [_shown(rest)] if rest.strip() else []


def _shown(line: str) -> str:
    return "".join(text_lines(line))


class Tail:
    """The last lines of a text that is still being written, at a cost that does not grow with the text.

    Lines are kept as they came: they are made neutral when they are shown, which happens far less often.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lines: deque[str] = deque(maxlen=size)
        self._rest = ""

    def feed(self, text: str) -> None:
        text = self._rest + text if len(text) < _ENOUGH else text
        *complete, rest = text[-_ENOUGH:].rsplit("\n", self._size)
        if complete:
            complete[0] = complete[0].rpartition("\n")[2]
            self._lines.extend(complete)
        self._rest = rest

    def add(self, lines: list[str]) -> None:
        """Put whole lines after what is there."""
        self._lines.extend([self._rest, *lines] if self._rest else lines)
        self._rest = ""

    def lines(self) -> list[str]:
        return text_lines("\n".join([*self._lines, self._rest]))

    def last(self) -> str:
        """The newest line with something in it, raw."""
        if self._rest.strip():
            return self._rest
        return next((line for line in reversed(self._lines) if line.strip()), "")
