"""The arrows of a workflow: every way on that a state can take."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from awf.application.authoring.diagram.parts import Edge
from awf.domain.workflow import ForEachState, InlineFailure, ParallelState, TerminalState, WhileState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.domain.workflow import State, Workflow

__all__ = ["START", "arrows", "branches_only", "failure_id", "held"]

START = "(start)"


def arrows(workflow: Workflow, group_of: Mapping[str, str]) -> Iterator[Edge]:
    states = workflow.states
    unrouted = branches_only(workflow)
    yield Edge(START, workflow.initial, "success")
    for name, state in states.items():
        if isinstance(state, TerminalState):
            continue
        yield from (Edge(other, name, "depends") for other in state.depends_on)
        yield from (() if name in unrouted else _ways_on(name, state, states))
        yield from (Edge(name, member, "contains") for member in held(state) if group_of.get(member) != name)
        if isinstance(state, ForEachState | WhileState):
            yield from _iteration(state.body, states)


def held(state: State) -> list[str]:
    """The states that a state runs inside itself."""
    if isinstance(state, ParallelState):
        return state.parallel
    return state.body if isinstance(state, ForEachState | WhileState) else []


def branches_only(workflow: Workflow) -> set[str]:
    """States that run only as parallel branches: their parallel state decides what follows, not their own routes."""
    states = workflow.states
    branches = {
        name for state in states.values() if isinstance(state, ParallelState) for name in state.parallel
    }
    if not branches:
        return set()
    return branches - _reached_by_route(workflow)


def failure_id(name: str, states: Mapping[str, State]) -> str:
    """The id of the box in which an inline `on_failure` ends."""
    wanted = f"{name} (failure)"
    while wanted in states:
        wanted += "'"
    return wanted


def _reached_by_route(workflow: Workflow) -> set[str]:
    states = workflow.states
    reached: set[str] = set()
    waiting = [(workflow.initial, True)]
    seen: set[tuple[str, bool]] = set()
    while waiting:
        name, routed = waiting.pop()
        if (name, routed) in seen or name not in states:
            continue
        seen.add((name, routed))
        if routed:
            reached.add(name)
        waiting += _next(name, states[name], states, routed=routed)
    return reached


def _next(
    name: str, state: State, states: Mapping[str, State], *, routed: bool
) -> Iterator[tuple[str, bool]]:
    if isinstance(state, TerminalState):
        return
    inner_routed = not isinstance(state, ParallelState)
    yield from ((member, inner_routed) for member in held(state))
    if routed:
        yield from ((edge.target, True) for edge in _ways_on(name, state, states))


def _ways_on(name: str, state: State, states: Mapping[str, State]) -> Iterator[Edge]:
    if isinstance(state, TerminalState):
        return
    for way in state.transitions:
        fallback = "" if way is state.transitions[0] else "else"
        yield Edge(name, way.goto, "transition", " ".join((way.when or "").split()) or fallback)
    if state.on_success is not None:
        yield Edge(name, state.on_success, "success")
    if isinstance(state, ForEachState | WhileState) and state.on_complete is not None:
        yield Edge(name, state.on_complete, "complete", "done")
    if isinstance(state.on_failure, InlineFailure):
        yield Edge(name, failure_id(name, states), "failure")
    elif state.on_failure is not None:
        yield Edge(name, state.on_failure, "failure")


def _iteration(body: list[str], states: Mapping[str, State]) -> Iterator[Edge]:
    """One state of a body follows the other, unless it says itself where to go."""
    for name, following in pairwise(body):
        state = states.get(name)
        if state is not None and _falls_through(state):
            yield Edge(name, following, "sequence")


def _falls_through(state: State) -> bool:
    if isinstance(state, TerminalState) or state.on_success is not None:
        return False
    if isinstance(state, ForEachState | WhileState) and state.on_complete is not None:
        return False
    return all(way.when for way in state.transitions)
