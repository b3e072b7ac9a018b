"""The picture as Mermaid text, which many code hosts and editors draw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.application.authoring.diagram.parts import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.application.authoring.diagram.parts import Direction, Graph, Highlight, Node

__all__ = ["to_mermaid"]

_SHAPES = {
    "start": ("((", "))"),
    "agent": ("{{", "}}"),
    "call_workflow": ("[[", "]]"),
    "success": ("([", "])"),
    "failure": ("([", "])"),
    "missing": (">", "]"),
}
_ARROWS = {"failure": "-.->", "complete": "==>", "contains": "-.-"}
_CLASSES = {
    "start": "fill:#57606a,stroke:#57606a,color:#57606a",
    "step": "fill:#f4f5f7,stroke:#6b7280,color:#1f2430",
    "agent": "fill:#efe9fd,stroke:#7a4fd0,color:#2a1658",
    "call_workflow": "fill:#e3effc,stroke:#2f6fb5,color:#0f2c4d",
    "success": "fill:#e2f5e6,stroke:#2b8a45,color:#0e3a1c",
    "failure": "fill:#fde8e6,stroke:#c23b30,color:#5b120c",
    "missing": "fill:#fff6da,stroke:#b7860b,color:#4d3800,stroke-dasharray:4 3",
    "again": "fill:#f4f5f7,stroke:#8a93a3,color:#1f2430",
}
_GROUP = "fill:#8a93a31f,stroke:#8a93a3"
_MARKS = {
    "success": "stroke:#2b8a45,stroke-width:3px",
    "failed": "stroke:#c23b30,stroke-width:4px",
    "skipped": "stroke:#9aa3b0,stroke-width:2px,stroke-dasharray:5 4",
    "cancelled": "stroke:#b7860b,stroke-width:3px,stroke-dasharray:5 4",
    "running": "stroke:#2f6fb5,stroke-width:4px",
    "waiting": "stroke:#b7860b,stroke-width:4px",
}
# Mermaid reads these inside quoted labels too: as entities, HTML, Markdown, formulas, or directives.
_SPECIAL = re.compile(r'[#&<>"`$%{}\\*_~|;\x00-\x08\x0b-\x1f\x7f]|^\d+(?=[.)])|^[-+](?=\s)')


def to_mermaid(graph: Graph, direction: Direction = "TB", highlight: Highlight | None = None) -> str:
    names = _names(graph)
    members = graph.members()
    lines = [f"flowchart {direction}"]
    lines += [f"  {line}" for line in _boxes(graph, direction, names)]
    lines += [f"  {line}" for line in _edges(graph, names)]
    lines += [
        f"  classDef {kind} {style}" for kind, style in _CLASSES.items() if _is_used(kind, graph, members)
    ]
    lines += [f"  {line}" for line in _marks(names, highlight or {})]
    return "\n".join(lines) + "\n"


def _names(graph: Graph) -> dict[str, str]:
    """Names that Mermaid can take for none of its own words."""
    taken: dict[str, str] = {}
    used: set[str] = set()
    for node in graph.nodes:
        plain = "s_" + re.sub(r"[^A-Za-z0-9]+", "_", node.id).strip("_")
        name, count = plain, 1
        while name in used:
            count += 1
            name = f"{plain}_{count}"
        used.add(name)
        taken[node.id] = name
    return taken


def _boxes(graph: Graph, direction: Direction, names: Mapping[str, str], group: str = "") -> Iterator[str]:
    members, anchored = graph.members(), _anchored(graph)
    for node in members.get(group, ()):
        name = names[node.id]
        if node.id not in members:
            opening, closing = _SHAPES.get(node.kind, ("[", "]"))
            yield f"{name}{opening}{_label(node)}{closing}:::{_class(node)}"
            continue
        yield f"subgraph {name} [{_title(node)}]"
        yield f"  direction {direction}"
        if node.id in anchored:
            yield f'  {name}__again(["{_escaped(cut(node.name, 60))}"]):::again'
        yield from (f"  {line}" for line in _boxes(graph, direction, names, node.id))
        yield "end"
        yield f"style {name} {_GROUP}"


def _anchored(graph: Graph) -> set[str]:
    """Groups that an arrow joins with a box inside them. Mermaid cannot draw that, so they get a box for it."""
    holders = graph.holders()
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    return {outer for a, b in pairs for outer, inner in ((a, b), (b, a)) if outer in holders[inner]}


def _class(node: Node) -> str:
    return node.kind if node.kind in _CLASSES else "step"


def _is_used(kind: str, graph: Graph, members: Mapping[str, list[Node]]) -> bool:
    if kind == "again":
        return bool(_anchored(graph))
    return any(_class(node) == kind and node.id not in members for node in graph.nodes)


def _edges(graph: Graph, names: Mapping[str, str]) -> Iterator[str]:
    holders = graph.holders()
    for edge in graph.edges:
        label = f'|"{_escaped(cut(edge.label, 60))}"|' if edge.label else ""
        source = names[edge.source] + ("__again" if edge.source in holders[edge.target] else "")
        target = names[edge.target] + ("__again" if edge.target in holders[edge.source] else "")
        yield f"{source} {_ARROWS.get(edge.style, '-->')}{label} {target}"
    failures = [str(number) for number, edge in enumerate(graph.edges) if edge.style == "failure"]
    if failures:
        yield f"linkStyle {','.join(failures)} stroke:#c23b30"


def _marks(names: Mapping[str, str], highlight: Highlight) -> Iterator[str]:
    for status, style in _MARKS.items():
        marked = [name for node, name in names.items() if highlight.get(node) == status]
        if marked:
            yield f"classDef was_{status} {style}"
            yield f"class {','.join(marked)} was_{status}"


def _label(node: Node) -> str:
    lines = [cut(node.name, 60), cut(node.detail, 60), " · ".join(node.marks)]
    return '"' + "<br/>".join(_escaped(line) for line in lines if line) + '"' if any(lines) else '" "'


def _title(node: Node) -> str:
    """A group's title has room for one line only."""
    return (
        '"'
        + _escaped(cut(" · ".join(word for word in (node.name, node.detail, *node.marks) if word), 60))
        + '"'
    )


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: "".join(f"#{ord(char)};" for char in found[0]), text)
