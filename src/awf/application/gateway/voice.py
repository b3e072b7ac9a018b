"""What a server says on its ways, for whoever watches over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from awf.application.gateway.client import Client
    from awf.application.gateway.server import Server, Watcher

__all__ = ["Voice"]


class Voice:
    """A `News`."""

    def __init__(self, server: Server, watcher: Watcher) -> None:
        self._server = server
        self._watcher = watcher

    @property
    def guarded(self) -> bool:
        return self._watcher.guarded

    def changed(self, kind: str) -> None:
        if kind in {"tools", "prompts"}:
            self._server.nudge()
        self._watcher.announced(self._server, kind)

    def updated(self, message: dict[str, Any]) -> None:
        self._watcher.resource_updated(self._server, message)

    def overheard(self, message: dict[str, Any]) -> None:
        self._watcher.overheard(self._server, message)

    def cleaned(self, said: Any) -> Any:
        return self._watcher.cleaned(said)

    async def question(self, client: Client, method: str, params: Any) -> dict[str, Any]:
        return await self._watcher.question(self._server, client, method, params)
