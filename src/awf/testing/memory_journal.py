"""A journal in memory; implements the `RunJournal` port. It forgets with the process, and keeps every promise until then."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from awf.domain.errors import AwfError
from awf.domain.events import Event, Stamped
from awf.domain.ports.durability import Finished, Message, RunOutcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.domain.ports.event_publisher import EventListener
    from awf.domain.program import Definition
    from awf.domain.redaction import Masker
    from awf.domain.run import RunRecord, StepResult

__all__ = ["MemoryJournal", "MemoryRun"]

T = TypeVar("T")
_CANCEL = "control:cancel"


class _Kept:
    """What outlives the owner of a run."""

    def __init__(self, record: RunRecord, definition: Definition) -> None:
        self.record = record
        self.definition = definition
        self.steps: dict[str, StepResult] = {}
        self.messages: dict[str, Message] = {}
        self.events: list[Stamped] = []
        self.once: set[str] = set()
        self.outcome: RunOutcome | None = None
        self.owned = False


class MemoryRun:
    def __init__(self, kept: _Kept, masker: Masker, *, resumed: bool) -> None:
        self.kept = kept
        self.record = kept.record
        self.definition = kept.definition
        self.resumed = resumed
        self._masker = masker
        self._publish: EventListener = lambda _stamped: None
        self._arrived: dict[str, asyncio.Event] = {}

    @property
    def run_id(self) -> str:
        return self.record.id

    @property
    def finished_steps(self) -> int:
        return len(self.kept.steps)

    def listen(self, publish: EventListener) -> None:
        self._publish = publish

    async def step(self, path: str, work: Callable[[], Awaitable[Finished]]) -> StepResult:
        known = self.recorded(path)
        if known is not None:
            return known
        finished = await work()
        self.kept.steps[path] = finished.result
        for event in finished.events:
            self.emit(event)
        return finished.result

    async def branch(self, path: str, walk: Callable[[], Awaitable[T]]) -> T:
        del path
        return await walk()

    async def forget(self, path: str) -> None:
        self.kept.steps = {key: result for key, result in self.kept.steps.items() if not _belongs(key, path)}
        self.kept.messages = {
            topic: message
            for topic, message in self.kept.messages.items()
            if not topic.startswith(f"timer:{path}@")
            and (topic != f"approval:{path}" or message.payload.get("outcome") != "reject")
        }

    def recorded(self, path: str) -> StepResult | None:
        return self.kept.steps.get(path)

    async def wait(self, topic: str, timeout: float | None) -> Message | None:
        if topic not in self.kept.messages:
            arrived = self._arrived.setdefault(topic, asyncio.Event())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(arrived.wait(), timeout)
            self._arrived.pop(topic, None)
        message = self.kept.messages.setdefault(topic, Message({"timeout": True}))
        return None if message.payload.get("timeout") else message

    def answered(self, topic: str) -> bool:
        return topic in self.kept.messages

    async def deliver(self, topic: str, message: Message) -> bool:
        first = topic not in self.kept.messages
        self.kept.messages.setdefault(topic, message)
        if topic in self._arrived:
            self._arrived[topic].set()
        return first

    def emit(self, event: Event, *, once: str = "") -> None:
        if once:
            if once in self.kept.once:
                return
            self.kept.once.add(once)
        shown = self._masker.map_struct(event, self._masker.mask)
        stamped = Stamped(self.run_id, len(self.kept.events) + 1, time.time(), shown)
        self.kept.events.append(stamped)
        self._publish(stamped)

    def output_path(self, path: str, stream: str) -> str:
        raise AwfError("SYSTEM.IO.WRITE_FAILED", f"Output of {path} ({stream}) does not fit into memory.")

    def folder(self, name: str) -> str:
        return os.path.join(tempfile.gettempdir(), f"awf-memory-{self.run_id}", name)

    async def cancelled(self) -> str:
        message = await self.wait(_CANCEL, None)
        return str(message.payload.get("reason", "")) if message else ""

    async def finish(self, outcome: RunOutcome, events: tuple[Event, ...]) -> None:
        self.kept.outcome = outcome
        self.kept.messages.pop(_CANCEL, None)
        for event in events:
            self.emit(event)

    async def release(self) -> None:
        self.kept.owned = False


def _belongs(key: str, path: str) -> bool:
    return key == path or key.startswith((f"{path}@", f"{path}/hooks/"))


class MemoryJournal:
    def __init__(self) -> None:
        self.runs: dict[str, _Kept] = {}

    async def create(self, record: RunRecord, definition: Definition, masker: Masker) -> MemoryRun:
        if record.id in self.runs:
            raise AwfError("USER.RUN.BUSY", f"There is a run {record.id} already.")
        self.runs[record.id] = kept = _Kept(record, definition)
        kept.owned = True
        return MemoryRun(kept, masker, resumed=False)

    async def adopt(self, run_id: str, masker: Masker) -> MemoryRun:
        kept = self.runs.get(run_id)
        if kept is None:
            raise AwfError("USER.RUN.NOT_FOUND", f"No run has the id {run_id}.")
        if kept.owned:
            raise AwfError("USER.RUN.BUSY", f"Another owner runs {run_id}.")
        kept.owned = True
        kept.messages.pop(_CANCEL, None)
        return MemoryRun(kept, masker, resumed=True)

    async def definition(self, run_id: str) -> Definition:
        return self.runs[run_id].definition

    async def inputs(self, run_id: str, masker: Masker) -> dict[str, Any]:
        del masker
        return dict(self.runs[run_id].record.inputs)

    async def copy_steps(self, source: str, target: MemoryRun, keep: Callable[[str], bool]) -> int:
        old = self.runs[source]
        target.kept.steps.update({path: result for path, result in old.steps.items() if keep(path)})
        target.kept.messages.update(
            {
                topic: message
                for topic, message in old.messages.items()
                if ":" in topic and keep(topic.split(":", 1)[1])
            }
        )
        return len(target.kept.steps)

    async def tell(self, run_id: str, topic: str, message: Message) -> None:
        """Say something to a run, as another process would."""
        self.runs[run_id].messages.setdefault(topic, msgspec.structs.replace(message))

    async def close(self) -> None:
        """Nothing is held."""
