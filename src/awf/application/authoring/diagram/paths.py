"""Lines made of straight and curved pieces, as points across and along the flow or as x and y."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Path", "Point"]


_NOTHING = 0.05


class Point(NamedTuple):
    x: float
    y: float


class Path(NamedTuple):
    """A start, then pieces: one point for a straight piece, three (two controls and the end) for a curve."""

    start: Point
    pieces: tuple[tuple[Point, ...], ...] = ()

    @property
    def end(self) -> Point:
        return self.pieces[-1][-1] if self.pieces else self.start

    def line_to(self, end: Point) -> Path:
        # A piece too short to see would still turn the arrowhead at its end.
        near = abs(end.x - self.end.x) + abs(end.y - self.end.y) < _NOTHING
        return self if near else Path(self.start, (*self.pieces, (end,)))

    def curve_to(self, first: Point, second: Point, end: Point) -> Path:
        return Path(self.start, (*self.pieces, (first, second, end)))

    def flow_to(self, end: Point) -> Path:
        """On to another layer, leaving and arriving in the direction of the flow."""
        start = self.end
        if abs(start.x - end.x) < _NOTHING:
            return self.line_to(end)
        middle = (start.y + end.y) / 2
        return self.curve_to(Point(start.x, middle), Point(end.x, middle), end)

    def moved(self, place: Callable[[Point], Point]) -> Path:
        return Path(place(self.start), tuple(tuple(map(place, piece)) for piece in self.pieces))
