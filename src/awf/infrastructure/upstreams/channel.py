"""What all transports have in common, as the rest sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from awf.domain.mcp import Era
    from awf.infrastructure.upstreams.correlation import Call, Correlation

__all__ = ["MESSAGE_LIMIT", "Channel"]

MESSAGE_LIMIT = 64 * 1024 * 1024


class Channel(Protocol):
    """A way to one server. Everything that comes in goes through its correlation."""

    correlation: Correlation

    @property
    def alive(self) -> bool:
        """Whether it can still carry a call."""
        ...

    @property
    def has_session(self) -> bool:
        """Whether the server keeps something for us between two calls, and says so."""
        ...

    def agreed(self, era: Era) -> None:
        """From now on the server is spoken to like this."""
        ...

    async def exchange(self, call: Call) -> dict[str, Any]:
        """Send it and wait for its result. Raises `RpcError`, `ServerFault` or `SessionLost`.

        When cancelled, the server is told.
        """
        ...

    def begin(self, call: Call) -> bool:
        """Send it at once; its answer lands where the call says. False: not now, and nothing was sent."""
        ...

    def give_up(self, call: Call) -> None:
        """Nobody waits for a call that was begun. The server is told."""
        ...

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None: ...

    async def reply(self, frame: bytes) -> None:
        """Answer what the server has asked."""
        ...

    async def listen(self) -> None:
        """Make sure that what the server says outside of any call can be heard from now on."""
        ...

    async def hear(self) -> None:
        """Take in what the server says outside of any call, until it says no more."""
        ...

    async def close(self) -> None: ...
