"""What is written on a state's box."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from awf.domain.workflow import (
    AgentState,
    CallState,
    CommandState,
    ForEachState,
    OperationState,
    ParallelState,
    PluginState,
    State,
    TerminalState,
    WhileState,
)

if TYPE_CHECKING:
    from awf.application.authoring.diagram.parts import NodeKind

__all__ = ["detail_of", "kind_of", "marks_of"]

_STRATEGIES = {
    "all_succeed": "all must succeed",
    "any_succeed": "first success wins",
    "best_effort": "best effort",
}


def kind_of(state: State) -> NodeKind:
    return cast("NodeKind", state.status if isinstance(state, TerminalState) else state.kind)


def detail_of(state: State) -> str:
    match state:
        case CommandState():
            return _command(state)
        case AgentState():
            return _agent(state)
        case ParallelState():
            return _parallel(state)
        case ForEachState():
            return _for_each(state)
        case WhileState():
            return f"while {_line(state.condition)}"
        case CallState():
            return f"workflow {state.workflow}"
        case OperationState():
            return state.operation
        case PluginState():
            return state.step_type
    return _line(state.message)


def marks_of(state: State) -> tuple[str, ...]:
    if isinstance(state, TerminalState):
        return ()
    marks = {
        "approval": state.approval is not None and state.approval is not False,
        f"{state.retry.max_attempts if state.retry else 0} attempts": state.retry is not None,
        "may fail": state.continue_on_error,
    }
    return tuple(mark for mark, holds in marks.items() if holds)


def _line(text: str) -> str:
    """The first line that says something, and a sign when there is more."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return "" if not lines else lines[0] + (" …" if len(lines) > 1 else "")


def _command(state: CommandState) -> str:
    if state.command:
        return f"$ {_line(state.command)}"
    return _line(state.script_file or "")


def _agent(state: AgentState) -> str:
    model = state.options.get("model")
    words = [
        state.provider,
        model if isinstance(model, str) else "",
        "conversation" if state.mode == "conversation" else "",
    ]
    return " · ".join(_line(word) for word in words if word)


def _parallel(state: ParallelState) -> str:
    width = f"{state.max_concurrent} at a time" if state.max_concurrent else ""
    return " · ".join(word for word in (_STRATEGIES[state.strategy], width) if word)


def _for_each(state: ForEachState) -> str:
    if isinstance(state.items, str):
        return f"for each of {_line(state.items)}"
    count = len(state.items)
    return f"for each of {count} item{'' if count == 1 else 's'}"
