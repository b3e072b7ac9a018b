"""A step as it stands after the events so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from awf.domain.run import Usage
    from awf.interfaces.cli.rendering.line_buffer import Tail

__all__ = ["OPEN", "Below", "Progress", "StepState"]

Progress = Literal["running", "waiting", "retrying", "success", "failed", "skipped", "cancelled"]
OPEN = frozenset({"running", "waiting", "retrying"})


@dataclass(slots=True)
class Below:
    """The branches or inner steps of a step: those in work, a few that failed, the last that ended, and counts."""

    in_work: dict[str, StepState] = field(default_factory=dict)
    failed: list[StepState] = field(default_factory=list)
    last: StepState | None = None
    ended: dict[str, int] = field(default_factory=dict)
    iteration: int = 0

    @property
    def done(self) -> int:
        return sum(self.ended.values())


@dataclass(slots=True)
class StepState:
    path: str
    step: str
    kind: str = ""
    status: Progress = "running"
    detail: str = ""
    total: int = 0
    started_at: float = 0.0
    duration_ms: int | None = None
    exit_code: int = 0
    attempts: int = 0
    code: str = ""
    message: str = ""
    handled: bool = False
    usage: Usage | None = None
    note: str = ""  # what it waits for, or why it is tried again
    now: str = ""  # what it is doing, raw
    tail: Tail | None = None
    below: Below | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN
