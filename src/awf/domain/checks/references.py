"""Do templates and conditions speak only of things that exist?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.domain.checks.graph import StateGraph, contained
from awf.domain.ports.expressions import ExpressionError, Expressions, Reference
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.shape import Kind
from awf.domain.workflow import CommandState, ForEachState, WhileState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.draft import Draft, Use

__all__ = ["NAMESPACES", "STATE_FIELDS", "check_references"]

STATE_FIELDS = (
    "output",
    "stderr",
    "exit_code",
    "status",
    "json",
    "response",
    "usage",
    "error",
    "attempts",
    "outputs",
    "branches",
    "iterations",
    "duration",
    "truncated",
    "output_file",
    "session",
)
NAMESPACES: dict[str, set[str] | None] = {
    "inputs": None,
    "states": None,
    "vars": None,
    "env": None,
    "workflow": {"id", "name", "version", "current_state", "started_at", "duration", "dir"},
    "loop": {"item", "index", "index1", "first", "last", "length", "parent"},
    "error": {"message", "state", "exit_code", "code", "type"},
    "context": {"working_dir", "user", "hostname"},
    "awf": {
        "prompts_dir",
        "scripts_dir",
        "config_dir",
        "data_dir",
        "workflows_dir",
        "skills_dir",
        "roles_dir",
        "templates_dir",
        "version",
    },
}


class Finding(NamedTuple):
    problem: Problem
    offset: int = 0


def check_references(draft: Draft, expressions: Expressions, graph: StateGraph) -> Iterator[Finding]:
    return _References(draft, expressions, graph).run()


class _References:
    def __init__(self, draft: Draft, expressions: Expressions, graph: StateGraph) -> None:
        self.draft = draft
        self.expressions = expressions
        self.states = set(draft.states) | draft.broken_states
        workflow = draft.workflow
        declared = workflow is not None and draft.inputs_known
        self.inputs = {item.name for item in workflow.inputs} if workflow and declared else None
        self.variables = set(_captured(draft))
        self.graph = graph
        self.after: list[int] | None = None
        self.looping = _looping_states(draft)

    def run(self) -> Iterator[Finding]:
        for use in self.draft.uses:
            if use.kind is Kind.STATE:
                yield from self._state_name(use)
            elif use.kind is Kind.TEMPLATE and "{" in use.text:
                yield from self._expression(use, "TEMPLATE_SYNTAX")
            elif use.kind is Kind.CONDITION:
                yield from self._expression(use, "CONDITION_SYNTAX")

    def _state_name(self, use: Use) -> Iterator[Finding]:
        if use.text not in self.states:
            close = suggest(use.text, self.states)
            yield Finding(
                _problem("MISSING_STATE", f"State '{use.text}' does not exist.", use.path, _meant(close))
            )

    def _expression(self, use: Use, syntax_code: str) -> Iterator[Finding]:
        try:
            compiled = (
                self.expressions.condition(use.text)
                if use.kind is Kind.CONDITION
                else self.expressions.template(use.text)
            )
        except ExpressionError as error:
            yield Finding(_problem(syntax_code, error.message, use.path, error.hint), error.offset)
            return
        for reference in compiled.references:
            yield from self._reference(reference, use.path)

    def _reference(self, reference: Reference, path: NodePath) -> Iterator[Finding]:
        namespace, *rest = reference.parts
        if namespace not in NAMESPACES:
            close = suggest(namespace, NAMESPACES)
            hint = (
                _meant(close)
                or f"Known names: {', '.join(NAMESPACES)}. For text meant for another program write {{% raw %}}…{{% endraw %}}."
            )
            yield Finding(
                _problem("UNDEFINED_VARIABLE", f"'{namespace}' is not defined.", path, hint), reference.offset
            )
        elif namespace == "loop" and not self._in_loop(path):
            yield Finding(
                _problem("UNDEFINED_VARIABLE", "'loop' exists only in the body of a loop.", path),
                reference.offset,
            )
        elif not rest:
            return
        elif namespace == "inputs":
            yield from self._known(
                rest[0], self.inputs, reference, path, "UNDEFINED_INPUT", "Input '{}' is not declared."
            )
        elif namespace == "vars":
            message = "No state captures its output as '{}'."
            yield from self._known(rest[0], self.variables, reference, path, "UNDEFINED_VARIABLE", message)
        elif namespace == "states":
            yield from self._state_reference(rest, reference, path)
        elif NAMESPACES[namespace] is not None:
            message = f"'{namespace}' has no field '{{}}'."
            yield from self._known(
                rest[0], NAMESPACES[namespace], reference, path, "UNDEFINED_VARIABLE", message
            )

    def _known(
        self, name: str, known: set[str] | None, reference: Reference, path: NodePath, code: str, message: str
    ) -> Iterator[Finding]:
        if known is not None and name not in known:
            hint = _meant(suggest(name, known)) or (f"Known: {', '.join(sorted(known))}." if known else "")
            yield Finding(_problem(code, message.format(name), path, hint), reference.offset)

    def _state_reference(self, rest: list[str], reference: Reference, path: NodePath) -> Iterator[Finding]:
        name = rest[0]
        if name not in self.states:
            hint = _meant(suggest(name, self.states))
            yield Finding(
                _problem("UNDEFINED_STEP", f"State '{name}' does not exist.", path, hint), reference.offset
            )
            return
        if len(rest) > 1:
            message = "A state has no field '{}'."
            yield from self._known(rest[1], set(STATE_FIELDS), reference, path, "UNDEFINED_VARIABLE", message)
        if not reference.guarded and not self._may_have_run(name, path):
            message = f"State '{name}' can never have run before '{path[1]}'."
            hint = "Use a state that runs earlier, or guard it with `default(…)`."
            yield Finding(_problem("UNDEFINED_STEP", message, path, hint), reference.offset)

    def _may_have_run(self, name: str, path: NodePath) -> bool:
        """Whether the state can run before the place of use does. Without a sound graph nothing is claimed."""
        if path[0] != "states" or self.draft.broken_states or name not in self.graph.index:
            return True
        here = self.graph.index.get(str(path[1]))
        if here is None or (name == path[1] and _after_running(path)):
            return True
        if self.after is None:
            self.after = self.graph.successors()
        return bool(self.after[self.graph.index[name]] >> here & 1)

    def _in_loop(self, path: NodePath) -> bool:
        return path[0] == "states" and (
            str(path[1]) in self.looping or str(path[1]) in self.draft.broken_states
        )


def _after_running(path: NodePath) -> bool:
    """Whether this key of a state is looked at only once the state has run."""
    return path[2] in {"transitions", "on_failure", "break_when", "while", "max_iterations", "hooks"}


def _captured(draft: Draft) -> Iterator[str]:
    for state in draft.states.values():
        if isinstance(state, CommandState) and state.capture:
            yield from (name for name in (state.capture.stdout, state.capture.stderr) if name)


def _looping_states(draft: Draft) -> set[str]:
    """Loops, and every state that runs inside one."""
    todo = [name for name, state in draft.states.items() if isinstance(state, ForEachState | WhileState)]
    seen = set(todo)
    while todo:
        state = draft.states.get(todo.pop())
        for name in contained(state) if state is not None else []:
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def _meant(close: str) -> str:
    return f"did you mean '{close}'?" if close else ""


def _problem(code: str, message: str, path: NodePath, hint: str = "") -> Problem:
    return Problem(code=f"WORKFLOW.VALIDATION.{code}", message=message, path=path, hint=hint)
