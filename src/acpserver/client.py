"""The editor, as the agent sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acpserver.connection import Connection

__all__ = ["Client"]


class Client:
    """Handed to whatever makes the agent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the last `initialize` said; empty when it said nothing."""
        return self._connection.conversation.client_capabilities

    @property
    def info(self) -> dict[str, Any]:
        return self._connection.conversation.client_info

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Written at once and in order; from another thread, in the order of the calls. Nothing once the editor has gone.

        Raises NotJsonError, a ValueError, for params that have no JSON form.
        """
        self._connection.notify(method, params)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask the editor. Raises EditorError for an error, EditorGoneError when there is nobody to answer.

        If the waiting is cancelled, the editor is told, and its answer is not expected any more.
        """
        return await self._connection.ask(method, params)

    def unsent(self) -> int:
        """How many bytes are waiting to be read by the editor."""
        return self._connection.unsent()

    def congested(self) -> bool:
        """Whether much is waiting to be read by the editor."""
        return self._connection.congested()
