"""How states lead to each other: what can be reached, what can never end, what runs before what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.workflow import ForEachState, InlineFailure, ParallelState, State, TerminalState, WhileState

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StateGraph", "contained", "routes"]


def routes(state: State) -> list[str]:
    """The states a state may lead to next."""
    if isinstance(state, TerminalState):
        return []
    targets = [transition.goto for transition in state.transitions]
    targets += [state.on_success] if state.on_success else []
    targets += [state.on_failure] if isinstance(state.on_failure, str) else []
    if isinstance(state, ForEachState | WhileState) and state.on_complete:
        targets.append(state.on_complete)
    return targets


def contained(state: State) -> list[str]:
    """The states a state runs as its own branches or body."""
    if isinstance(state, ParallelState):
        return state.parallel
    if isinstance(state, ForEachState | WhileState):
        return state.body
    return []


class StateGraph:
    """Bit sets over the states: bit i of `after[n]` says that state i can run after state n has started."""

    def __init__(self, states: Mapping[str, State], initial: str = "") -> None:
        self.names = list(states)
        self.index = {name: number for number, name in enumerate(self.names)}
        self.states = states
        self.branches_only = _branches_only(states, initial)
        self.edges: list[list[int]] = [
            [self.index[target] for target in self._leads_to(name, state) if target in self.index]
            for name, state in states.items()
        ]
        # A branch or body state is followed by whatever follows the state that contains it, and by its siblings.
        self.order_edges = [list(targets) for targets in self.edges]
        for number, state in enumerate(states.values()):
            inner = [self.index[name] for name in contained(state) if name in self.index]
            outer = [self.index[name] for name in routes(state) if name in self.index]
            siblings = inner if isinstance(state, ForEachState | WhileState) else self._dependants(inner)
            for member in inner:
                self.order_edges[member] += [number, *outer, *siblings]

    def _leads_to(self, name: str, state: State) -> list[str]:
        """A branch joins the state that started it: ways on of its own are not taken."""
        return contained(state) if name in self.branches_only else [*routes(state), *contained(state)]

    def containing_themselves(self) -> list[str]:
        """States that are, through branches and bodies, part of themselves."""
        inner = [
            [self.index[name] for name in contained(state) if name in self.index]
            for state in self.states.values()
        ]
        return [
            self.names[group[0]]
            for group in strong_components(inner)
            if len(group) > 1 or group[0] in inner[group[0]]
        ]

    def _dependants(self, branches: list[int]) -> list[int]:
        """Branches run side by side; only `depends_on` puts one before another."""
        return [n for n in branches if getattr(self.states[self.names[n]], "depends_on", None)]

    def reachable(self, start: str) -> set[str]:
        seen = {self.index[start]} if start in self.index else set()
        todo = list(seen)
        while todo:
            for target in self.edges[todo.pop()]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return {self.names[number] for number in seen}

    def endless_groups(self) -> list[list[str]]:
        """Groups of states that lead only to each other and never to an end."""
        groups = []
        contained_states = {name for state in self.states.values() for name in contained(state)}
        for group in strong_components(self.edges):
            members = set(group)
            names = [self.names[number] for number in sorted(group)]
            cyclic = len(group) > 1 or group[0] in self.edges[group[0]]
            leaves = any(target not in members for number in group for target in self.edges[number])
            if (
                cyclic
                and not leaves
                and not any(self._ends(name) or name in contained_states for name in names)
            ):
                groups.append(names)
        return groups

    def _ends(self, name: str) -> bool:
        state = self.states[name]
        return isinstance(state, TerminalState) or isinstance(state.on_failure, InlineFailure)

    def successors(self) -> list[int]:
        """For each state the bit set of states that may run after it has started."""
        component: dict[int, int] = {}
        reach: list[int] = []
        for number, group in enumerate(strong_components(self.order_edges)):  # sinks come first
            bits = 0
            for member in group:
                component[member] = number
                bits |= 1 << member
            cyclic = len(group) > 1 or group[0] in self.order_edges[group[0]]
            own = bits if cyclic else 0
            for member in group:
                for target in self.order_edges[member]:
                    if component[target] != number:
                        own |= reach[component[target]] | (1 << target)
            reach.append(own)
        return [reach[component[number]] for number in range(len(self.names))]


def _branches_only(states: Mapping[str, State], initial: str) -> set[str]:
    branches = {
        name for state in states.values() if isinstance(state, ParallelState) for name in state.parallel
    }
    reached = {initial}
    for name, state in states.items():
        if name not in branches:
            reached.update(routes(state))
        if not isinstance(state, ParallelState):
            reached.update(contained(state))
    return branches - reached


def strong_components(edges: list[list[int]]) -> list[list[int]]:
    """Tarjan's components, without recursion; a component comes after all it leads to have come."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(edges)):
        if root in order:
            continue
        work = [(root, iter(edges[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    group = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member == node:
                            break
                    found.append(group)
    return found
