"""A run and what its steps came to."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["ErrorInfo", "RunRecord", "RunStatus", "Session", "StepResult", "StepStatus", "Usage", "add_usage"]

RunStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled", "interrupted"]
StepStatus = Literal["success", "failed", "skipped", "cancelled", "pending"]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What agents spent. `None` means unknown, which is not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    cost_source: Literal["reported", "computed", "unknown"] = "unknown"
    tool_calls: int = 0
    context_window: int | None = None  # how many tokens the model can hold, where the agent tells

    @property
    def tokens(self) -> int | None:
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)


def _plus(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else a + b


def add_usage(a: Usage | None, b: Usage | None) -> Usage | None:
    if a is None or b is None:
        return a or b
    ranked = ("unknown", "computed", "reported")
    known = [u.cost_source for u in (a, b) if u.cost is not None]
    return Usage(
        input_tokens=_plus(a.input_tokens, b.input_tokens),
        output_tokens=_plus(a.output_tokens, b.output_tokens),
        cost=_plus(a.cost, b.cost),
        cost_source=min(known, key=ranked.index) if known else "unknown",
        tool_calls=a.tool_calls + b.tool_calls,
        context_window=b.context_window or a.context_window,
    )


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    code: str
    message: str
    hint: str = ""
    state: str = ""
    exit_status: int | None = None  # what `awf run` should exit with, when the workflow chose it
    abort: bool = False  # ends the run whatever the workflow's routes say
    permanent: bool = False  # trying again would come to the same


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent session that can be continued."""

    provider: str
    id: str
    turns: int = 0
    history: list[dict[str, Any]] = []


class StepResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one state came to. Written once, then read by templates, conditions and people."""

    status: StepStatus
    output: str = ""
    stderr: str = ""
    exit_code: int = 0
    json: Any = None
    response: str = ""
    usage: Usage | None = None
    session: Session | None = None
    error: ErrorInfo | None = None
    started_at: float = 0.0
    finished_at: float = 0.0
    attempts: int = 1
    truncated: bool = False  # output or stderr holds only a part; the file has all of it
    output_file: str = ""
    outputs: dict[str, Any] = {}  # of a called workflow
    branches: dict[str, StepResult] = {}  # of a parallel state
    iterations: int = 0  # of a loop
    refused: bool = False  # it did not run, because a person said no
    over_limit: ErrorInfo | None = None  # the state went past its own limits
    leave_to: str = ""  # a loop body that left the loop for this state

    @property
    def ok(self) -> bool:
        return self.status in {"success", "skipped"}


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the history."""

    id: str
    workflow: str  # the name people see
    source: str  # the file it came from
    status: RunStatus
    started_at: float
    finished_at: float | None = None
    exit_status: int | None = None
    error: ErrorInfo | None = None
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    usage: Usage | None = None
    parent: str = ""  # the run this one was started again from
    cwd: str = ""
    context: str = ""  # the security context that it was started in; without one it is one by itself
    waiting_for: str = ""  # a question, or the worker that a submitted run needs
    owner: str = ""
    definition_hash: str = ""
