"""The process that merges for a long-lived one: what is spilled there comes into the chain here.

It is asked on its standard input, and answers on its standard output. One question is enough for as long as more comes: whoever
asks has other things to do, and each answer is an interruption. The end of its input is the end of whoever asks: then it
merges what that one left, and goes. Nothing here needs an event loop; it starts in a fraction of the time of awf itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, NoReturn

import msgspec

from awf.domain.errors import AwfError
from awf.infrastructure.audit_store.aside_wire import Answer, Request, encode
from awf.infrastructure.audit_store.checkpoints import Checkpoints
from awf.infrastructure.audit_store.database import Database
from awf.infrastructure.audit_store.failures import DAMAGE
from awf.infrastructure.audit_store.merging import Merger

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Worker", "main"]


# How long an entry may wait for company. Each time this process works, the scheduler moves others out of its way, onto the
# processor of the gateway, and leaves them there for a while: the fewer times the better. Who reads merges first.
_SOON_SECONDS = 0.5
_ROUND_SECONDS = 1.0  # without an answer, as long as there is more
_PIECE = 65536
_MODEST = 10  # calls come first; what waits is safe already


class Worker:
    def __init__(self, folder: str, requests: int, answers: int) -> None:
        """With the descriptors they are read from and written to."""
        self._folder = folder
        self._requests, self._answers = requests, answers
        self._heard = b""
        self._request = Request()
        self._head = 0
        self._parts: tuple[Database, Merger, Checkpoints] | None = None
        self._said = _Collected()
        self._busy = self._stopped = False

    def serve(self) -> None:
        """Until nobody asks any more, or it is told to go."""
        log = logging.getLogger("awf.audit")
        log.addHandler(self._said)
        log.propagate = False
        try:
            self._serve()
        except _Stopped:
            self._tell(Answer(leaving=True))
        finally:
            if self._parts is not None:
                database, _, checkpoints = self._parts
                checkpoints.tell_witness()  # what could not be told before
                database.close()

    def stop(self, *_: object) -> None:
        """As a handler of a signal. What is being merged comes to its end."""
        self._stopped = True
        if not self._busy:
            raise _Stopped

    def _serve(self) -> None:
        while (request := self._next()) is not None:
            if request.end:
                return
            self._request = request
            self._tell(self._round())
        self._request = Request(settings=self._request.settings)
        self._merged(thorough=True)

    def _next(self) -> Request | None:
        while b"\n" not in self._heard:
            piece = os.read(self._requests, _PIECE)
            if not piece:
                return None
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        return msgspec.json.decode(line, type=Request) if line else self._next()

    def _round(self) -> Answer:
        """What was recorded before the question is in the chain when it is answered."""
        end = time.monotonic() + _ROUND_SECONDS
        answer, before = Answer(), None
        while not self._is_spoken_to(_SOON_SECONDS):
            answer = self._merged()
            if answer.error or answer.merged == before or time.monotonic() > end or self._is_removed():
                break
            before = answer.merged
        answer.said = self._said.taken()
        return answer

    def _is_spoken_to(self, seconds: float) -> bool:
        """Also when whoever asks has ended."""
        if self._heard.strip():
            return True
        waiting = select.poll()
        waiting.register(self._requests, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    def _is_removed(self) -> bool:
        """Whether somebody has taken away a file that is still written: its owner has to know."""
        return not all(os.path.exists(os.path.join(self._folder, name)) for name in self._request.held)

    def _merged(self, *, thorough: bool = False) -> Answer:
        self._busy = True
        try:
            return self._merged_all(thorough)
        except (*DAMAGE, OSError, AwfError) as error:
            return Answer(error=str(error))
        finally:
            self._busy = False
            if self._stopped:
                raise _Stopped

    def _merged_all(self, thorough: bool) -> Answer:
        _, merger, checkpoints = self._parts = self._parts or self._opened()
        checkpoints.settings = self._request.settings
        merger.run(self._finish, thorough=thorough)
        checkpoints.tell_witness()
        merged = {name: at for name, at in merger.merged.items() if name in self._request.held}
        return Answer(merged=merged, due=checkpoints.due_in(time.time(), self._head))

    def _opened(self) -> tuple[Database, Merger, Checkpoints]:
        database = Database(self._folder, is_begun=True)
        merger = Merger(database, list, time.time, lambda: self._request.held)
        return database, merger, Checkpoints(database, self._request.settings)

    def _finish(self, connection: sqlite3.Connection, sequence: int, head: str) -> None:
        assert self._parts is not None
        self._head = sequence
        self._parts[2].sign_if_due(connection, sequence, head, time.time())

    def _tell(self, answer: Answer) -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody is there to hear it
            os.write(self._answers, encode(answer))


class _Collected(logging.Handler):
    """What would be logged goes to the one who asks: that one's log is set up."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append((record.levelno, record.getMessage()))

    def taken(self) -> list[tuple[int, str]]:
        taken, self._records = self._records, []
        return taken


class _Stopped(Exception):  # noqa: N818  it is none
    """By a signal."""


def _be_modest() -> None:
    """Linux compares sessions before processes, where it has a group for each: then being nice in one's own tells nobody."""
    os.nice(_MODEST)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as group:
        group.write(str(_MODEST))


def main() -> NoReturn:
    for number in (signal.SIGINT, signal.SIGHUP):  # those are meant for the one who asks
        signal.signal(number, signal.SIG_IGN)
    _be_modest()
    worker = Worker(sys.argv[1], 0, 1)
    signal.signal(signal.SIGTERM, worker.stop)
    worker.serve()
    sys.exit(0)


if __name__ == "__main__":
    main()
