"""One HTTP answer as it comes in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, Self

from awf.domain.ports.http_client import HttpTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.http_client import HttpFailure

__all__ = ["Response"]

HIGH_WATER = 1 << 20


class Carrier(Protocol):
    """The connection that an answer comes over."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def finish(self) -> None: ...
    def abort(self) -> None: ...


class Response:
    """Filled by the connection, read by one reader. While the reader is behind, the connection is paused."""

    __slots__ = (
        "_carrier",
        "_chunks",
        "_news",
        "_size",
        "complete",
        "failure",
        "headers",
        "status",
        "tag",
        "tell",
    )

    def __init__(
        self, carrier: Carrier, tell: Callable[[Response], None] | None = None, tag: object = None
    ) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.complete = False
        self.failure: HttpFailure | None = None
        self._carrier = carrier
        self._chunks: list[bytes] = []
        self._size = 0
        self._news: asyncio.Future[None] | None = None
        self.tell = tell
        self.tag: Any = tag

    def finish(self) -> None:
        self._carrier.finish()

    def abort(self) -> None:
        self._carrier.abort()

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").split(";", 1)[0].strip().lower()

    # The connection's side

    def put(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > HIGH_WATER:
            self._carrier.pause()

    def wake(self) -> None:
        if self.tell is not None:
            self.tell(self)
        elif self._news is not None and not self._news.done():
            self._news.set_result(None)

    def fail(self, reason: HttpFailure) -> None:
        self.failure = self.failure or reason
        self.wake()

    # The reader's side

    @property
    def held(self) -> int:
        return self._size

    def whole(self) -> bytes:
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0] if self._chunks else b""

    async def opened(self) -> None:
        """Until status and headers are there."""
        while not self.status:
            await self._wait()

    async def chunk(self) -> bytes:
        while not self._chunks:
            if self.complete:
                return b""
            await self._wait()
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        if self._size > HIGH_WATER:
            self._carrier.resume()
        self._size = 0
        return data

    async def body(self, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while data := await self.chunk():
            size += len(data)
            if size > limit:
                raise HttpTooLarge(f"the answer is longer than {limit} bytes")
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    async def _wait(self) -> None:
        if self.failure is not None:
            raise self.failure
        self._news = asyncio.get_running_loop().create_future()
        await self._news
        self._news = None
