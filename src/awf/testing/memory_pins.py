"""Pins in memory; implements the `PinStore` port."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.pinning import Pin
    from awf.domain.problem import Problem

__all__ = ["MemoryPins"]


class MemoryPins:
    def __init__(self, pins: Mapping[str, Pin] | None = None) -> None:
        self.refusal: Problem | None = None  # set it, and nothing can be kept any more
        self._kept = dict(pins or {})

    def load(self) -> dict[str, Pin]:
        return dict(self._kept)

    def save(self, pins: Mapping[str, Pin]) -> Problem | None:
        if self.refusal is None:
            self._kept = dict(pins)
        return self.refusal
