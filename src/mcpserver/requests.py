"""A request in flight, a batch of them, and what the session wants done about them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpserver.dialects import Dialect

__all__ = ["Batch", "Cancel", "Effect", "Request", "Send", "Start"]


class Request:
    """One request, from its arrival to its one answer. It remembers its own era, for both may share a connection."""

    __slots__ = ("arguments", "batch", "begun", "client", "dialect", "id", "meta", "method", "name", "token")

    def __init__(
        self, request_id: str | int, method: str, dialect: Dialect, meta: dict[str, Any], batch: Batch | None
    ) -> None:
        self.id = request_id
        self.method = method
        self.dialect = dialect
        self.meta = meta
        self.batch = batch
        self.begun = False  # whether its handler has had a turn
        self.client: dict[str, Any] = {}
        self.token: str | int | None = None  # given when the client wants to hear of progress
        self.name = ""
        self.arguments: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Request({self.id!r}, {self.method!r})"


class Batch:
    """Requests that came as one array and are answered as one."""

    __slots__ = ("pending", "replies")

    def __init__(self) -> None:
        self.pending = 1  # the one who is still reading the array
        self.replies: list[dict[str, Any]] = []

    def settle(self, reply: dict[str, Any] | None) -> list[dict[str, Any]] | None:
        """One less to wait for; the whole answer when that was the last."""
        if reply is not None:
            self.replies.append(reply)
        self.pending -= 1
        return self.replies if self.pending == 0 and self.replies else None


class Send:
    """Write this message, or this batch of them."""

    __slots__ = ("message",)

    def __init__(self, message: dict[str, Any] | list[dict[str, Any]]) -> None:
        self.message = message


class Start:
    """Begin this request; it ends with `Session.settle`."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request


class Cancel:
    """Stop this request; nothing may be sent for it any more."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request


Effect = Send | Start | Cancel
