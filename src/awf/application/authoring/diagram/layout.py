"""Gives every box, group, arrow and label of a picture its place, without any outside program.

Groups are laid out from the inside out: a laid-out group is a box in the level around it. An arrow that crosses a
group's border goes through a door in it: inside it leads to the door, outside it leads on from there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.boxes import (
    HEADER,
    PADDING,
    Face,
    Line,
    face_of,
    header_of,
    label_text,
)
from awf.application.authoring.diagram.flow import Item, Link, Size
from awf.application.authoring.diagram.jumps import too_long
from awf.application.authoring.diagram.level import Frame, Level, lay_out
from awf.application.authoring.diagram.parts import Node
from awf.application.authoring.diagram.paths import Path, Point
from awf.application.authoring.diagram.pieces import Door, End, Piece, pieces

if TYPE_CHECKING:
    from awf.application.authoring.diagram.parts import Direction, EdgeStyle, Graph

__all__ = ["Arrow", "Drawing", "Label", "PlacedBox", "layout"]

_LABEL_ROOM = 8.0
# Where ways on form a circle, the one that comes last here is drawn leading back.
_MAIN_FIRST = {
    "success": 0,
    "sequence": 0,
    "complete": 0,
    "depends": 0,
    "contains": 1,
    "transition": 2,
    "failure": 3,
}


class PlacedBox(NamedTuple):
    node: Node
    face: Face
    x: float
    y: float
    width: float
    height: float
    holds: bool


class Arrow(NamedTuple):
    path: Path
    style: EdgeStyle
    head: bool
    source: str  # the ids of the nodes at its ends; "" for a door or a joining
    target: str


class Label(NamedTuple):
    line: Line
    full: str
    centre: Point
    style: EdgeStyle


class Drawing(NamedTuple):
    width: float
    height: float
    boxes: tuple[PlacedBox, ...]
    arrows: tuple[Arrow, ...]
    labels: tuple[Label, ...]


def layout(graph: Graph, direction: Direction = "TB") -> Drawing:
    return _Layout(graph, direction).drawing()


class _Group(NamedTuple):
    ends: list[End]  # the items of the level, in the level's order
    parts: list[Piece]
    level: Level
    doors: dict[Door, float]  # where across, from the middle of the group
    size: Size  # with title and padding


class _Layout:
    def __init__(self, graph: Graph, direction: Direction) -> None:
        self._down = direction == "TB"
        self._members = graph.members()
        self._nodes = {node.id: node for node in graph.nodes}
        self._pieces = pieces(graph)
        self._groups: dict[str, _Group] = {}
        self._boxes: list[PlacedBox] = []
        self._arrows: list[Arrow] = []
        self._labels: list[Label] = []

    def drawing(self) -> Drawing:
        for name in self._inside_out():
            self._groups[name] = self._group(name)
        outermost = self._groups[""]
        self._place("", Point(PADDING, PADDING))
        width, height = self._xy(outermost.level.size)
        return Drawing(
            width + 2 * PADDING,
            height + 2 * PADDING,
            tuple(self._boxes),
            tuple(self._arrows),
            tuple(self._labels),
        )

    def _inside_out(self) -> list[str]:
        order = [""]
        for name in order:
            order += [node.id for node in self._members.get(name, ()) if node.id in self._members]
        return order[::-1]

    def _xy(self, point: tuple[float, float]) -> Point:
        return Point(*point) if self._down else Point(point[1], point[0])

    def _size(self, width: float, height: float) -> Size:
        return Size(width, height) if self._down else Size(height, width)

    def _group(self, name: str) -> _Group:
        found = sorted(self._pieces.get(name, []), key=lambda part: _MAIN_FIRST.get(part.style, 2))
        parts = self._shortened(name, found)
        number = {end: at for at, end in enumerate(self._ends(name, parts))}
        links = [self._link(part, number) for part in parts]
        items = [self._item(end) for end in number]
        level = lay_out(items, links, self._per_layer(len(items)), self._frame(name))
        before = PADDING if self._down else HEADER
        width, height = self._xy(level.size)
        size = self._size(width + 2 * PADDING, height + HEADER + PADDING)
        doors = {
            end.door: level.centres[at].x + before - size.across / 2
            for end, at in number.items()
            if end.door is not None
        }
        return _Group(list(number), parts, level, doors, size)

    def _ends(self, name: str, parts: list[Piece]) -> list[End]:
        """The items of a level: the boxes in it, the doors in its border, and what stands for boxes far away."""
        ends = [_whole(end) for part in parts for end in (part.source, part.target)]
        return list(dict.fromkeys([*(End(node.id) for node in self._members.get(name, ())), *ends]))

    def _shortened(self, name: str, parts: list[Piece]) -> list[Piece]:
        number = {end: at for at, end in enumerate(self._ends(name, parts))}
        pairs = [(number[_whole(part.source)], number[_whole(part.target)]) for part in parts]
        tracks = [
            (part.target, part.style, source > target)
            for part, (source, target) in zip(parts, pairs, strict=True)
        ]
        far = too_long(len(number), pairs, tracks)
        return [
            self._jump(part, at) if at in far and part.target.item else part for at, part in enumerate(parts)
        ]

    def _jump(self, part: Piece, number: int) -> Piece:
        target = self._nodes[part.target.item]
        sign = Node(id=f"{part.group}/{number} → {target.id}", name=f"→ {target.name}", kind="jump")
        self._nodes[sign.id] = sign
        return part._replace(target=End(sign.id), arrives=True)

    def _frame(self, name: str) -> Frame:
        if not name:
            return Frame()
        title = self._size(header_of(self._nodes[name]).width - 2 * PADDING, 0.0)
        return Frame(title, HEADER if self._down else PADDING, PADDING)

    def _per_layer(self, count: int) -> int:
        """Boxes are wider than high, so a column takes more of them than a row."""
        return max(6, math.ceil(math.sqrt(count * (1 if self._down else 3))))

    def _item(self, end: End) -> Item:
        if end.door is not None:
            return Item(Size(0.0, 0.0), 1 if end.door.leads_out else -1)
        if end.item in self._groups:
            return Item(self._groups[end.item].size)
        face = face_of(self._nodes[end.item])
        return Item(self._size(face.width, face.height))

    def _link(self, part: Piece, number: dict[End, int]) -> Link:
        label = label_text(part.label) if part.label else None
        return Link(
            number[_whole(part.source)],
            number[_whole(part.target)],
            part.style,
            self._size(label.width + _LABEL_ROOM, label.size + _LABEL_ROOM) if label else None,
            self._door(part.source),
            self._door(part.target),
        )

    def _door(self, end: End) -> float | None:
        return self._groups[end.item].doors[end.door] if end.item and end.door is not None else None

    def _place(self, name: str, origin: Point) -> None:
        """Put a level's content at its place in the picture."""
        group = self._groups[name]

        def place(point: Point) -> Point:
            moved = self._xy(point)
            return Point(moved.x + origin.x, moved.y + origin.y)

        for at, end in enumerate(group.ends):
            if end.item:
                self._place_item(end.item, place(group.level.centres[at]))
        for at, part in enumerate(group.parts):
            joined = group.level.joined[at]
            path = group.level.lines[at].moved(place)
            self._arrows.append(
                Arrow(
                    path,
                    part.style,
                    part.arrives and not joined,
                    part.source.item,
                    "" if joined else part.target.item,
                )
            )
            if part.label:
                centre = place(group.level.labels[at])
                self._labels.append(Label(label_text(part.label), part.label, centre, part.style))

    def _place_item(self, name: str, centre: Point) -> None:
        node = self._nodes[name]
        if name not in self._groups:
            face = face_of(node)
            corner = Point(centre.x - face.width / 2, centre.y - face.height / 2)
            self._boxes.append(PlacedBox(node, face, *corner, face.width, face.height, holds=False))
            return
        width, height = self._xy(self._groups[name].size)
        corner = Point(centre.x - width / 2, centre.y - height / 2)
        self._boxes.append(PlacedBox(node, header_of(node), *corner, width, height, holds=True))
        self._place(name, Point(corner.x + PADDING, corner.y + HEADER))


def _whole(end: End) -> End:
    """The item itself, without the door in it."""
    return End(end.item) if end.item else end
