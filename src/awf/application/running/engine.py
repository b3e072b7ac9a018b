"""From a program and inputs to an outcome: the whole life of one run."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from awf.application.running.announce import usage_fields
from awf.application.running.context import Ending, RunContext
from awf.application.running.scope import Scope
from awf.application.running.steps.subworkflow import workflow_hooks, workflow_outputs
from awf.application.running.tasks import end_task, spawn
from awf.application.running.walk import Walk
from awf.domain.errors import EXIT_CANCELLED, AwfError, exit_status
from awf.domain.events import (
    Event,
    WorkflowCancelled,
    WorkflowCompleted,
    WorkflowFailed,
    WorkflowResumed,
    WorkflowStarted,
)
from awf.domain.ports.durability import OwnedRun, RunOutcome
from awf.domain.ports.expressions import ExpressionError
from awf.domain.run import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.running.services import RunServices
    from awf.domain.program import Program

__all__ = ["Execution"]


def _readable(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Variables as text: bytes that are not UTF-8 cannot go into a template, an event or a record."""
    if all(value.isascii() for value in variables.values()):
        return variables
    return {name: value.encode("utf-8", "replace").decode() for name, value in variables.items()}


class Execution:
    """Runs (or goes on with) an owned run to its end, and records how it ended.

    Cancelling `run` cancels the run: its processes are ended, the end is recorded, and an outcome is returned.
    """

    def __init__(self, owned: OwnedRun, program: Program, services: RunServices) -> None:
        self.owned = owned
        self.program = program
        self.services = services
        self.began = services.clock()
        record = owned.record
        fixed = {
            "env": _readable(services.environment),
            "context": services.surroundings,
            "awf": services.places,
            "workflow": {
                "id": record.id,
                "dir": record.source.rsplit("/", 1)[0] if "/" in record.source else ".",
            },
        }
        self.run_context = RunContext(owned, program, services)
        scope = Scope(
            program.main, program.definition.root, dict(record.inputs), "", record.started_at, fixed
        )
        self.walk = Walk(self.run_context, scope)
        self._walking: asyncio.Task[RunOutcome] | None = None
        self._reason = ""  # why it is to stop
        self._left = False

    def cancel(self, reason: str) -> None:
        """End the run; may be said before it has begun. Said again, it ends without its hooks."""
        self._reason = self._reason or reason
        if self._walking is not None:
            self._walking.cancel()

    def leave(self) -> None:
        """Stop, and record no end: whoever resumes the run goes on where it stands."""
        self._left = True
        self.cancel("left")

    async def run(self) -> RunOutcome:
        attributes = {
            "workflow.name": self.program.main.name,
            "workflow.version": self.program.main.version,
            "execution_id": self.owned.run_id,
        }
        self.began = self.services.clock()
        with self.services.tracer.span("workflow.run", attributes) as span:
            self._announce()
            outcome = await self._outcome()
            if outcome.error:
                span.fail(f"{outcome.error.code}: {self.services.masker.mask(outcome.error.message)}")
            return outcome

    def _announce(self) -> None:
        record, name, version = self.owned.record, self.program.main.name, self.services.version
        if self.owned.resumed:
            self.owned.emit(
                WorkflowResumed(workflow=name, finished_steps=self.owned.finished_steps, version=version)
            )
        else:
            shown = self.services.masker.mask_data(record.inputs)
            self.owned.emit(
                WorkflowStarted(
                    workflow=name, source=record.source, inputs=shown, version=version, parent=record.parent
                ),
                once="workflow.started",
            )

    async def _outcome(self) -> RunOutcome:
        """The walk, until it ends or somebody asks it to stop; asked again, it stops at once."""
        self._walking = walking = spawn(self._walk(), f"run {self.owned.run_id}", awaited=True)
        listening = spawn(self.owned.cancelled(), "cancel requests")
        if self._reason:
            walking.cancel()
        waiting: set[asyncio.Task[Any]] = {walking, listening}
        try:
            while not walking.done():
                try:
                    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                except asyncio.CancelledError:
                    self.cancel("interrupted")
                    continue
                if listening in done:
                    waiting.discard(listening)
                    if not self._reason:
                        self.cancel(listening.result())
        finally:
            await end_task(listening)
        if walking.cancelled() and self._left:
            return RunOutcome(status="waiting")
        if walking.cancelled():
            return await self._cancelled(self._reason or "cancelled")
        return walking.result()

    async def _walk(self) -> RunOutcome:
        try:
            await workflow_hooks(self.walk, "workflow_start")
            ending = await self.walk.run()
            outputs = workflow_outputs(self.walk) if ending.error is None else {}
        except ExpressionError as error:
            ending, outputs = (
                Ending(error=ErrorInfo("EXECUTION.TEMPLATE.FAILED", f"outputs: {error.message}", error.hint)),
                {},
            )
        except AwfError as error:
            ending, outputs = Ending(error=ErrorInfo(error.code, error.message, error.hint)), {}
        await workflow_hooks(self.walk, "workflow_error" if ending.error else "workflow_end", ending)
        return await self._finish(ending, outputs)

    async def _finish(self, ending: Ending, outputs: dict[str, Any]) -> RunOutcome:
        name, usage, error = self.program.main.name, self.walk.scope.usage, ending.error
        duration = int((self.services.clock() - self.began) * 1000)
        if error is None:
            outcome = RunOutcome(status="completed", message=ending.message, outputs=outputs, usage=usage)
            shown = self.services.masker.mask_data(outputs)
            event: Event = WorkflowCompleted(
                workflow=name,
                duration_ms=duration,
                message=ending.message,
                outputs=shown,
                usage=usage_fields(usage),
            )
        else:
            status = error.exit_status or exit_status(error.code)
            outcome = RunOutcome(
                status="failed", exit_status=status, message=ending.message, error=error, usage=usage
            )
            event = WorkflowFailed(
                workflow=name,
                duration_ms=duration,
                code=error.code,
                message=error.message,
                hint=error.hint,
                state=error.state,
                exit_status=status,
                usage=usage_fields(usage),
            )
        await self.owned.finish(outcome, (event,))
        return outcome

    async def _cancelled(self, reason: str) -> RunOutcome:
        with contextlib.suppress(asyncio.CancelledError):  # asked once more, the run stops without its hooks
            await workflow_hooks(self.walk, "workflow_cancel")
        error = ErrorInfo(
            "EXECUTION.WORKFLOW.CANCELLED",
            reason[:1].upper() + reason[1:] + ".",
            f"Continue it with `awf resume {self.owned.run_id}`.",
        )
        outcome = RunOutcome(
            status="cancelled", exit_status=EXIT_CANCELLED, error=error, usage=self.walk.scope.usage
        )
        duration = int((self.services.clock() - self.began) * 1000)
        event = WorkflowCancelled(workflow=self.program.main.name, duration_ms=duration, reason=reason)
        await self.owned.finish(outcome, (event,))
        return outcome
