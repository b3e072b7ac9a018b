"""Is this a workflow that can run? Pure: the same answer for `validate`, `run`, the editor and the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.checks.graph import StateGraph, contained, routes
from awf.domain.checks.references import Finding, check_references
from awf.domain.checks.rules import check_frame, check_state
from awf.domain.problem import Problem
from awf.domain.workflow import ForEachState, TerminalState, WhileState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.draft import Draft
    from awf.domain.ports.expressions import Expressions

__all__ = ["Finding", "check_draft"]


def check_draft(draft: Draft, expressions: Expressions) -> list[Finding]:
    """Everything that can be said without looking at other files."""
    findings = [Finding(problem) for problem in check_frame(draft)]
    for name, state in draft.states.items():
        if name in draft.broken_states:
            continue
        findings += [Finding(problem) for problem in check_state(name, state, draft)]
    graph = StateGraph(draft.states, draft.workflow.initial if draft.workflow else "")
    findings += check_references(draft, expressions, graph)
    findings += [Finding(problem) for problem in _flow(draft, graph)]
    return findings


def _flow(draft: Draft, graph: StateGraph) -> Iterator[Problem]:
    """Routes through the whole workflow; silent while the states themselves are broken."""
    workflow = draft.workflow
    if workflow is None or draft.broken_states:
        return
    if not any(isinstance(state, TerminalState) for state in draft.states.values()):
        yield Problem(
            code="WORKFLOW.VALIDATION.NO_TERMINAL",
            message="The workflow has no terminal state.",
            path=("states",),
            at_key=True,
            hint="Add a state such as  done: {type: terminal}",
        )
    inner = {name for state in draft.states.values() for name in contained(state)}
    yield from _next_steps(draft, inner)
    if workflow.initial in draft.states:
        for name in draft.states.keys() - graph.reachable(workflow.initial):
            yield Problem(
                code="WORKFLOW.VALIDATION.UNREACHABLE_STATE",
                message=f"State '{name}' can never be reached.",
                path=("states", name),
                at_key=True,
                hint="Lead a transition to it, or remove it.",
            )
    for name in sorted(graph.branches_only):
        if name in draft.states and routes(draft.states[name]):
            yield Problem(
                code="WORKFLOW.VALIDATION.INVALID_TRANSITION",
                message=f"'{name}' runs only as a parallel branch, so its ways on have no effect.",
                path=("states", name),
                at_key=True,
                hint="Move them to the parallel state.",
                severity="warning",
            )
    for name in graph.containing_themselves():
        yield Problem(
            code="WORKFLOW.VALIDATION.CYCLE_DETECTED",
            message=f"'{name}' contains itself through its branches or body.",
            path=("states", name),
            at_key=True,
            hint="A state may not run inside itself.",
        )
    for group in graph.endless_groups():
        yield Problem(
            code="WORKFLOW.VALIDATION.CYCLE_DETECTED",
            message=f"These states lead only to each other: {', '.join(group)}.",
            path=("states", group[0]),
            at_key=True,
            hint="Add a way to a terminal state.",
        )


def _next_steps(draft: Draft, inner: set[str]) -> Iterator[Problem]:
    initial = draft.workflow.initial if draft.workflow else ""
    for name, state in draft.states.items():
        if isinstance(state, TerminalState):
            continue
        leads_on = bool(state.on_success or state.transitions)
        if isinstance(state, ForEachState | WhileState):
            leads_on = leads_on or bool(state.on_complete)
        if not leads_on and (name not in inner or name == initial):
            yield Problem(
                code="WORKFLOW.VALIDATION.INVALID_TRANSITION",
                message=f"State '{name}' does not say where to go when it succeeds.",
                path=("states", name),
                at_key=True,
                hint="Add on_success: NEXT_STATE.",
            )
        if state.depends_on and name not in inner:
            yield Problem(
                code="WORKFLOW.VALIDATION.CONFLICT",
                message="'depends_on' orders the branches of a parallel state; this state is none.",
                path=("states", name, "depends_on"),
                at_key=True,
                hint="Use on_success in the earlier state.",
            )
