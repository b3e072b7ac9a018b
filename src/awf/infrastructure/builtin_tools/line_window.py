"""Some lines out of a stream of bytes of any length, with little in memory, however long its lines are."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Line", "LineWindow"]

# Enough for 2 000 characters of any encoding that is looked at here (at most four bytes each).
LONGEST = 8000


class Line(NamedTuple):
    data: bytes  # its beginning
    size: int  # of all of it, in bytes

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.data)


class LineWindow:
    """Fed with chunks, keeps lines from number `first` on, until there are `limit` of them or `budget` bytes."""

    def __init__(self, first: int, limit: int, budget: int) -> None:
        self.lines: list[Line] = []
        self._first = first
        self._limit = limit
        self._budget = budget
        self._newlines = 0
        self._open = False  # the last line has no end yet
        self._head = bytearray()
        self._size = 0

    @property
    def full(self) -> bool:
        return len(self.lines) >= self._limit or self._budget <= 0

    @property
    def total(self) -> int:
        return self._newlines + self._open

    def feed(self, chunk: bytes) -> None:
        if self.full:
            self._newlines += chunk.count(b"\n")
        else:
            self._collect(chunk, self._skip(chunk))
        self._open = not chunk.endswith(b"\n")

    def finish(self) -> None:
        """A last line without an end is a line."""
        if self._size and not self.full:
            self._keep()

    def _skip(self, chunk: bytes) -> int:
        """The place in the chunk where the wanted lines begin."""
        wanted = self._first - 1 - self._newlines
        if wanted <= 0:
            return 0
        count = chunk.count(b"\n")
        if count < wanted:
            self._newlines += count
            return len(chunk)
        position = 0
        for _ in range(wanted):
            position = chunk.index(b"\n", position) + 1
        self._newlines += wanted
        return position

    def _collect(self, chunk: bytes, position: int) -> None:
        while position < len(chunk):
            if self.full:
                self._newlines += chunk.count(b"\n", position)
                return
            end = chunk.find(b"\n", position)
            stop = len(chunk) if end < 0 else end
            self._head += chunk[position : min(stop, position + LONGEST - len(self._head))]
            self._size += stop - position
            if end < 0:
                return
            self._newlines += 1
            self._keep()
            position = end + 1

    def _keep(self) -> None:
        self.lines.append(Line(bytes(self._head), self._size))
        self._budget -= len(self._head) + 1
        self._head.clear()
        self._size = 0
