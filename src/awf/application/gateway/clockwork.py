"""Ends requests that take too long. All are looked at now and then, so that none pays for a timer of its own."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.application.gateway.client import Exchange, Work

__all__ = ["Clockwork"]


class Clockwork:
    """`patience`: seconds that a request has from the last sign of life of its server."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._tick = max(0.02, min(1.0, patience / 20))
        self._running: dict[Exchange, Work] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, exchange: Exchange) -> None:
        task = exchange.task or asyncio.current_task()
        assert task is not None
        self._running[exchange] = task
        exchange.patience = self._patience
        exchange.deadline = time.monotonic() + self._patience
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._tick, self._look)

    def stop(self, exchange: Exchange) -> None:
        self._running.pop(exchange, None)

    def ended(self, exchange: Exchange) -> bool:
        """Whether it was we who cancelled it, and nobody else; then the cancellation is taken back."""
        if exchange.deadline != -math.inf:
            return False
        task = self._running.get(exchange)
        return isinstance(task, asyncio.Task) and task.uncancel() == 0

    def _look(self) -> None:
        now = time.monotonic()
        for exchange, task in list(self._running.items()):
            if -math.inf < exchange.deadline < now:
                exchange.deadline = -math.inf
                task.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._tick, self._look) if self._running else None
