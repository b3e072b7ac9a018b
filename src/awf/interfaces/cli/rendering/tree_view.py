"""A run on a terminal: a small live region at the bottom, and above it, for good, what has ended.

Theory of operation. `on_event` only puts the event into an inbox: the run never waits for a terminal. A thread of our
own takes events out about ten times a second, folds them into the model, prints what has ended and draws the rest. When
the terminal is stopped (Ctrl+S) the inbox would grow, so past a limit `on_event` folds a few events itself; it never
waits for a lock to do so. Two locks: `_folding` guards model and inbox and is never held while something is written;
`_drawing` guards the terminal.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TextIO

from awf.domain import events
from awf.interfaces.cli.rendering.answer import write_answer
from awf.interfaces.cli.rendering.model import RunModel
from awf.interfaces.cli.rendering.rows import tree_rows
from awf.interfaces.cli.rendering.settled import settled_lines
from awf.interfaces.cli.rendering.styled import Drawing

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from awf.domain.events import Stamped
    from awf.interfaces.cli.rendering.lines import Line

__all__ = ["TreeView"]

_INTERVAL = 0.1
_INBOX = 5_000
_SHARE = 8  # events that `on_event` folds itself when the inbox is full
_TAIL = 20


class TreeView:
    def __init__(
        self,
        console: Console,
        *,
        auto_refresh: bool = True,
        answer: TextIO | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._console = console
        self._clock = clock
        self._answer = answer
        self._model = RunModel(keep=False, tail=_TAIL)
        self._inbox: deque[Stamped] = deque()
        self._above: deque[Line] = deque(maxlen=50_000)
        self._result: events.WorkflowCompleted | None = None
        self._folding, self._drawing = threading.Lock(), threading.Lock()
        self._region = Drawing(console)
        self._paused = self._closed = False
        self._stop = threading.Event()
        self._thread = (
            threading.Thread(target=self._draw_until_stopped, daemon=True) if auto_refresh else None
        )

    def on_event(self, stamped: Stamped) -> None:
        self._inbox.append(stamped)
        if self._thread is not None and self._thread.ident is None:
            self._thread.start()
        if len(self._inbox) > _INBOX:
            self._fold(_SHARE, wait=False)

    def refresh(self) -> None:
        """Draw what is known now. Called by our own thread, or by hand with `auto_refresh=False`."""
        self._fold()
        with self._drawing:
            if not self._paused and not self._closed:
                self._draw()

    def pause(self) -> None:
        """Leave the terminal to a question. What happens meanwhile is shown afterwards."""
        self._fold()
        with self._drawing:
            if not self._paused and not self._closed:
                self._print_above()
                self._region.clear()
            self._paused = True

    def resume(self) -> None:
        with self._drawing:
            self._paused = False
        self.refresh()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()
        self._fold()
        with self._drawing:
            if self._closed:
                return
            self._closed = True
            self._print_above()
            self._region.leave(self._rows())
        if self._answer is not None and self._result is not None:
            write_answer(self._answer, self._result)

    def _draw_until_stopped(self) -> None:
        while not self._stop.wait(_INTERVAL):
            self.refresh()

    def _fold(self, limit: int = 0, *, wait: bool = True) -> None:
        if not self._folding.acquire(blocking=wait):
            return
        try:
            for _ in range(limit or len(self._inbox)):
                self._take(self._inbox.popleft())
        finally:
            self._folding.release()

    def _take(self, stamped: Stamped) -> None:
        self._model.apply(stamped)
        self._above.extend(settled_lines(self._model, stamped, answer_elsewhere=self._answer is not None))
        event = stamped.event
        if isinstance(event, events.WorkflowCompleted) and not event.path:
            self._result = event

    def _draw(self) -> None:
        self._print_above()
        self._region.show(self._rows())

    def _print_above(self) -> None:
        count = len(self._above)
        self._region.print([self._above.popleft() for _ in range(count)])

    def _rows(self) -> list[Line]:
        with self._folding:
            return tree_rows(self._model, now=self._clock(), height=max(4, self._console.size.height - 2))
