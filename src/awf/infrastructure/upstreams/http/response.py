"""One HTTP answer as it comes in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BodyTooLarge", "Response"]

HIGH_WATER = 1 << 20


class BodyTooLarge(Exception):  # noqa: N818  how bad that is decides whoever reads
    """More than the reader was willing to take."""


class Response:
    """Filled by the connection, read by one reader. While the reader is behind, the connection is paused."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self.failure: Exception | None = None
        self._pause = pause
        self._resume = resume
        self._chunks: list[bytes] = []
        self._size = 0
        self._news: asyncio.Future[None] | None = None

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").split(";", 1)[0].strip().lower()

    # The connection's side

    def put(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > HIGH_WATER:
            self._pause()

    def wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # The reader's side

    async def opened(self) -> None:
        """Until status and headers are there."""
        while not self.status:
            await self._wait()

    async def chunk(self) -> bytes:
        """What has come since the last time; empty at the end."""
        while not self._chunks:
            if self.complete:
                return b""
            await self._wait()
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        if self._size > HIGH_WATER:
            self._resume()
        self._size = 0
        return data

    async def body(self, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while data := await self.chunk():
            size += len(data)
            if size > limit:
                raise BodyTooLarge
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _wait(self) -> None:
        if self.failure is not None:
            raise self.failure
        self._news = asyncio.get_running_loop().create_future()
        await self._news
        self._news = None
