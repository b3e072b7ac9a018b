"""A child's output for a reader that takes it at its own pace."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from awf.domain.ports.command_runner import Stream

__all__ = ["OutputQueue", "split_lines"]

HIGH_WATER = 1 << 18


class OutputQueue:
    """Holds a little; when it is full the child has to wait. For one reader."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._chunks: deque[tuple[Stream, bytes]] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._ended = False

    def put(self, stream: Stream, chunk: bytes) -> None:
        self._chunks.append((stream, chunk))
        self._size += len(chunk)
        if self._size >= HIGH_WATER:
            self._pause()
        self._news.set()

    def end(self) -> None:
        self._ended = True
        self._news.set()

    async def chunks(self) -> AsyncIterator[tuple[Stream, bytes]]:
        while self._chunks or not self._ended:
            if not self._chunks:
                self._news.clear()
                await self._news.wait()
                continue
            stream, chunk = self._chunks.popleft()
            self._size -= len(chunk)
            if self._size < HIGH_WATER:
                self._resume()
            yield stream, chunk


async def split_lines(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """Lines without their end. One that is longer than the limit comes in pieces of about that size."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts, size = [], 0
        if rest:
            parts.append(rest)
            size += len(rest)
        if size >= limit:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
