"""Whether what a process remembers of a store is still so.

For a moment (the TTL) it counts without a look. Then the store is asked for its version, which is cheap. Only a version that
is another one makes what is remembered stale.
"""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TTL_SECONDS", "Freshness"]

TTL_SECONDS = 0.05  # how late a change by another process may be seen


class Freshness:
    """Time is measured by a clock that nobody sets."""

    def __init__(
        self,
        version: Callable[[], int],
        ttl: float = TTL_SECONDS,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._version = version
        self._ttl = ttl
        self.ticks = ticks
        self.until = -inf  # no look is needed before this time
        self.seen: int | None = None  # the version that is remembered

    def holds(self) -> bool:
        """Whether it is fresh, after a look where one is due. A store that cannot be asked is told by the next load."""
        now = self.ticks()
        if now < self.until:
            return True
        try:
            if self._version() != self.seen:
                return False
        except AwfError:
            return False
        self.until = now + self._ttl
        return True

    def look(self) -> tuple[int, float]:
        """The version now, for `took`. Taken before what is loaded, never after: a change in between must show."""
        return self._version(), self.ticks()

    def took(self, looked: tuple[int, float]) -> None:
        self.seen, self.until = looked[0], looked[1] + self._ttl

    def drop(self) -> None:
        self.seen, self.until = None, -inf
