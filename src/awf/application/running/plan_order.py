"""The order in which states can run. Pure: it looks at routes only, never at values.

A wave is the earliest point at which its states can be reached. The main chain does one state at a time, so several
states in one wave are alternatives; only the branches of a parallel state run together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.application.running.plan_values import Wave
from awf.domain.checks.graph import contained
from awf.domain.workflow import ForEachState, ParallelState, TerminalState, WhileState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.workflow import State, Workflow

__all__ = ["Order", "order_of"]


class Order(NamedTuple):
    waves: list[Wave]
    listed: dict[str, str]  # every state in the order of the waves → the state that runs it, or nothing
    branches: set[str]  # states that run only as branches, whose own routes nobody follows


def order_of(workflow: Workflow) -> Order:
    return _Ordering(workflow.states).order(workflow.initial)


class _Ordering:
    def __init__(self, states: Mapping[str, State]) -> None:
        self._states = states
        self._reached: set[str] = set()
        self._opened: set[str] = set()

    def order(self, initial: str) -> Order:
        good = self._levels([initial], _onward)
        rescues = [target for level in good for name in level for target in self._targets(name, _on_failure)]
        bad = self._levels(rescues, lambda state: [*_onward(state), *_on_failure(state)])
        waves = [Wave(states=level, inside=self._inside(level)) for level in good]
        waves += [Wave(states=level, after="failure", inside=self._inside(level)) for level in bad]
        listed: dict[str, str] = {}
        for wave in waves:
            _list(wave, "", listed)
        return Order(waves, listed, self._only_branches())

    def _levels(self, starts: Sequence[str], ways: Callable[[State], list[str]]) -> list[list[str]]:
        levels: list[list[str]] = []
        level = self._fresh(starts)
        while level:
            levels.append(level)
            level = self._fresh([target for name in level for target in self._targets(name, ways)])
        return levels

    def _fresh(self, names: Sequence[str]) -> list[str]:
        new = [name for name in dict.fromkeys(names) if name not in self._reached and name in self._states]
        self._reached.update(new)
        return new

    def _targets(
        self, name: str, ways: Callable[[State], list[str]], around: set[str] | None = None
    ) -> list[str]:
        """Where a state leads; for a loop also where its body goes when it leaves the loop."""
        state = self._states[name]
        found = ways(state)
        passed = around if around is not None else set()
        if isinstance(state, ForEachState | WhileState) and name not in passed:
            passed.add(name)
            inside = {*state.body, name}
            for inner in state.body:
                if inner in self._states:
                    found += [to for to in self._targets(inner, ways, passed) if to not in inside]
        return found

    # -- inside ----------------------------------------------------------------------------------------------------

    def _inside(self, names: Sequence[str]) -> dict[str, list[Wave]]:
        """What parallel states and loops run. Told once, where they are first met."""
        found = {}
        for name in names:
            state = self._states[name]
            inner = [part for part in contained(state) if part in self._states]
            if inner and name not in self._opened:
                self._opened.add(name)
                together = isinstance(state, ParallelState)
                groups = self._groups(inner) if together else [[part] for part in inner]
                found[name] = [
                    Wave(states=group, together=together and len(group) > 1, inside=self._inside(group))
                    for group in groups
                ]
        return found

    def _groups(self, branches: list[str]) -> list[list[str]]:
        """Branches that can begin at the same time."""
        waiting = {name: set(getattr(self._states[name], "depends_on", ())) for name in branches}
        groups = []
        while waiting:
            ready = [name for name, needs in waiting.items() if not needs & waiting.keys()] or list(waiting)
            groups.append(ready)
            for name in ready:
                del waiting[name]
        return groups

    def _only_branches(self) -> set[str]:
        branches: set[str] = set()
        bodies: set[str] = set()
        for state in self._states.values():
            (branches if isinstance(state, ParallelState) else bodies).update(contained(state))
        return branches - bodies - self._reached


def _onward(state: State) -> list[str]:
    if isinstance(state, TerminalState):
        return []
    targets = [transition.goto for transition in state.transitions]
    targets += [state.on_success] if state.on_success else []
    if isinstance(state, ForEachState | WhileState) and state.on_complete:
        targets.append(state.on_complete)
    return targets


def _on_failure(state: State) -> list[str]:
    if isinstance(state, TerminalState) or state.continue_on_error or not isinstance(state.on_failure, str):
        return []
    return [state.on_failure]


def _list(wave: Wave, within: str, listed: dict[str, str]) -> None:
    for name in wave.states:
        listed.setdefault(name, within)
        for inner in wave.inside.get(name, ()):
            _list(inner, name, listed)
