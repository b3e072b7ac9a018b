"""The picture of a workflow: its boxes, what holds what, and the arrows between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.authoring.diagram.arrows import START, arrows, branches_only, failure_id, held
from awf.application.authoring.diagram.parts import Edge, Graph, Node
from awf.application.authoring.diagram.wording import detail_of, kind_of, marks_of
from awf.domain.workflow import InlineFailure, TerminalState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.domain.workflow import State, Workflow

__all__ = ["START", "Edge", "Graph", "Node", "graph_of"]


def graph_of(workflow: Workflow) -> Graph:
    """A workflow with mistakes has a picture too: states that do not exist show as missing."""
    group_of = _containment(workflow.states)
    edges = tuple(arrows(workflow, group_of))
    nodes = [
        Node(id=START, name="", kind="start"),
        *(
            _node(name, workflow.states[name], group_of.get(name, ""))
            for name in _in_order(workflow.states, group_of)
        ),
        *_inline_failures(workflow, group_of),
    ]
    return Graph(workflow.name, (*nodes, *_missing(nodes, edges)), edges, workflow.description)


def _in_order(states: Mapping[str, State], group_of: Mapping[str, str]) -> list[str]:
    """As in the file, except that what a state holds follows it, in the order in which it runs."""
    order: list[str] = []
    waiting = [name for name in states if name not in group_of][::-1]
    while waiting:
        name = waiting.pop()
        order.append(name)
        members = dict.fromkeys(held(states[name]))
        waiting += [member for member in members if group_of.get(member) == name][::-1]
    return order


def _node(name: str, state: State, group: str) -> Node:
    return Node(
        id=name,
        name=name,
        kind=kind_of(state),
        detail=detail_of(state),
        marks=marks_of(state),
        group=group,
        description=state.description,
    )


def _containment(states: Mapping[str, State]) -> dict[str, str]:
    """Each held state belongs to the first that names it; a circle is cut where it would close."""
    group_of: dict[str, str] = {}
    for name, state in states.items():
        for member in held(state):
            if member in states and member not in group_of and not _is_around(group_of, member, name):
                group_of[member] = name
    return group_of


def _is_around(group_of: Mapping[str, str], outer: str, inner: str) -> bool:
    at: str | None = inner
    while at is not None and at != outer:
        at = group_of.get(at)
    return at == outer


def _inline_failures(workflow: Workflow, group_of: Mapping[str, str]) -> Iterator[Node]:
    unrouted = branches_only(workflow)
    for name, state in workflow.states.items():
        if (
            isinstance(state, TerminalState)
            or name in unrouted
            or not isinstance(state.on_failure, InlineFailure)
        ):
            continue
        yield Node(
            id=failure_id(name, workflow.states),
            name=" ".join(state.on_failure.message.split()) or "failed",
            kind="failure",
            group=group_of.get(name, ""),
            description=f"Ends the workflow with exit status {state.on_failure.status}.",
        )


def _missing(nodes: list[Node], edges: tuple[Edge, ...]) -> Iterator[Node]:
    known = {node.id for node in nodes}
    named = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    return (Node(id=name, name=name, kind="missing") for name in named if name not in known)
