"""What an application gives to be an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["Agent"]


class Agent(Protocol):
    """All of it is called on the event loop. The types of the params have been checked."""

    def request(self, method: str, params: dict[str, Any]) -> Awaitable[Any]:
        """Called in the order of arrival; what it gives back then runs as a task, and its value is the result.

        A RequestError, raised here or in the task, is the answer instead. A request that the editor cancels, or that is
        running when it goes, is cancelled once, and never before its first step.
        """
        ...

    def notification(self, method: str, params: dict[str, Any]) -> None:
        """Called in the order of arrival, between the requests."""
        ...

    async def close(self) -> None:
        """The editor has gone: end everything. Awaited while the requests that run are being cancelled.

        What takes longer than the server's patience is cancelled, too, and then given up.
        """
        ...
