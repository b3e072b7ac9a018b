"""How much of a schema is looked at: references may multiply a small one into a huge one."""

from __future__ import annotations

__all__ = ["Budget", "TooLargeError"]

_PARTS = 20_000


class TooLargeError(Exception):
    """The schema has no end, or none worth waiting for."""


class Budget:
    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _PARTS

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooLargeError
