"""What happened in a run, as a tree of steps that each have their own story."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.run import ErrorInfo, StepResult, Usage

__all__ = ["Approval", "Note", "Retry", "Said", "StepStory", "Story", "ToolCall"]


@dataclass(slots=True)
class Said:
    """A stretch of words."""

    by: str  # agent | thought | question | person
    parts: list[str]


@dataclass(slots=True)
class ToolCall:
    name: str
    input: Any = None
    output: str = ""
    is_error: bool = False
    is_finished: bool = False
    through: str = ""  # where AWF took the tool from, if the call passed through it
    milliseconds: int | None = None


@dataclass(slots=True)
class Retry:
    attempt: int  # the one that came next
    of: int
    delay: float
    code: str
    message: str


@dataclass(slots=True)
class Approval:
    path: str
    message: str
    asked_at: float | None = None
    outcome: str = ""  # once | run | reject | timeout; empty while it is open
    by: str = ""
    answered_at: float | None = None


@dataclass(slots=True)
class Note:
    """A line of the log, or a warning."""

    at: float | None
    path: str
    message: str
    is_warning: bool
    code: str = ""


@dataclass(slots=True)
class StepStory:
    path: str
    name: str
    number: int  # in the order of first appearance
    kind: str = ""
    status: str = "unfinished"
    detail: str = ""
    description: str = ""
    reason: str = ""  # for having been skipped
    started: float | None = None
    finished: float | None = None
    is_handled: bool = False  # it failed, and the workflow had a way on
    error: ErrorInfo | None = None
    exit_code: int | None = None
    usage: Usage | None = None
    attempts: int = 1
    output: str = ""
    stderr: str = ""
    result: StepResult | None = None
    earlier: list[StepResult] = field(default_factory=list)  # of attempts that were followed by another
    live_output: list[str] = field(default_factory=list)
    transcript: list[Said | ToolCall] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    isolation: str = ""  # how well an agent was kept to the tools of its proxy
    bypasses: int = 0
    children: list[StepStory] = field(default_factory=list)

    @property
    def is_failed(self) -> bool:
        return self.status == "failed"

    @property
    def seconds(self) -> float | None:
        return (
            None if self.started is None or self.finished is None else max(0.0, self.finished - self.started)
        )

    def walk(self, depth: int = 0) -> Iterator[tuple[StepStory, int]]:
        yield self, depth
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(slots=True)
class Story:
    steps: list[StepStory] = field(default_factory=list)  # those of the workflow itself
    approvals: list[Approval] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # events by type
    last_event: float | None = None
    ending: dict[str, Any] = field(default_factory=dict)  # the event that ended the workflow
    resumed: int = 0

    def walk(self) -> Iterator[tuple[StepStory, int]]:
        for step in self.steps:
            yield from step.walk()

    def blamed(self) -> StepStory | None:
        """The step in which a failure began: the innermost of the last failed step, of several the first."""
        found = _last_failed(self.steps)
        while found is not None:
            inner = [child for child in found.children if child.is_failed]
            if not inner:
                break
            unhandled = [child for child in inner if not child.is_handled]
            found = min(unhandled or inner, key=lambda child: child.finished or float("inf"))
        return found


def _last_failed(steps: list[StepStory]) -> StepStory | None:
    failed = [step for step in steps if step.is_failed]
    unhandled = [step for step in failed if not step.is_handled]
    return max(unhandled or failed, key=lambda step: step.finished or 0.0, default=None)
