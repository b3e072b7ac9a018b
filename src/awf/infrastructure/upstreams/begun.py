"""A request that was sent at once, and whose answer is told instead of awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from awf.infrastructure.upstreams.failures import SessionLost

if TYPE_CHECKING:
    import asyncio

    from awf.domain.ports.upstream import Done
    from awf.infrastructure.upstreams.channel import Channel
    from awf.infrastructure.upstreams.correlation import Call

__all__ = ["Begun"]


class Owner(Protocol):
    def failed(self, begun: Begun, reason: Exception) -> None:
        """What the failure of a call tells about its server."""
        ...

    def send_again(self, begun: Begun) -> asyncio.Task[None]:
        """The server has not looked at it."""
        ...


class Begun:
    """A `Pending`, and the `Landing` of its call."""

    __slots__ = ("_done", "_over", "_owner", "_work", "call", "channel")

    def __init__(self, owner: Owner, channel: Channel, done: Done) -> None:
        self.channel = channel
        self.call: Call | None = None  # until it is over, so that both go without the garbage collector
        self._owner = owner
        self._done = done
        self._over = False
        self._work: asyncio.Task[None] | None = None  # when it has to be sent again

    def cancel(self) -> None:
        if self._over:
            return
        self._over = True
        if self._work is not None:
            self._work.cancel()
        elif self.call is not None and self.channel.correlation.forget(self.call):
            self.channel.give_up(self.call)
        self.call = None

    # As a future

    def done(self) -> bool:
        return self._over

    def set_result(self, result: dict[str, Any]) -> None:
        if not self._over:
            self._over, self.call = True, None
            self._done(result, None)

    def set_exception(self, reason: Exception) -> None:
        if self._over:
            return
        if isinstance(reason, SessionLost) and self._work is None:
            self._work = self._owner.send_again(self)
            return
        self._over, self.call = True, None
        self._owner.failed(self, reason)
        self._done(None, reason)

    def exception(self) -> BaseException | None:
        return None
