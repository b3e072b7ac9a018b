"""The output of a command of any length: its end in memory, all of it in a file once it does not fit."""

from __future__ import annotations

import os
import re
from collections import deque
from typing import TYPE_CHECKING

from awf.infrastructure.builtin_tools.wording import size_of

if TYPE_CHECKING:
    from awf.infrastructure.builtin_tools.territory import Spool

__all__ = ["Capture", "plain_text"]

LARGEST_FILE = 100_000_000
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


class Capture:
    """Takes chunks as they come. Close it; then ask for the text."""

    def __init__(self, spool: Spool, room: int) -> None:
        self._spool = spool
        self._room = room  # characters; kept are four bytes for each
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self.size = 0
        self.file = ""
        self._fd = -1
        self._written = 0
        self._trouble = ""

    def take(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._held += len(chunk)
        self.size += len(chunk)
        if self.file:
            self._save(chunk)
        elif self.size > self._room and not self._trouble:
            self._begin_file()
        while self._held - len(self._chunks[0]) > 4 * self._room:
            self._held -= len(self._chunks.popleft())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def last_line(self) -> str:
        """For a look while it runs."""
        tail = b"".join(list(self._chunks)[-4:])[-4000:]
        lines = plain_text(tail).rstrip().rsplit("\n", 1)
        return lines[-1].strip()[:200]

    def text(self) -> str:
        """All of it, or its end with a word on what is missing."""
        text = plain_text(b"".join(self._chunks))
        if len(text) <= self._room and self._held == self.size:
            return text.removesuffix("\n")
        tail = text[-self._room :]
        line_start = tail.find("\n") + 1
        if 0 < line_start < len(tail) // 2:
            tail = tail[line_start:]
        shown = len(tail.encode("utf-8", "replace"))
        return f"[The last {size_of(shown)} of {size_of(self.size)}.{self._where()}]\n{tail}".removesuffix(
            "\n"
        )

    def _where(self) -> str:
        if not self.file:
            return f" The rest was not kept: {self._trouble}." if self._trouble else ""
        if self._trouble:
            return (
                f" The first {size_of(self._written)} are in {self.file} ({self._trouble}); Read or Grep it."
            )
        return f" All of it: {self.file}; Read or Grep it."

    def _begin_file(self) -> None:
        try:
            self._fd, self.file = self._spool.new_file("bash")
        except OSError as reason:
            self._trouble = os.strerror(reason.errno or 0)
            return
        for chunk in self._chunks:
            self._save(chunk)

    def _save(self, chunk: bytes) -> None:
        if self._trouble:
            return
        rest = memoryview(chunk)[: LARGEST_FILE - self._written]
        try:
            while rest:
                count = os.write(self._fd, rest)
                self._written += count
                rest = rest[count:]
        except OSError as reason:
            self._trouble = os.strerror(reason.errno or 0)
        if self._written >= LARGEST_FILE:
            self._trouble = "more is not kept"


def plain_text(data: bytes) -> str:
    """As a terminal leaves it: without colours, and of a line written over and over only the last state."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text
