"""Events on their way to plugins, and what plugins send in answer.

Each subscribed plugin has a queue of its own and one task that empties it, which lives only while there is something to
deliver. A plugin that is slow loses events, which is counted; it never holds up the run or another plugin.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.events import event_fields
from awf.infrastructure.plugins.connection import CallFailed
from awf.infrastructure.plugins.output import LOG
from awf.infrastructure.plugins.patterns import is_event_type, matches_any
from awf.infrastructure.plugins.values import decode_object, encode_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.domain.events import Stamped
    from awf.infrastructure.plugins.lifecycle import Lifecycle

__all__ = ["EventDelivery"]

QUEUE = 256
DEEPEST = 3
_HEAD = ("type", "run_id", "seq", "time", "path")


class _Parcel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    type: str
    time: float
    source: str
    metadata: dict[str, str]
    payload: bytes
    depth: int = 0


class _Recipient:
    def __init__(self, lifecycle: Lifecycle, deliver: Callable[[_Recipient, _Parcel], Any]) -> None:
        self.lifecycle = lifecycle
        self.declared = lifecycle.declaration.shown
        self.worker: asyncio.Task[None] | None = None
        self._deliver = deliver
        self._waiting: deque[_Parcel] = deque()
        self._dropped = 0
        self._complained: set[str] = set()

    def put(self, parcel: _Parcel) -> None:
        if len(self._waiting) >= QUEUE:
            self._dropped += 1
            if self._dropped == 1:
                LOG.warning("The plugin %s is too slow for its events; some are dropped.", self.declared.name)
            return
        self._waiting.append(parcel)
        if self.worker is None:
            self.worker = asyncio.get_running_loop().create_task(self._work())

    def complain(self, error: AwfError) -> None:
        """The same trouble with every event is worth one warning."""
        level = LOG.debug if error.code in self._complained else LOG.warning
        self._complained.add(error.code)
        level("An event was not handled. %s (%s)", error.message, error.code)

    def tell_dropped(self) -> None:
        if self._dropped:
            LOG.warning("%d events for the plugin %s were dropped.", self._dropped, self.declared.name)
            self._dropped = 0

    def forget(self) -> None:
        self._dropped += len(self._waiting)
        self._waiting.clear()

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._attempt(self._waiting.popleft())
        finally:
            self.worker = None

    async def _attempt(self, parcel: _Parcel) -> None:
        try:
            await self._deliver(self, parcel)
        except AwfError as error:
            self.complain(error)
        except Exception:  # noqa: BLE001  one event must not stop the next
            LOG.exception(
                "The event %s could not be handed to the plugin %s.", parcel.type, self.declared.name
            )


class EventDelivery:
    def __init__(
        self,
        lifecycles: Sequence[Lifecycle],
        emit: Callable[[str, str, dict[str, Any]], None],
        patience: float,
        on_closed: Callable[[EventDelivery], object],
    ) -> None:
        self._recipients = [_Recipient(one, self._deliver) for one in lifecycles]
        self._emit = emit
        self._patience = patience
        self._closed = False
        self._on_closed = on_closed

    def __call__(self, stamped: Stamped) -> None:
        event_type = str(stamped.event.__struct_config__.tag)
        wanted = [one for one in self._recipients if matches_any(one.declared.subscribe, event_type)]
        if not wanted or self._closed:
            return
        try:
            parcel = _parcel(stamped)
        except CallFailed as failed:
            LOG.warning("The event %s is not handed to plugins: %s", event_type, failed.details)
            return
        for one in wanted:
            one.put(parcel)

    async def settle(self) -> None:
        """Events may answer events, so it is over when no worker is left."""
        deadline = asyncio.get_running_loop().time() + self._patience
        while workers := self._workers():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                LOG.warning(
                    "Plugins still work on events after %g s; they are not waited for.", self._patience
                )
                break
            await asyncio.wait(workers, timeout=left)
        for one in self._recipients:
            one.tell_dropped()

    async def end(self) -> None:
        try:
            await self.settle()
        finally:
            await self.close()

    async def close(self) -> None:
        self._closed = True
        self._on_closed(self)
        for one in self._recipients:
            one.forget()
        workers = self._workers()
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)
        for one in self._recipients:
            one.tell_dropped()

    def _workers(self) -> set[asyncio.Task[None]]:
        return {one.worker for one in self._recipients if one.worker is not None}

    async def _deliver(self, recipient: _Recipient, parcel: _Parcel) -> None:
        from awf.plugin.protocol import plugin_pb2

        plugin = await recipient.lifecycle.ready()
        request = plugin_pb2.HandleEventRequest(
            id=parcel.id,
            type=parcel.type,
            timestamp_unix_nanos=int(parcel.time * 1e9),
            source=parcel.source,
            metadata=parcel.metadata,
            payload=parcel.payload,
            propagation_depth=parcel.depth,
        )
        said = await plugin.call("EventService/HandleEvent", request, plugin_pb2.HandleEventResponse)
        for number, event in enumerate(said.emitted_events, 1):
            self._take(recipient, parcel, number, event)

    def _take(self, sender: _Recipient, cause: _Parcel, number: int, event: Any) -> None:
        name = sender.declared.name
        try:
            payload = decode_object("its payload", event.payload)
        except CallFailed as failed:
            LOG.warning(
                "The plugin %s sent an event '%s' that is refused: %s.", name, event.type, failed.details
            )
            return
        if not is_event_type(event.type) or not matches_any(sender.declared.emit, event.type):
            LOG.warning(
                "The plugin %s sent an event '%s', which it may not: its `emit` does not name it.",
                name,
                event.type,
            )
            return
        self._emit(name, event.type, payload)
        self._pass_on(sender, cause, number, event)

    def _pass_on(self, sender: _Recipient, cause: _Parcel, number: int, event: Any) -> None:
        if cause.depth >= DEEPEST:
            LOG.warning(
                "The event '%s' of the plugin %s goes no further: events answer events.",
                event.type,
                sender.declared.name,
            )
            return
        parcel = msgspec.structs.replace(
            cause,
            id=f"{cause.id}/{sender.declared.name}.{number}",
            type=event.type,
            source=sender.declared.name,
            payload=event.payload or b"{}",
            depth=cause.depth + 1,
        )
        for one in self._recipients:
            if one is not sender and matches_any(one.declared.subscribe, event.type):
                one.put(parcel)


def _parcel(stamped: Stamped) -> _Parcel:
    fields = event_fields(stamped)
    own = {key: value for key, value in fields.items() if key not in _HEAD}
    return _Parcel(
        id=f"{stamped.run_id}:{stamped.seq}",
        type=fields["type"],
        time=stamped.time,
        source=stamped.run_id,
        metadata={"run_id": stamped.run_id, "path": stamped.event.path, "seq": str(stamped.seq)},
        payload=encode_value("it", own),
    )
