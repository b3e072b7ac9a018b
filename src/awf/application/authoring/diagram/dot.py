"""The picture as Graphviz text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.application.authoring.diagram.parts import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.application.authoring.diagram.parts import Direction, Edge, Graph, Highlight, Node

__all__ = ["to_dot"]

_DEFAULTS = """\
  compound=true; fontname="Helvetica"; fontsize=11; nodesep=0.35; ranksep=0.45;
  node [shape=box, style="rounded,filled", fillcolor="#f4f5f7", color="#6b7280", fontname="Helvetica", fontsize=11];
  edge [color="#4b5563", fontname="Helvetica", fontsize=10, arrowsize=0.7];"""
_KINDS = {
    "start": 'shape=circle, width=0.16, fixedsize=true, fillcolor="#57606a", color="#57606a"',
    "agent": 'shape=hexagon, style=filled, fillcolor="#efe9fd", color="#7a4fd0"',
    "call_workflow": 'peripheries=2, fillcolor="#e3effc", color="#2f6fb5"',
    "success": 'fillcolor="#e2f5e6", color="#2b8a45"',
    "failure": 'fillcolor="#fde8e6", color="#c23b30"',
    "missing": 'style="rounded,dashed", color="#b7860b"',
}
_STYLES = {
    "failure": 'style=dashed, color="#c23b30", fontcolor="#c23b30"',
    "complete": "style=bold",
    "depends": "style=dotted",
    "contains": "style=dotted, arrowhead=none",
}
_MARKS = {
    "success": 'color="#2b8a45", penwidth=2.5',
    "failed": 'color="#c23b30", penwidth=3',
    "skipped": 'color="#9aa3b0", penwidth=2',
    "cancelled": 'color="#b7860b", penwidth=2',
    "running": 'color="#2f6fb5", penwidth=3',
    "waiting": 'color="#b7860b", penwidth=3',
}


def to_dot(graph: Graph, direction: Direction = "TB", highlight: Highlight | None = None) -> str:
    members = graph.members()
    doors, holders = _doors(graph, members), graph.holders()
    lines = [f"digraph {_quoted(graph.name)} {{", f"  rankdir={direction};", _DEFAULTS]
    lines += [f"  {line}" for line in _boxes(members, "", highlight or {})]
    lines += [f"  {_edge(edge, doors, holders)}" for edge in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _boxes(members: Mapping[str, list[Node]], group: str, highlight: Highlight) -> Iterator[str]:
    for node in members.get(group, ()):
        mark = _MARKS.get(highlight.get(node.id, ""), "")
        if node.id not in members:
            yield f"{_quoted(node.id)} [{_attributes(f'label={_label(node)}', _KINDS.get(node.kind, ''), mark)}];"
            continue
        look = 'style="rounded,filled", fillcolor="#8a93a31f", color="#8a93a3"'
        yield f"subgraph {_quoted(f'cluster_{node.id}')} {{"
        yield f"  label={_label(node)}; {_attributes(look, mark).replace(', ', '; ')};"
        yield from (f"  {line}" for line in _boxes(members, node.id, highlight))
        yield "}"


def _edge(edge: Edge, doors: Mapping[str, tuple[str, str]], holders: Mapping[str, tuple[str, ...]]) -> str:
    source = doors.get(edge.source, ("", edge.source))[1]
    target = doors.get(edge.target, (edge.target, ""))[0]
    attributes = [
        f"label={_quoted(_text(cut(edge.label, 60)))}" if edge.label else "",
        _STYLES.get(edge.style, ""),
    ]
    if edge.source in doors and edge.source not in holders[target]:
        attributes.append(f"ltail={_quoted(f'cluster_{edge.source}')}")
    if edge.target in doors and edge.target not in holders[source]:
        attributes.append(f"lhead={_quoted(f'cluster_{edge.target}')}")
    return f"{_quoted(source)} -> {_quoted(target)} [{_attributes(*attributes)}];"


def _doors(graph: Graph, members: Mapping[str, list[Node]]) -> dict[str, tuple[str, str]]:
    """For each group, the boxes inside it that arrows to and from the group are joined with.

    Graphviz draws arrows between boxes only, and clips these at the group's border.
    """
    return {
        node.id: (_leaf(node, members, 0), _leaf(node, members, -1))
        for node in graph.nodes
        if node.id in members
    }


def _leaf(node: Node, members: Mapping[str, list[Node]], end: int) -> str:
    while node.id in members:
        inside = members[node.id]
        node = inside[len(inside) // 2 if node.kind == "parallel" else end]
    return node.id


def _attributes(*attributes: str) -> str:
    return ", ".join(attribute for attribute in attributes if attribute)


def _label(node: Node) -> str:
    lines = [cut(node.name, 60), cut(node.detail, 60), " · ".join(node.marks)]
    return _quoted("\n".join(_text(line) for line in lines if line))


def _text(text: str) -> str:
    """Graphviz reads HTML entities in every label."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(text: str) -> str:
    plain = re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
