"""How often a plugin that keeps dying is started again."""

from __future__ import annotations

import msgspec

__all__ = ["RestartBudget"]


class RestartBudget(msgspec.Struct, frozen=True, kw_only=True):
    restarts: int = 3  # in one window, after the first start
    window: float = 60.0
    first_pause: float = 0.1  # and four times as long before each further one
    starts: tuple[float, ...] = ()  # when it was started, within the window

    def pause(self, now: float) -> float:
        """How long to wait before the next start."""
        recent = len(self._recent(now))
        return self.first_pause * 4 ** (recent - 1) if recent else 0.0

    def blocked_for(self, now: float) -> float:
        """How long no start is allowed at all; 0 when one is."""
        recent = self._recent(now)
        return (
            max(0.0, recent[-self.restarts - 1] + self.window - now) if len(recent) > self.restarts else 0.0
        )

    def started(self, now: float) -> RestartBudget:
        return msgspec.structs.replace(self, starts=(*self._recent(now), now))

    def _recent(self, now: float) -> tuple[float, ...]:
        return tuple(start for start in self.starts if now - start < self.window)
