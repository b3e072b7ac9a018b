"""What is written where on a box, and how large that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.text_size import fitted, text_width

if TYPE_CHECKING:
    from awf.application.authoring.diagram.parts import Node

__all__ = ["HEADER", "LABEL_SIZE", "PADDING", "Face", "Line", "face_of", "header_of", "label_text"]

_NAME_SIZE, _DETAIL_SIZE, LABEL_SIZE = 13.0, 11.0, 10.5
PADDING = 16.0  # inside a group
HEADER = 40.0  # a group's title
_WIDEST, _LABEL_WIDEST = 210.0, 190.0
_LINE_HEIGHT = 1.35


class Line(NamedTuple):
    text: str
    kind: str  # name | detail | mark
    size: float

    @property
    def width(self) -> float:
        return text_width(self.text, self.size) * (1.1 if self.kind == "name" else 1.0)  # names are bold


class Face(NamedTuple):
    """The lines on a box, and the box around them."""

    lines: tuple[Line, ...]
    width: float
    height: float


def face_of(node: Node) -> Face:
    if node.kind == "start":
        return Face((), 16.0, 16.0)
    if node.kind == "jump":
        line = Line(fitted(node.name, LABEL_SIZE, _LABEL_WIDEST), "detail", LABEL_SIZE)
        return Face((line,), round(line.width + 10), 18.0)
    lines = _lines(node, _WIDEST)
    width = max(64.0, *(line.width for line in lines)) + 24
    return Face(lines, round(width), round(sum(line.size * _LINE_HEIGHT for line in lines) + 16))


def header_of(node: Node) -> Face:
    """The title of a group."""
    lines = _lines(node, _WIDEST * 1.3)[:2]
    return Face(lines, round(max(line.width for line in lines) + 28), HEADER)


def label_text(label: str) -> Line:
    return Line(fitted(label, LABEL_SIZE, _LABEL_WIDEST), "label", LABEL_SIZE)


def _lines(node: Node, widest: float) -> tuple[Line, ...]:
    written = (
        (node.name, "name", _NAME_SIZE),
        (node.detail, "detail", _DETAIL_SIZE),
        (" · ".join(node.marks), "mark", _DETAIL_SIZE),
    )
    return tuple(Line(fitted(text, size, widest), kind, size) for text, kind, size in written if text.strip())
