"""A text rewritten piece by piece, remembering where each piece came from."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

__all__ = ["Rewriting", "Rewritten"]


class Rewritten(NamedTuple):
    text: str
    starts: list[int]
    origins: list[int]
    copied: list[bool]

    def origin(self, offset: int) -> int:
        """The position in the original text of a position in the new one."""
        piece = bisect_right(self.starts, offset) - 1
        if piece < 0:
            return 0
        return self.origins[piece] + (offset - self.starts[piece] if self.copied[piece] else 0)


class Rewriting:
    def __init__(self, source: str) -> None:
        self._source = source
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._origins: list[int] = []
        self._copied: list[bool] = []
        self._length = 0

    def copy(self, start: int, end: int) -> None:
        """Keep this part of the original."""
        self._add(self._source[start:end], start, copied=True)

    def put(self, text: str, at: int) -> None:
        """Write something else for what stands at `at` in the original."""
        self._add(text, at, copied=False)

    def _add(self, text: str, at: int, *, copied: bool) -> None:
        self._pieces.append(text)
        self._starts.append(self._length)
        self._origins.append(at)
        self._copied.append(copied)
        self._length += len(text)

    def finish(self) -> Rewritten:
        return Rewritten("".join(self._pieces), self._starts, self._origins, self._copied)
