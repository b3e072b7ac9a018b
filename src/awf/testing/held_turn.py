"""A `Turn` that is over when the test says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HeldTurn"]


class HeldTurn:
    def __init__(self) -> None:
        self.works: list[Callable[[], None]] = []
        self.is_ending = False
        self.looks = 0
        self.patient: list[bool] = []  # of those that were the first of their turn

    def at_end(self, work: Callable[[], None], *, patient: bool = False) -> None:
        if not self.works:
            self.patient.append(patient)
        self.works.append(work)

    def end(self) -> None:
        """What is asked for meanwhile still belongs to it."""
        self.is_ending = True
        for work in self.works:
            work()
        self.works.clear()
        self.is_ending = False
