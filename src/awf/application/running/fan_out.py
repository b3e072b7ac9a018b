"""One stream of events, many listeners, none of which can stall the run.

A listener that may block (a terminal, a pipe) gets a thread of its own. When it falls behind, live text is dropped for
it, with a count; events about the run's course are never dropped. The durable record does not pass through here.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING

from awf.domain.events import AgentText, AgentThought, Stamped, StepOutput, Warned

if TYPE_CHECKING:
    from awf.domain.ports.event_publisher import EventListener

__all__ = ["FanOut"]

_MOST_WAITING = 4_000_000  # characters of live text that may wait for a slow listener
_LINGER_SECONDS = 0.02
_LIVE_TEXT = (StepOutput, AgentText, AgentThought)
_log = logging.getLogger("awf.events")


class FanOut:
    def __init__(self) -> None:
        self._direct: list[EventListener] = []
        self._threaded: list[_ListenerThread] = []

    def add(self, listener: EventListener, *, may_block: bool = False) -> None:
        if may_block:
            self._threaded.append(_ListenerThread(listener))
        else:
            self._direct.append(listener)

    def __call__(self, stamped: Stamped) -> None:
        for listener in self._direct:
            _hand_over(listener, stamped)
        for thread in self._threaded:
            thread.put(stamped)

    def close(self) -> None:
        """Wait until every listener has heard everything."""
        for thread in self._threaded:
            thread.close()
        self._threaded.clear()


def _hand_over(listener: EventListener, stamped: Stamped) -> None:
    try:
        listener(stamped)
    except Exception:  # noqa: BLE001  a broken view must not break the run
        _log.exception("a listener failed on %s", type(stamped.event).__name__)


class _ListenerThread:
    def __init__(self, listener: EventListener) -> None:
        self._listener = listener
        self._queue: queue.SimpleQueue[Stamped | None] = queue.SimpleQueue()
        self._dropped = 0
        self._closing = False
        self._put_size = self._heard_size = 0  # each is written by one thread only
        self._thread = threading.Thread(target=self._run, name="awf-listener", daemon=True)
        self._thread.start()

    def put(self, stamped: Stamped) -> None:
        size = len(stamped.event.text) if isinstance(stamped.event, _LIVE_TEXT) else 0
        if size and self._put_size - self._heard_size > _MOST_WAITING:
            self._dropped += 1
            return
        self._put_size += size
        if self._dropped:
            note = Warned(
                message=f"{self._dropped} pieces of live output were not shown here; `awf logs` has them."
            )
            self._queue.put(Stamped(stamped.run_id, stamped.seq, stamped.time, note))
            self._dropped = 0
        self._queue.put(stamped)

    def _run(self) -> None:
        while (stamped := self._queue.get()) is not None:
            _hand_over(self._listener, stamped)
            if isinstance(stamped.event, _LIVE_TEXT):
                self._heard_size += len(stamped.event.text)
            if self._queue.empty() and not self._closing:
                time.sleep(_LINGER_SECONDS)  # being woken for every event would slow the engine's own thread

    def close(self) -> None:
        self._closing = True
        self._queue.put(None)
        self._thread.join()
