"""What a step knows of the run around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.run import ErrorInfo, StepResult

if TYPE_CHECKING:
    from awf.application.running.scope import Frame, Scope
    from awf.application.running.services import RunServices
    from awf.application.running.walk import Walk
    from awf.domain.events import Event
    from awf.domain.ports.durability import OwnedRun
    from awf.domain.program import Program
    from awf.domain.workflow import Runnable

__all__ = ["EndOfRecord", "Ending", "RunContext", "StepContext", "failed", "retryable"]


class EndOfRecord(Exception):  # noqa: N818  not a fault: the place where a look back ends
    """Nothing more is recorded here."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a workflow ended."""

    error: ErrorInfo | None = None
    message: str = ""


class RunContext:
    """What all walks of one run share."""

    def __init__(self, owned: OwnedRun, program: Program, services: RunServices) -> None:
        self.owned = owned
        self.program = program
        self.services = services
        self.approved: set[str] = set()  # states approved for the whole run
        self.active_before = 0.0  # seconds of work in earlier processes
        self.began = services.clock()
        self.looks_back = owned.finished_steps > 0  # a new run has nothing to find again
        self.retry_failed = owned.resumed and owned.record.status == "failed"


class StepContext:
    """One attempt at one state, as the step kinds see it."""

    def __init__(self, walk: Walk, name: str, path: str, key: str, frame: Frame) -> None:
        self.walk = walk
        self.name = name
        self.path = path  # names the visit
        self.key = key  # names the attempt
        self.frame = frame

    @property
    def services(self) -> RunServices:
        return self.walk.services

    @property
    def scope(self) -> Scope:
        return self.walk.scope

    @property
    def durable(self) -> OwnedRun:
        return self.walk.durable

    def emit(self, event: Event, *, once: str = "") -> None:
        self.durable.emit(event, once=once)

    def context(self, *, pending: bool = False) -> dict[str, Any]:
        context = self.scope.context(self.frame.loop, pending=pending)
        context["workflow"]["current_state"] = self.name
        return context

    def render(self, text: str) -> str:
        return self.services.expressions.template(text).render(self.context())

    def value(self, written: Any) -> Any:
        """Plain data with every template in it filled in, typed where a template is alone in its value."""
        if isinstance(written, str):
            return self.services.expressions.template(written).value(self.context())
        if isinstance(written, list):
            return [self.value(item) for item in written]
        if isinstance(written, dict):
            return {key: self.value(item) for key, item in written.items()}
        return written

    def holds(self, condition: str) -> bool:
        return self.services.expressions.condition(condition).holds(self.context(pending=True))

    def read_file(self, written: str) -> str:
        """The text of a file named in the workflow."""
        name = self.render(written)
        found = self.services.files.find(name, self.scope.file)
        if found is None:
            raise AwfError(
                "USER.INPUT.MISSING_FILE",
                f"There is no file {name}.",
                hint="Paths are looked up beside the workflow file, then in the working directory.",
            )
        return self.services.files.read(found)


def failed(code: str, message: str, hint: str = "", *, permanent: bool = False) -> StepResult:
    return StepResult(status="failed", exit_code=1, error=ErrorInfo(code, message, hint, permanent=permanent))


def retryable(state: Runnable, result: StepResult, attempt: int) -> bool:
    retry = state.retry
    if retry is None or attempt >= retry.max_attempts or result.ok:
        return False
    if result.error and (result.error.abort or result.error.permanent):
        return False
    return not retry.retryable_exit_codes or result.exit_code in retry.retryable_exit_codes
