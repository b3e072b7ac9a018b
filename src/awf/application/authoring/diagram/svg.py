"""The picture as SVG: one file that needs nothing else and follows the reader's light or dark setting."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from awf.application.authoring.diagram.layout import layout
from awf.application.authoring.diagram.svg_style import EDGE_CLASSES, stylesheet

if TYPE_CHECKING:
    from awf.application.authoring.diagram.layout import Arrow, Label, PlacedBox
    from awf.application.authoring.diagram.parts import Direction, Graph, Highlight, Node
    from awf.application.authoring.diagram.paths import Path, Point

__all__ = ["to_svg"]

_LOOKS = {"failure": "failure", "depends": "quiet", "contains": "quiet"}
_SIGNS = {"success": "✓", "failed": "✕", "skipped": "»", "cancelled": "!", "running": "…", "waiting": "?"}
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML


def to_svg(graph: Graph, direction: Direction = "TB", highlight: Highlight | None = None) -> str:
    drawing = layout(graph, direction)
    width, height = _number(drawing.width), _number(drawing.height)
    prefix = f"awf-{zlib.crc32(repr((graph.name, direction)).encode('utf-8', 'replace')):08x}"
    marks = highlight or {}
    groups = [box for box in drawing.boxes if box.holds]
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="awf-diagram" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label={_attribute(_summary(graph))}>'
    )
    parts = [
        opening,
        f"<title>{_text(graph.name)}</title>",
        f"<style>{stylesheet()}</style>",
        f"<defs>{''.join(_marker(prefix, look) for look in EDGE_CLASSES)}</defs>",
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *(_group(box, marks.get(box.node.id, "")) for box in groups),
        *(_arrow(arrow, prefix) for arrow in drawing.arrows),
        *(_box(box, marks.get(box.node.id, "")) for box in drawing.boxes if not box.holds),
        *(_titles(box) for box in groups),
        *(_label(label) for label in drawing.labels),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _summary(graph: Graph) -> str:
    return ". ".join(word for word in (f"Diagram of the workflow {graph.name}", graph.description) if word)


def _marker(prefix: str, look: str) -> str:
    return (
        f'<marker id="{prefix}-{look}" viewBox="0 0 10 10" refX="9.2" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path class="head-{look}" d="M0 1L10 5L0 9z"/></marker>'
    )


def _arrow(arrow: Arrow, prefix: str) -> str:
    look = _LOOKS.get(arrow.style, "plain")
    head = f' marker-end="url(#{prefix}-{look})"' if arrow.head and arrow.style != "contains" else ""
    return f'<path class="arrow {look}" d="{_path(arrow.path)}"{head}/>'


def _path(path: Path) -> str:
    return f"M{_point(path.start)}" + "".join(
        ("C" if len(piece) == 3 else "L") + " ".join(map(_point, piece)) for piece in path.pieces
    )


def _box(box: PlacedBox, status: str) -> str:
    node = box.node
    if node.kind == "start":
        middle = f'cx="{_number(box.x + box.width / 2)}" cy="{_number(box.y + box.height / 2)}"'
        return f'<g class="start"><title>start</title><circle {middle} r="{_number(box.width / 2)}"/></g>'
    rounding = 14 if node.kind in {"success", "failure"} else 7
    return f'<g class="box {node.kind}{_was(status)}">{_tooltip(node)}{_rectangle(box, rounding)}{_lines(box)}{_sign(box, status)}</g>'


def _group(box: PlacedBox, status: str) -> str:
    return f'<g class="group {box.node.kind}{_was(status)}">{_tooltip(box.node)}{_rectangle(box, 10)}{_sign(box, status)}</g>'


def _rectangle(box: PlacedBox, rounding: int) -> str:
    return (
        f'<rect x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" rx="{rounding}"/>'
    )


def _lines(box: PlacedBox) -> str:
    total = sum(line.size * 1.35 for line in box.face.lines)
    at = box.y + (box.height - total) / 2
    written = []
    for line in box.face.lines:
        at += line.size * 1.35
        middle, base = _number(box.x + box.width / 2), _number(at - line.size * 0.38)
        written.append(
            f'<text class="{line.kind}" x="{middle}" y="{base}" text-anchor="middle">{_text(line.text)}</text>'
        )
    return "".join(written)


def _titles(box: PlacedBox) -> str:
    """A group's title lies above the arrows that pass behind it."""
    x = _number(box.x + 14)
    written = [
        f'<text class="{line.kind}" x="{x}" y="{_number(box.y + 17 + 14 * number)}">{_text(line.text)}</text>'
        for number, line in enumerate(box.face.lines)
    ]
    return f'<g class="titles">{"".join(written)}</g>'


def _sign(box: PlacedBox, status: str) -> str:
    if status not in _SIGNS:
        return ""
    x, y = _number(box.x + box.width), _number(box.y)
    return (
        f'<g class="sign{_was(status)}"><circle cx="{x}" cy="{y}" r="7.5"/>'
        f'<text x="{x}" y="{_number(box.y + 3.5)}" text-anchor="middle">{_SIGNS[status]}</text></g>'
    )


def _was(status: str) -> str:
    return f" was-{status}" if status in _SIGNS else ""


def _label(label: Label) -> str:
    x, y = _number(label.centre.x), _number(label.centre.y + label.line.size * 0.35)
    full = f"<title>{_text(label.full)}</title>" if label.full != label.line.text else ""
    look = _LOOKS.get(label.style, "plain")
    return f'<text class="label {look}" x="{x}" y="{y}" text-anchor="middle">{full}{_text(label.line.text)}</text>'


def _tooltip(node: Node) -> str:
    words = dict.fromkeys(word for word in (node.label, node.description) if word)
    return f"<title>{_text(chr(10).join(words))}</title>"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("�", text))


def _point(point: Point) -> str:
    return f"{_number(point.x)} {_number(point.y)}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
