"""Run several states at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from awf.application.running.context import EndOfRecord, StepContext
from awf.application.running.scope import Frame
from awf.application.running.tasks import spawn
from awf.domain.events import StepSkipped
from awf.domain.run import ErrorInfo, StepResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.workflow import ParallelState

__all__ = ["run_parallel"]


async def run_parallel(step: StepContext, state: ParallelState) -> StepResult:
    branches = _Branches(step, state)
    if step.frame.replay_only:
        await branches.look_back()
    else:
        await branches.run()
    return _joined(state, branches.results, branches.counts)


class _Branches:
    def __init__(self, step: StepContext, state: ParallelState) -> None:
        self.step = step
        self.state = state
        self.frame = Frame(
            f"{step.key}/", step.frame.loop, replay_only=step.frame.replay_only, inner=True, branches=True
        )
        self.results: dict[str, StepResult] = {}
        self._slots = asyncio.Semaphore(state.max_concurrent or len(state.parallel))
        self._ended = {name: asyncio.Event() for name in state.parallel}

    async def look_back(self) -> None:
        """Find again what finished branches left; one that was cancelled has left nothing."""
        for name in self.state.parallel:
            try:
                self.results[name] = await self.step.walk.execute(name, self.frame)
            except EndOfRecord:
                continue

    async def run(self) -> None:
        tasks = {
            spawn(self._branch(name), f"branch {self.frame.prefix}{name}", awaited=True): name
            for name in self.state.parallel
        }
        waiting = set(tasks)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in sorted(done, key=lambda task: self.state.parallel.index(tasks[task])):
                    self._note(tasks[task], task.result())
                if waiting and self._decided():
                    break
        finally:
            await _end_all(waiting)
        for name in self.state.parallel:
            if name not in self.results:
                self._note(name, _not_finished())

    def _note(self, name: str, result: StepResult) -> None:
        self.results[name] = result
        self._ended[name].set()

    def _decided(self) -> bool:
        if self.state.strategy == "all_succeed":
            return any(not self.counts(name) for name in self.results)
        if self.state.strategy == "any_succeed":
            return any(result.ok for result in self.results.values())
        return any(result.error and result.error.abort for result in self.results.values())

    def counts(self, name: str) -> bool:
        return self.results[name].ok or bool(
            getattr(self.step.scope.workflow.states[name], "continue_on_error", False)
        )

    async def _branch(self, name: str) -> StepResult:
        needs = getattr(self.step.scope.workflow.states[name], "depends_on", [])
        for needed in needs:
            await self._ended[needed].wait()
        missing = [needed for needed in needs if not self.results[needed].ok]
        if missing:
            return self._skip(name, f"'{missing[0]}' did not succeed")
        async with self._slots:
            return await self.step.durable.branch(
                f"{self.frame.prefix}{name}", lambda: self.step.walk.execute(name, self.frame)
            )

    def _skip(self, name: str, reason: str) -> StepResult:
        path = f"{self.frame.prefix}{name}"
        kind = self.step.scope.workflow.states[name].kind
        self.step.emit(StepSkipped(path=path, step=name, kind=kind, reason=reason), once=f"{path}:skipped")
        return StepResult(
            status="cancelled",
            exit_code=1,
            error=ErrorInfo("EXECUTION.STEP.CANCELLED", f"Not run: {reason}."),
        )


async def _end_all(tasks: set[asyncio.Task[StepResult]]) -> None:
    """Cancel and wait; a second cancellation on the way is passed on to the branches."""
    for task in tasks:
        task.cancel()
    while pending := {task for task in tasks if not task.done()}:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError:
            for task in pending:
                task.cancel()
            raise
    for task in tasks:
        if not task.cancelled():
            task.exception()


def _not_finished() -> StepResult:
    return StepResult(
        status="cancelled",
        exit_code=1,
        error=ErrorInfo("EXECUTION.STEP.CANCELLED", "Another branch decided the outcome."),
    )


def _joined(
    state: ParallelState, results: dict[str, StepResult], counts: Callable[[str], bool]
) -> StepResult:
    ordered = {name: results[name] for name in state.parallel if name in results}
    good = [name for name, result in ordered.items() if result.ok]
    bad = [name for name, result in ordered.items() if result.status == "failed"]
    summary = f"{len(good)} of {len(state.parallel)} branches succeeded"
    aborting = next((r.error for r in ordered.values() if r.error and r.error.abort), None)
    if aborting is not None:
        error: ErrorInfo | None = aborting
    elif state.strategy == "all_succeed":
        error = _failure(ordered, bad) if any(not counts(name) for name in ordered) else None
    elif state.strategy == "any_succeed":
        error = None if good else _failure(ordered, bad)
    else:
        error = None
    return StepResult(
        status="failed" if error else "success",
        output=summary,
        exit_code=1 if error else 0,
        error=error,
        branches=ordered,
    )


def _failure(results: dict[str, StepResult], bad: list[str]) -> ErrorInfo:
    first = bad[0] if bad else next(iter(results), "")
    cause = results[first].error if first in results else None
    what = (
        f"{len(bad)} of {len(results)} branches failed" if len(bad) != 1 else f"The branch '{first}' failed"
    )
    return ErrorInfo(
        "EXECUTION.PARALLEL.FAILED", f"{what}: {cause.message if cause else 'no branch succeeded'}"
    )
