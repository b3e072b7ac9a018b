"""A request in flight, and what the conversation wants done."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from acpserver.messages import Id

__all__ = ["Answered", "Cancel", "Effect", "Request", "Send", "Start", "Tell"]


class Request:
    """One request of the editor, from its arrival to its one answer."""

    __slots__ = ("begun", "cancelled", "id", "method", "params")

    def __init__(self, request_id: Id, method: str, params: dict[str, Any]) -> None:
        self.id = request_id
        self.method = method
        self.params = params
        self.begun = False  # whether its handler has had a turn
        self.cancelled = False  # once is enough: a second time would disturb the cleaning up

    def __repr__(self) -> str:
        return f"Request({self.id!r}, {self.method!r})"


class Send:
    """Write this message."""

    __slots__ = ("message",)

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message


class Start:
    """Begin this request; it ends with `Conversation.settle`."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request


class Tell:
    """Hand this notification to the agent."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method = method
        self.params = params


class Cancel:
    """Stop this request; it is still answered."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request


class Answered:
    """The editor answered a request of ours; `error` is None when it went well."""

    __slots__ = ("error", "number", "value")

    def __init__(self, number: int, value: Any, error: Exception | None) -> None:
        self.number = number
        self.value = value
        self.error = error


Effect = Send | Start | Tell | Cancel | Answered
