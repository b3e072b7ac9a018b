"""Stays awake for a moment when something is about to come.

A processor that has gone to sleep takes longer to wake up than a plain call takes in all. An agent that calls one tool after
the other would pay for that twice with each call. So after a call was sent, and after it was answered, the loop goes on
looking for a fraction of a millisecond before it sleeps. Where nothing ever comes so soon, it hardly tries any more.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Vigil"]

_PATIENCE = 4  # vigils in vain, one after the other, after which
_RARELY = 32  # only every so manyth chance is taken


class Vigil:
    """`seconds`: how long; 0: not at all. `allowed`: whether whoever runs it wants that."""

    __slots__ = (
        "_allowed",
        "_call_soon",
        "_clock",
        "_is_awake",
        "_seconds",
        "_skipped",
        "_stirred",
        "_until",
        "_vain",
    )

    def __init__(
        self, seconds: float, allowed: Callable[[], bool], clock: Callable[[], float] = monotonic
    ) -> None:
        self._seconds = seconds
        self._allowed = allowed
        self._clock = clock
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._is_awake = False
        self._stirred = False
        self._until = 0.0
        self._vain = 0
        self._skipped = 0

    def keep(self) -> None:
        """Something has happened, after which something else is likely to."""
        if self._is_awake:
            self._stirred = True
        elif self._seconds:
            self._begin()

    def _begin(self) -> None:
        if self._vain >= _PATIENCE:
            self._skipped += 1
            if self._skipped < _RARELY:
                return
            self._skipped = 0
        if not self._allowed():
            return
        if self._call_soon is None:
            self._call_soon = asyncio.get_running_loop().call_soon
        self._is_awake = True
        self._until = self._clock() + self._seconds
        self._call_soon(self._look)

    def _look(self) -> None:
        """Between two of these the loop takes in what has come, without waiting for it."""
        assert self._call_soon is not None
        if self._stirred:
            self._stirred = False
            self._vain = 0
            if not self._allowed():  # any more
                self._is_awake = False
                return
            self._until = self._clock() + self._seconds
        elif self._clock() >= self._until:
            self._is_awake = False
            self._vain += 1
            return
        self._call_soon(self._look)
