"""HTTP requests whose answers are read as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "HttpAnswer",
    "HttpBroken",
    "HttpClient",
    "HttpFailure",
    "HttpGarbled",
    "HttpRoute",
    "HttpTooLarge",
    "HttpUnreachable",
    "QuickAnswer",
]


class HttpFailure(Exception):  # noqa: N818  how bad that is decides whoever asked
    """No answer, or not the whole of it. The text says why, in a few words without a full stop."""


class HttpUnreachable(HttpFailure):
    """There is no connection to be had: nothing was sent."""


class HttpBroken(HttpFailure):
    """The connection ended before the answer did."""


class HttpGarbled(HttpFailure):
    """What came is not HTTP/1.1."""


class HttpTooLarge(HttpFailure):
    """More than the reader was willing to take."""


class HttpAnswer(Protocol):
    """One answer, status and headers at hand, its body on the way.

    As a context manager it lets go of its connection: for the next request at the end of the block, for good when the
    block is left by an exception, so that a cancelled reader ends what it no longer waits for.
    """

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By their names in small letters."""
        ...

    @property
    def content_type(self) -> str:
        """Without parameters, in small letters; empty when there is none."""
        ...

    async def chunk(self) -> bytes:
        """What has come since the last time; empty at the end. Raises `HttpFailure`."""
        ...

    async def body(self, limit: int) -> bytes:
        """All that is left. Raises `HttpTooLarge` beyond the limit, and every other `HttpFailure`."""
        ...

    def finish(self) -> None:
        """No more of it is needed."""
        ...

    def abort(self) -> None:
        """End the connection at once."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None: ...


class QuickAnswer(HttpAnswer, Protocol):
    """An answer that tells when something of it has come, to one who does not wait."""

    tell: Callable[[Self], None] | None  # taken away by whoever goes on reading as usual
    tag: Any  # the asker's

    @property
    def complete(self) -> bool: ...

    @property
    def failure(self) -> HttpFailure | None: ...

    def whole(self) -> bytes:
        """What has come of its body so far. It stays there for whoever reads it."""
        ...

    @property
    def held(self) -> int:
        """How much that is."""
        ...

    async def opened(self) -> None:
        """Until status and headers are there. Raises `HttpFailure`."""
        ...


class HttpRoute(Protocol):
    """Requests that differ in their bodies only."""

    def send_now(self, body: bytes, tell: Callable[[Any], None], tag: object) -> QuickAnswer | None:
        """Send it over a connection that is kept, if there is one. `tell` is called with the answer, each time that
        something has come of it; whoever lets go of the answer hears no more.
        """
        ...


class HttpClient(Protocol):
    """Keeps connections for further requests. It belongs to the event loop in which it is used."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        repeatable: bool = False,
    ) -> HttpAnswer:
        """Send a request and wait for the head of its answer. Redirects are not followed.

        `repeatable`: sending it twice does no harm, so that it may be sent again when a kept connection turns out to be
        closed. Raises `HttpFailure`, and ValueError for an address or a header that cannot be sent.
        """
        ...

    def route(self, method: str, url: str, headers: Mapping[str, str]) -> HttpRoute:
        """For many requests of one kind. Raises ValueError for what cannot be sent."""
        ...

    async def close(self) -> None:
        """End all connections, also those in use."""
        ...
