"""Rules that one state or one input must meet, beyond having the right keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.domain.inputs import check_value
from awf.domain.problem import NodePath, Problem
from awf.domain.workflow import (
    AgentState,
    CommandState,
    ForEachState,
    InlineFailure,
    ParallelState,
    Runnable,
    TerminalState,
    WhileState,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.domain.draft import Draft
    from awf.domain.workflow import Hook, Input, Limits, Retry, State

__all__ = ["check_frame", "check_state"]

MAX_ITERATIONS = 10_000
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")


def _conflict(message: str, path: NodePath, hint: str = "") -> Problem:
    return Problem(code="WORKFLOW.VALIDATION.CONFLICT", message=message, path=path, hint=hint)


def _range(message: str, path: NodePath) -> Problem:
    return Problem(code="WORKFLOW.PARSE.INVALID_VALUE", message=message, path=path)


def check_frame(draft: Draft) -> Iterator[Problem]:
    """Inputs, environment, hooks and limits of the workflow itself."""
    workflow = draft.workflow
    if workflow is None:
        return
    yield from _duplicates([item.name for item in workflow.inputs], ("inputs",), "input")
    for index, item in enumerate(workflow.inputs):
        yield from _input(item, ("inputs", index))
    yield from _environment(list(workflow.env), ("env",))
    yield from _limits(workflow.limits, ("limits",))
    if workflow.hooks:
        for moment in ("workflow_start", "workflow_end", "workflow_error", "workflow_cancel"):
            yield from _hooks(getattr(workflow.hooks, moment), ("hooks", moment))


def _duplicates(names: Sequence[str], path: NodePath, what: str) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(
                code="WORKFLOW.VALIDATION.DUPLICATE_NAME",
                message=f"The {what} '{name}' is listed twice.",
                path=(*path, index),
            )


def _input(item: Input, path: NodePath) -> Iterator[Problem]:
    rules = item.validation
    if rules and rules.pattern is not None:
        try:
            re.compile(rules.pattern)
        except re.error as error:
            yield _range(
                f"The pattern is not a regular expression: {error}.", (*path, "validation", "pattern")
            )
            return
    if item.enum is not None and rules and rules.enum is not None:
        yield _conflict("'enum' is given twice, on the input and under validation.", (*path, "enum"))
    if rules and (rules.min is not None or rules.max is not None) and item.type not in {"integer", "number"}:
        yield _conflict(f"min and max need an integer or number, not {item.type}.", (*path, "validation"))
    if item.default is not None:
        _, wrong = check_value(item, item.default)
        for message in wrong:
            yield Problem(
                code="WORKFLOW.PARSE.INVALID_VALUE",
                message=f"The default does not fit: {message}",
                path=(*path, "default"),
            )


def _environment(names: Sequence[str], path: NodePath) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if not _ENV_NAME.match(name):
            yield _range(f"'{name}' is not the name of an environment variable.", (*path, index))


def _limits(limits: Limits | None, path: NodePath) -> Iterator[Problem]:
    for key in ("tokens", "cost", "duration", "tool_calls"):
        value = getattr(limits, key, None)
        if value is not None and value < 0:
            yield _range(f"'{key}' must not be negative.", (*path, key))


def _hooks(hooks: Sequence[Hook], path: NodePath) -> Iterator[Problem]:
    for index, hook in enumerate(hooks):
        if (hook.log is None) == (hook.command is None):
            yield _conflict("A hook has either 'log' or 'command'.", (*path, index))


def check_state(name: str, state: State, draft: Draft) -> Iterator[Problem]:
    path: NodePath = ("states", name)
    if isinstance(state, TerminalState):
        if state.exit_code is not None and not 1 <= state.exit_code <= 255:
            yield _range("'exit_code' must be from 1 to 255.", (*path, "exit_code"))
        if state.exit_code is not None and state.status == "success":
            yield _conflict("'exit_code' needs status: failure.", (*path, "exit_code"))
        return
    yield from _runnable(state, path)
    if isinstance(state, CommandState):
        yield from _command(state, path)
    elif isinstance(state, AgentState):
        yield from _agent(state, path, draft)
    elif isinstance(state, ParallelState):
        yield from _parallel(state, path, draft)
    elif isinstance(state, ForEachState | WhileState):
        yield from _loop(state, path)


def _runnable(state: Runnable, path: NodePath) -> Iterator[Problem]:
    if isinstance(state.on_failure, InlineFailure) and not 1 <= state.on_failure.status <= 255:
        yield _range("'status' must be from 1 to 255.", (*path, "on_failure", "status"))
    if state.timeout is not None and state.timeout <= 0:
        yield _range("'timeout' must be more than zero.", (*path, "timeout"))
    if state.retry:
        yield from _retry(state.retry, (*path, "retry"))
    if state.hooks:
        yield from _hooks(state.hooks.pre, (*path, "hooks", "pre"))
        yield from _hooks(state.hooks.post, (*path, "hooks", "post"))
    yield from _environment(list(state.env), (*path, "env"))
    yield from _limits(state.limits, (*path, "limits"))


def _retry(retry: Retry, path: NodePath) -> Iterator[Problem]:
    if retry.max_attempts < 1:
        yield _range("'max_attempts' must be at least 1.", (*path, "max_attempts"))
    if not 0 <= retry.jitter <= 1:
        yield _range("'jitter' must be from 0 to 1.", (*path, "jitter"))
    if retry.multiplier < 1:
        yield _range("'multiplier' must be at least 1.", (*path, "multiplier"))


def _command(state: CommandState, path: NodePath) -> Iterator[Problem]:
    if (state.command is None) == (state.script_file is None):
        yield _conflict(
            "A step has either 'command' or 'script_file'.", path, "Add command: … or script_file: …"
        )
    if state.capture:
        try:
            "".encode(state.capture.encoding)
        except LookupError:
            yield _range(
                f"'{state.capture.encoding}' is not a text encoding.", (*path, "capture", "encoding")
            )


def _agent(state: AgentState, path: NodePath, draft: Draft) -> Iterator[Problem]:
    if (state.prompt is None) == (state.prompt_file is None):
        yield _conflict(
            "An agent has either 'prompt' or 'prompt_file'.", path, "Add prompt: … or prompt_file: …"
        )
    if state.output_schema is not None and state.output_format == "text":
        yield _conflict("'output_schema' needs output_format: json.", (*path, "output_format"))
    if state.mode == "conversation" and (state.output_schema is not None or state.output_format == "json"):
        yield _conflict(
            "A conversation has no single answer to hold to a form.",
            (*path, "mode"),
            "Use mode: single, or continue the conversation in a single step.",
        )
    source = state.conversation.continue_from if state.conversation else None
    earlier = draft.states.get(source or "")
    if earlier is None:
        return
    where = (*path, "conversation", "continue_from")
    if not isinstance(earlier, AgentState):
        yield _conflict(f"'{source}' is not an agent state.", where)
    elif earlier.provider != state.provider:
        yield _conflict(
            f"'{source}' runs on '{earlier.provider}', this state on '{state.provider}'.",
            where,
            "A session can be continued only by the same provider.",
        )


def _parallel(state: ParallelState, path: NodePath, draft: Draft) -> Iterator[Problem]:
    yield from _duplicates(state.parallel, (*path, "parallel"), "branch")
    if not state.parallel:
        yield _range("'parallel' needs at least one state.", (*path, "parallel"))
    if state.max_concurrent < 0:
        yield _range("'max_concurrent' must not be negative.", (*path, "max_concurrent"))
    needs: dict[str, list[str]] = {}
    for branch in state.parallel:
        inner = draft.states.get(branch)
        if isinstance(inner, TerminalState):
            yield _conflict(
                f"The branch '{branch}' is a terminal state; it would do nothing.", (*path, "parallel")
            )
        needs[branch] = list(getattr(inner, "depends_on", []))
    yield from _dependencies(needs)


def _dependencies(needs: dict[str, list[str]]) -> Iterator[Problem]:
    for branch, sources in needs.items():
        for index, source in enumerate(sources):
            if source not in needs:
                yield _conflict(
                    f"'{source}' is not a branch beside '{branch}'.", ("states", branch, "depends_on", index)
                )
    waiting = {branch: [s for s in sources if s in needs] for branch, sources in needs.items()}
    while ready := [branch for branch, sources in waiting.items() if not any(s in waiting for s in sources)]:
        for branch in ready:
            del waiting[branch]
    for branch in waiting:
        yield Problem(
            code="WORKFLOW.VALIDATION.CYCLE_DETECTED",
            message=f"'{branch}' waits for itself through depends_on.",
            path=("states", branch, "depends_on"),
        )


def _loop(state: ForEachState | WhileState, path: NodePath) -> Iterator[Problem]:
    yield from _duplicates(state.body, (*path, "body"), "body state")
    if not state.body:
        yield _range("'body' needs at least one state.", (*path, "body"))
    if state.on_complete and state.on_success:
        yield _conflict(
            "'on_complete' and 'on_success' mean the same for a loop.",
            (*path, "on_success"),
            "Keep one of them.",
        )
    limit: Any = state.max_iterations
    if isinstance(limit, int) and not 1 <= limit <= MAX_ITERATIONS:
        yield _range(f"'max_iterations' must be from 1 to {MAX_ITERATIONS}.", (*path, "max_iterations"))
