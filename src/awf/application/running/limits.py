"""Limits on what a run may spend. They stop the run before the next step, never in the middle of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.domain.run import ErrorInfo, Usage

if TYPE_CHECKING:
    from awf.application.running.context import RunContext
    from awf.application.running.scope import Scope
    from awf.domain.run import StepResult
    from awf.domain.workflow import Limits, Runnable

__all__ = ["limit_error", "step_limit_error"]


def limit_error(run: RunContext, scope: Scope) -> ErrorInfo | None:
    """Whether new work may begin in this workflow."""
    if scope.limit_passed is not None:
        return scope.limit_passed
    limits = scope.workflow.limits
    if limits is None:
        return None
    elapsed = run.active_before + run.services.clock() - run.began
    return _passed(limits, scope.usage, elapsed, "the workflow")


def step_limit_error(state: Runnable, result: StepResult) -> StepResult:
    """The result, marked when the state itself went past its limits."""
    if state.limits is None:
        return result
    error = _passed(state.limits, result.usage, result.finished_at - result.started_at, "the step")
    return msgspec.structs.replace(result, over_limit=error) if error else result


def _passed(limits: Limits, usage: Usage | None, elapsed: float, whose: str) -> ErrorInfo | None:
    spent = usage or Usage()
    checks = (
        ("tokens", limits.tokens, spent.tokens),
        ("cost", limits.cost, spent.cost),
        ("duration", limits.duration, elapsed),
        ("tool_calls", limits.tool_calls, spent.tool_calls),
    )
    for name, limit, value in checks:
        if limit is not None and value is not None and value > limit:
            message = f"The limit on {name} of {whose} is {limit:g}; {value:g} were used."
            return ErrorInfo(
                "EXECUTION.LIMIT.EXCEEDED",
                message,
                "Raise the limit, then `awf rerun RUN --from STEP`.",
                abort=True,
            )
    return None
