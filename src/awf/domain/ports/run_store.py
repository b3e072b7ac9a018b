from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.ports.durability import Message
    from awf.domain.run import RunRecord, StepResult

__all__ = ["OpenQuestion", "RunFilter", "RunStore", "StepRow", "StoredEvent"]


class StoredEvent(msgspec.Struct, frozen=True):
    """An event as it goes over the wire: type, run_id, seq, time, path and its own fields."""

    seq: int
    fields: dict[str, Any]


class StepRow(msgspec.Struct, frozen=True):
    path: str
    result: StepResult


class OpenQuestion(msgspec.Struct, frozen=True):
    """An approval or a line of conversation that a run waits for."""

    topic: str
    kind: str  # approval | input
    step: str
    path: str
    message: str
    asked_at: float


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    workflow: str = ""
    status: str = ""
    since: float = 0.0
    limit: int = 20


class RunStore(Protocol):
    """Looks at runs, from any process, while they run and afterwards."""

    def find(self, prefix: str) -> RunRecord:
        """A run by its id or the beginning of it. Raises USER.RUN.NOT_FOUND."""
        ...

    def runs(self, query: RunFilter) -> Sequence[RunRecord]: ...

    def events(self, run_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEvent]: ...

    def steps(self, run_id: str) -> Sequence[StepRow]: ...

    def questions(self, run_id: str) -> Sequence[OpenQuestion]: ...

    def tell(self, run_id: str, topic: str, message: Message) -> bool:
        """Say something to a run. False when the topic has been answered already."""
        ...

    def cancel(self, run_id: str, message: Message) -> bool:
        """Ask the owner to stop; a run that nobody owns is marked at once. False: its owner will do it."""
        ...

    def is_alive(self, run_id: str) -> bool:
        """Whether a living process owns the run."""
        ...

    def goes_on(self, run_id: str) -> bool:
        """Whether more is to come: it is owned, or waits for a worker."""
        ...

    def wait_for_news(self, run_id: str) -> None:
        """Returns when the run may have said something, at the latest after a moment."""
        ...

    def output_path(self, run_id: str, path: str, stream: str) -> str:
        """Where the whole output of a step is kept (the file may not exist)."""
        ...
