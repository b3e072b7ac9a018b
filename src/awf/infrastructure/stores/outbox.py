"""Events leave in the order of their numbers, and what announces a result leaves only once the result is safe."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from awf.domain.events import Stamped
    from awf.domain.ports.event_publisher import EventListener

__all__ = ["Outbox"]


class Outbox:
    def __init__(self) -> None:
        self.publish: EventListener = lambda _stamped: None
        self._waiting: deque[tuple[Sequence[Stamped], asyncio.Future[Any] | None]] = deque()

    def post(self, stamped: Sequence[Stamped], safe: asyncio.Future[Any] | None = None) -> None:
        """Publish now, or as soon as `safe` says so; later ones queue up behind. What fails to be safe is never told."""
        self._waiting.append((stamped, safe))
        if safe is not None:
            safe.add_done_callback(self._drain)
        self._drain()

    def _drain(self, _done: object = None) -> None:
        while self._waiting:
            stamped, safe = self._waiting[0]
            if safe is not None and not safe.done():
                return
            self._waiting.popleft()
            if safe is None or not (safe.cancelled() or safe.exception()):
                for item in stamped:
                    self.publish(item)
