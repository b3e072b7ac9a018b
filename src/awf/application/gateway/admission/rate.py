"""How often each caller may come. One number is kept for each: when what it has sent so far would be paid off."""

from __future__ import annotations

__all__ = ["RateLimit"]

CALLERS_KEPT = 10_000
_TINY = 1e-9  # sums of fractions are not exact


class RateLimit:
    """A bucket of max(1, 2 * rate) requests for each key, which fills at the rate."""

    def __init__(self, rate: float, *, kept: int = CALLERS_KEPT) -> None:
        self.rate = rate
        self._cost = 1 / rate
        self._room = max(1.0, 2 * rate) / rate
        self._kept = kept
        self._paid_off: dict[str, float] = {}

    def wait(self, key: str, now: float) -> float:
        """Take one request out of the bucket; else the seconds until there is one again."""
        then = max(self._paid_off.get(key, now), now) + self._cost
        missing = then - now - self._room
        if missing > _TINY:
            return missing
        if key not in self._paid_off and len(self._paid_off) >= self._kept:
            self._forget(now)
        self._paid_off[key] = then
        return 0.0

    def __len__(self) -> int:
        return len(self._paid_off)

    def _forget(self, now: float) -> None:
        """Whoever has a full bucket need not be remembered; if all others are too many, those that owe least go."""
        owing = sorted((then, key) for key, then in self._paid_off.items() if then > now)
        self._paid_off = {key: then for then, key in owing[-(self._kept // 2) :]}
