"""One file per kind of state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.workflow import AgentState, CallState, ParallelState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.running.context import StepContext
    from awf.domain.run import StepResult
    from awf.domain.workflow import Runnable

__all__ = ["composite_runner"]


def composite_runner(state: Runnable) -> Callable[[StepContext, Any], Awaitable[StepResult]]:
    """What walks the inside of a composite state."""
    if isinstance(state, ParallelState):
        from awf.application.running.steps.parallel import run_parallel

        return run_parallel
    if isinstance(state, CallState):
        from awf.application.running.steps.subworkflow import run_subworkflow

        return run_subworkflow
    if isinstance(state, AgentState):
        from awf.application.running.conversation import run_conversation

        return run_conversation
    from awf.application.running.steps.loop import run_loop

    return run_loop
