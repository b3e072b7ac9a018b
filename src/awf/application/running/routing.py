"""Where to go after a state. Pure: the same results lead the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.domain.workflow import ForEachState, InlineFailure, WhileState

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.run import ErrorInfo, StepResult
    from awf.domain.workflow import Runnable

__all__ = ["Fail", "FallThrough", "Goto", "Route", "retry_delay", "route"]


class Goto(msgspec.Struct, frozen=True):
    state: str


class Fail(msgspec.Struct, frozen=True):
    """The workflow ends here, failed."""

    error: ErrorInfo
    inline: InlineFailure | None = None


class FallThrough(msgspec.Struct, frozen=True):
    """The state succeeded and says nothing about what comes next."""


Route = Goto | Fail | FallThrough


def route(state: Runnable, result: StepResult, holds: Callable[[str], bool]) -> Route:
    """`transitions` first, then on_success or on_failure. An error that aborts goes past them all."""
    error = result.error
    if error is not None and error.abort and not result.ok:
        return Fail(error)
    if result.leave_to:
        return Goto(result.leave_to)
    for transition in state.transitions:
        if transition.when is None or holds(transition.when):
            return Goto(transition.goto)
    if result.ok or state.continue_on_error:
        target = state.on_success
        if target is None and isinstance(state, ForEachState | WhileState):
            target = state.on_complete
        return Goto(target) if target else FallThrough()
    assert error is not None
    if isinstance(state.on_failure, str):
        return Goto(state.on_failure)
    return Fail(error, state.on_failure)


def retry_delay(state: Runnable, attempt: int, spread: float) -> float:
    """The pause after a failed attempt. `spread`, from -1 to 1, decides where in the jitter it lies."""
    retry = state.retry
    assert retry is not None
    delay = retry.initial_delay
    if retry.backoff == "linear":
        delay *= attempt
    elif retry.backoff == "exponential":
        delay *= retry.multiplier ** (attempt - 1)
    if retry.max_delay is not None:
        delay = min(delay, retry.max_delay)
    return max(0.0, delay * (1 + retry.jitter * spread))
