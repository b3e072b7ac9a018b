"""A door for HTTP: requests come whole, answers go back whole or as a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

__all__ = [
    "ClientGone",
    "Departure",
    "HeaderFields",
    "HttpHandler",
    "HttpReply",
    "HttpRequest",
    "HttpServer",
    "HttpStream",
    "Memo",
    "QuickHandler",
    "ServerLimits",
]

HeaderFields = Sequence[tuple[str, str]]


class ClientGone(Exception):  # noqa: N818  not an error: people hang up
    """Nobody reads the rest of this answer."""


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one client may cost. Times in seconds, sizes in bytes."""

    max_body: int = 10 * 1024 * 1024
    max_headers: int = 64 * 1024
    max_target: int = 8 * 1024  # path and query
    connections: int = 1000
    per_client: int | None = (
        None  # connections from one address; of Unix sockets there is only the limit above
    )
    header_seconds: float = 15.0
    body_seconds: float = 60.0
    idle_seconds: float = 75.0  # kept connections between two requests
    write_stall_seconds: float = 30.0  # a client that takes nothing of its answer for so long is cut off


class HttpReply(msgspec.Struct, frozen=True):
    """Length, date and what concerns the connection are added by the server."""

    status: int = 200
    headers: HeaderFields = ()
    body: bytes = b""


class Departure(Protocol):
    """Set when the client has left before its answer was complete."""

    def is_set(self) -> bool: ...
    async def wait(self) -> object: ...


class HttpStream(Protocol):
    """An answer that goes out piece by piece, in order."""

    def write(self, data: bytes) -> None:
        """Send without waiting. Raises `ClientGone`."""
        ...

    async def drained(self) -> None:
        """Wait while the client is behind with reading. Raises `ClientGone`."""
        ...

    def close(self) -> None:
        """The answer is complete. Also at the end of the handler, and harmless when it has happened already."""
        ...


class Memo:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None


class HttpRequest(Protocol):
    handed: Any  # from a quick handler that has given it back to the other one

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str:
        """Decoded, without the query."""
        ...

    @property
    def query(self) -> Mapping[str, str]:
        """Of a name that is given twice, the last value."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By their names in small letters, repeated ones joined. `host` is the one of the target if that has one."""
        ...

    @property
    def body(self) -> bytes: ...

    @property
    def client(self) -> str:
        """The address it comes from, without the port; `unix` for a Unix socket."""
        ...

    @property
    def gone(self) -> Departure: ...

    def on_leave(self, tell: Callable[[], object]) -> None:
        """Call it when the client leaves before its answer is complete; at once if it has left already."""
        ...

    @property
    def memo(self) -> Memo:
        """A place for what follows from the head of the request: others of this connection with the same head share it."""
        ...

    def answer(self, reply: HttpReply | None) -> None:
        """What a quick handler would return if it were one that is waited for."""
        ...

    def fail(self) -> None:
        """For a quick handler, instead of `answer`: what happens when others raise an error."""
        ...

    def on_stop(self, tell: Callable[[], object]) -> None:
        """For a quick handler: the server does not wait any longer, and answers in its place."""
        ...

    def stream(self, status: int = 200, headers: HeaderFields = ()) -> HttpStream:
        """Begin the answer. The handler then returns None.

        Raises `ClientGone`, and ValueError for a status or a header that cannot be sent.
        """
        ...


HttpHandler = Callable[[HttpRequest], Awaitable[HttpReply | None]]
"""None: it streamed. A handler whose client leaves goes on, unless it looks at `gone`."""


QuickHandler = Callable[[HttpRequest], bool]
"""Asked first. True: it has taken the request, and calls its `answer` once, at any time; False: the handler is asked."""


class HttpServer(Protocol):
    """It belongs to the event loop in which it is used."""

    async def listen_tcp(self, host: str, port: int) -> int:
        """The port, also when 0 let the system choose. Raises OSError."""
        ...

    async def listen_unix(self, path: str, lines: Callable[[], object] | None = None) -> None:
        """On a socket that only this user may enter. Raises OSError, also when somebody else listens there.

        `lines` makes the asyncio protocol for clients that do not begin with HTTP but with JSON.
        """
        ...

    async def close(self, grace: float) -> None:
        """Accept nothing more, let running requests finish for `grace` seconds, then end them."""
        ...
