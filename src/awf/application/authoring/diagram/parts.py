"""A workflow as boxes and arrows, before anything decides how to draw them.

States that run other states are boxes that hold them: a node's `group` is the id of the node around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

__all__ = ["MAIN_STYLES", "Direction", "Edge", "EdgeStyle", "Graph", "Highlight", "Node", "NodeKind", "cut"]

Direction = Literal["TB", "LR"]
NodeKind = Literal[
    "start", "step", "agent", "parallel", "for_each", "while", "call_workflow", "success", "failure", "missing", "jump"
]  # fmt: skip
EdgeStyle = Literal["success", "failure", "transition", "sequence", "complete", "depends", "contains"]
MAIN_STYLES: frozenset[EdgeStyle] = frozenset(
    {"success", "sequence", "complete"}
)  # the way when all goes well
Highlight = Mapping[str, str]  # node id → how the state came out: success, failed, running, …


class Node(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    kind: NodeKind
    detail: str = ""  # what it runs: a command, a provider, a workflow, a condition
    marks: tuple[str, ...] = ()  # what is special about how it runs: approval, retry
    group: str = ""  # the node that holds this one
    description: str = ""

    @property
    def label(self) -> str:
        """Everything to read on the box, one thing per line."""
        return "\n".join(line for line in (self.name, self.detail, " · ".join(self.marks)) if line)


class Edge(msgspec.Struct, frozen=True):
    source: str
    target: str
    style: EdgeStyle
    label: str = ""


class Graph(msgspec.Struct, frozen=True):
    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    description: str = ""

    def members(self) -> dict[str, list[Node]]:
        """The nodes inside each node, and under "" those inside none."""
        inside: dict[str, list[Node]] = {}
        for node in self.nodes:
            inside.setdefault(node.group, []).append(node)
        return inside

    def holders(self) -> dict[str, tuple[str, ...]]:
        """For each node the ids of the nodes around it, outermost first."""
        group_of = {node.id: node.group for node in self.nodes}
        return {name: tuple(_upwards(group_of, name))[::-1] for name in group_of}


def _upwards(group_of: Mapping[str, str], name: str) -> Iterator[str]:
    while name := group_of[name]:
        yield name


def cut(text: str, limit: int) -> str:
    """The text on one line, and at most `limit` characters of it."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
