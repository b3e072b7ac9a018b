"""How a run survives. The interpreter does everything through these few verbs and knows no store.

The interpreter is deterministic: given the same recorded results it takes the same way. Clocks, random numbers,
files and processes are touched only inside a `step`. To continue a run, it walks again from the start; what is
recorded is returned instead of being done again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from awf.domain.run import ErrorInfo, RunStatus, StepResult, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.domain.events import Event
    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.program import Definition
    from awf.domain.redaction import Masker
    from awf.domain.run import RunRecord

__all__ = ["Durability", "Finished", "Message", "OwnedRun", "RunJournal", "RunOutcome"]

T = TypeVar("T")


class Finished(msgspec.Struct, frozen=True):
    """A step's result and the events that announce it: they are committed together or not at all."""

    result: StepResult
    events: tuple[Event, ...] = ()


class Message(msgspec.Struct, frozen=True):
    """Something said to a run from outside: an answer to an approval, a line of conversation."""

    payload: dict[str, Any]
    sender: str = ""


class Durability(Protocol):
    @property
    def run_id(self) -> str: ...

    async def step(self, path: str, work: Callable[[], Awaitable[Finished]]) -> StepResult:
        """Do it once and remember the result under its path. Cancelled or crashed work is not remembered."""
        ...

    async def branch(self, path: str, walk: Callable[[], Awaitable[T]]) -> T:
        """Walk part of the run concurrently with its siblings. It may use all verbs, under its own path."""
        ...

    async def wait(self, topic: str, timeout: float | None) -> Message | None:
        """Wait for a message on a topic, once: the message (or None, when time ran out) is remembered."""
        ...

    def answered(self, topic: str) -> bool:
        """Whether a wait for this topic would return at once."""
        ...

    async def deliver(self, topic: str, message: Message) -> bool:
        """Answer a topic from inside this process. False when it has been answered already."""
        ...

    def emit(self, event: Event, *, once: str = "") -> None:
        """Publish. With `once`, an event of this name is published a single time however often the run is walked."""
        ...

    async def forget(self, path: str) -> None:
        """Forget a failed result with its attempts, timers and hooks, so that it is tried again."""
        ...

    def recorded(self, path: str) -> StepResult | None:
        """The remembered result of a path."""
        ...


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    status: RunStatus
    exit_status: int = 0
    message: str = ""
    error: ErrorInfo | None = None
    outputs: dict[str, Any] = {}
    usage: Usage | None = None


class OwnedRun(Durability, Protocol):
    """A run that this process owns, and nobody else."""

    @property
    def record(self) -> RunRecord: ...
    @property
    def definition(self) -> Definition: ...
    @property
    def resumed(self) -> bool: ...
    @property
    def finished_steps(self) -> int: ...

    def listen(self, publish: EventListener) -> None: ...

    def output_path(self, path: str, stream: str) -> str:
        """A file for output that is too big to be remembered as a value."""
        ...

    def folder(self, name: str) -> str:
        """A folder of the run's own, kept with it; it may not exist yet."""
        ...

    async def cancelled(self) -> str:
        """Returns, with the reason, once somebody elsewhere asks the run to stop."""
        ...

    async def finish(self, outcome: RunOutcome, events: tuple[Event, ...]) -> None:
        """Commit how it ended, together with the events that say so."""
        ...

    async def release(self) -> None:
        """Give up ownership; the run stays as it is."""
        ...


class RunJournal(Protocol):
    """Where durable runs are kept."""

    async def create(self, record: RunRecord, definition: Definition, masker: Masker) -> OwnedRun:
        """A new run. Raises USER.RUN.BUSY when its id is taken."""
        ...

    async def adopt(self, run_id: str, masker: Masker) -> OwnedRun:
        """Take over a run that no living process owns. Raises USER.RUN.BUSY."""
        ...

    async def definition(self, run_id: str) -> Definition: ...

    async def inputs(self, run_id: str, masker: Masker) -> dict[str, Any]:
        """The inputs of an earlier run, with its secrets."""
        ...

    async def copy_steps(self, source: str, target: Any, keep: Callable[[str], bool]) -> int:
        """Copy recorded results, for a run that starts where another one was."""
        ...

    async def close(self) -> None: ...
