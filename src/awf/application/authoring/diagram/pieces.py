"""Arrows cut where they cross the borders of groups, one piece for each level they run through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.authoring.diagram.parts import Edge, EdgeStyle, Graph

__all__ = ["Door", "End", "Piece", "pieces"]


class Door(NamedTuple):
    """A gap in a group's border. All arrows of one style with the same target share it."""

    leads_out: bool
    target: str
    style: EdgeStyle


class End(NamedTuple):
    """An item of a level, and the door in its border if the arrow goes on inside; or, with no item, a door of the level itself."""

    item: str
    door: Door | None = None


class Piece(NamedTuple):
    group: str
    source: End
    target: End
    style: EdgeStyle
    label: str
    arrives: bool  # the piece that carries the arrowhead


def pieces(graph: Graph) -> dict[str, list[Piece]]:
    """For each group, the pieces inside it; pieces that would lie on each other only once."""
    holders = graph.holders()
    by_group: dict[str, dict[Piece, None]] = {}
    for edge in graph.edges:
        source = (*holders[edge.source], edge.source)
        target = (*holders[edge.target], edge.target)
        parts = list(_cut(edge, source, target))
        for number, (group, start, end) in enumerate(parts):
            label = edge.label if number == 0 else ""
            piece = Piece(group, start, end, edge.style, label, number == len(parts) - 1)
            by_group.setdefault(group, {})[piece] = None
    return {group: list(found) for group, found in by_group.items()}


def _cut(edge: Edge, source: Sequence[str], target: Sequence[str]) -> Iterator[tuple[str, End, End]]:
    """The pieces from the innermost level of the source, outwards, and inwards again to that of the target."""
    shared = _shared(source, target)
    apart = shared < min(len(source), len(target))
    outermost = shared if apart else shared - 1  # an arrow between a group and something in it stays inside
    out, into = Door(True, edge.target, edge.style), Door(False, edge.target, edge.style)
    for depth in range(len(source) - 2, outermost - 1, -1):
        yield source[depth], _end(source, depth + 1, out), End("", out)
    if apart:
        yield source[shared - 1] if shared else "", _end(source, shared, out), _end(target, shared, into)
    for depth in range(outermost, len(target) - 1):
        yield target[depth], End("", into), _end(target, depth + 1, into)


def _end(way: Sequence[str], depth: int, door: Door) -> End:
    return End(way[depth], door if depth < len(way) - 1 else None)


def _shared(source: Sequence[str], target: Sequence[str]) -> int:
    """How many levels both ends have around them in common."""
    if source == target:
        return len(source) - 1
    count = 0
    while count < min(len(source), len(target)) and source[count] == target[count]:
        count += 1
    return count
