"""The events that tell of a state's course."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.running.context import StepContext, retryable
from awf.application.running.routing import retry_delay
from awf.domain.events import Event, StepCompleted, StepFailed, StepRetrying, StepStarted
from awf.domain.ports.expressions import ExpressionError
from awf.domain.workflow import (
    AgentState,
    CallState,
    CommandState,
    ForEachState,
    OperationState,
    ParallelState,
    PluginState,
    WhileState,
)

if TYPE_CHECKING:
    from awf.domain.run import StepResult, Usage
    from awf.domain.workflow import Runnable

__all__ = ["LEAVES", "cancelled", "ended", "is_leaf", "started", "usage_fields"]

LEAVES = {"step", "agent", "operation", "plugin"}
_SHOWN = 2000  # characters of output that travel with an event


def is_leaf(state: Runnable) -> bool:
    if isinstance(state, AgentState):
        return state.mode == "single"
    return isinstance(state, CommandState | OperationState | PluginState)


def started(step: StepContext, state: Runnable, attempt: int) -> StepStarted:
    return StepStarted(
        path=step.path,
        step=step.name,
        kind=state.kind,
        attempt=attempt,
        description=state.description,
        detail=_detail(step, state),
        total=len(state.parallel) if isinstance(state, ParallelState) else 0,
    )


def _detail(step: StepContext, state: Runnable) -> str:
    if isinstance(state, CommandState):
        text = _rendered(step, state.command or state.script_file or "")
    elif isinstance(state, AgentState):
        text = _rendered(step, state.provider)
    elif isinstance(state, CallState):
        text = state.workflow
    elif isinstance(state, OperationState):
        text = state.operation
    elif isinstance(state, PluginState):
        text = state.step_type
    elif isinstance(state, WhileState):
        text = state.condition
    elif isinstance(state, ForEachState):
        text = ", ".join(state.body)
    else:
        text = ""
    first = text.strip().splitlines()[0] if text.strip() else ""
    return first if len(first) <= 100 else first[:99] + "…"


def _rendered(step: StepContext, template: str) -> str:
    """What will run, as far as it can be told; the step itself reports a template that fails."""
    try:
        return step.render(template)
    except ExpressionError:
        return template


def ended(
    state: Runnable, name: str, path: str, result: StepResult, attempt: int, *, final: bool = False
) -> Event:
    duration = max(0, int((result.finished_at - result.started_at) * 1000))
    if result.ok:
        return StepCompleted(
            path=path,
            step=name,
            kind=state.kind,
            duration_ms=duration,
            exit_code=result.exit_code,
            output=result.output[-_SHOWN:],
            usage=usage_fields(result.usage),
            attempts=attempt,
        )
    error = result.error
    assert error is not None
    if not final and retryable(state, result, attempt):
        assert state.retry is not None
        return StepRetrying(
            path=path,
            step=name,
            attempt=attempt + 1,
            max_attempts=state.retry.max_attempts,
            delay_ms=int(retry_delay(state, attempt, 0) * 1000),
            code=error.code,
            message=error.message,
        )
    return StepFailed(
        path=path,
        step=name,
        kind=state.kind,
        duration_ms=duration,
        code=error.code,
        message=error.message,
        exit_code=result.exit_code,
        output=result.output[-_SHOWN:],
        stderr=result.stderr[-_SHOWN:],
        attempts=attempt,
        handled=bool(not error.abort and (state.continue_on_error or state.transitions or state.on_failure)),
    )


def cancelled(state: Runnable, step: StepContext, seconds: float) -> StepFailed:
    return StepFailed(
        path=step.path,
        step=step.name,
        kind=state.kind,
        duration_ms=int(seconds * 1000),
        code="EXECUTION.STEP.CANCELLED",
        message="cancelled",
        cancelled=True,
        handled=True,
    )


def usage_fields(usage: Usage | None) -> dict[str, Any] | None:
    return None if usage is None else msgspec.to_builtins(usage)
