"""How soon, and how often, a server that died may be started again."""

from __future__ import annotations

__all__ = ["Restarts"]

WINDOW = 60.0
PAUSES = (0.0, 0.5, 1.0)  # before the first, second and third start again within the window


class Restarts:
    """The first start is free."""

    def __init__(self) -> None:
        self._started = False
        self._times: list[float] = []

    def pause(self, now: float) -> float | None:
        """Seconds to wait before the next start; None when there have been too many of late."""
        if not self._started:
            return 0.0
        self._times = [time for time in self._times if now - time < WINDOW]
        return PAUSES[len(self._times)] if len(self._times) < len(PAUSES) else None

    def allowed_in(self, now: float) -> float:
        return max(0.0, self._times[0] + WINDOW - now) if self._times else 0.0

    def forgive(self) -> None:
        """The last start was a good one, whatever came after."""
        self._times.clear()

    def note(self, now: float) -> None:
        if self._started:
            self._times.append(now)
        self._started = True
