"""Where the definitions that were trusted are kept, so that the next start can compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.pinning import Pin
    from awf.domain.problem import Problem

__all__ = ["PinStore"]


class PinStore(Protocol):
    def load(self) -> dict[str, Pin]:
        """What is pinned now, by id; a dict of the caller's own. Raises USER.GATEWAY.INVALID_PINS when it cannot be known."""
        ...

    def save(self, pins: Mapping[str, Pin]) -> Problem | None:
        """Replace all pins, whole or not at all. A warning when they cannot be kept: the gateway goes on without."""
        ...
