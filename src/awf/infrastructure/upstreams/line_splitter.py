"""What a program prints, as lines, at the moment it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LineSplitter"]


class LineSplitter:
    """Lines go to `take`, without their ends. One that is longer than the limit comes in pieces of about that size."""

    __slots__ = ("_limit", "_parts", "_size", "_take")

    def __init__(self, take: Callable[[bytes], None], limit: int) -> None:
        self._take = take
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        if not self._parts and 0 <= chunk.find(b"\n") == len(chunk) - 1:
            self._take(chunk[:-1])  # one line and no more, as nearly always
            return
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._take(self._joined(line) if self._parts else line)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size >= self._limit:
                self._take(self._joined(b""))

    def end(self) -> None:
        """There is no more: what is left is a line as well."""
        if self._parts:
            self._take(self._joined(b""))

    def _joined(self, last: bytes) -> bytes:
        line = b"".join((*self._parts, last))
        self._parts.clear()
        self._size = 0
        return line
