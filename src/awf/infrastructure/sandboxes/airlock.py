"""A thread that has given up reaching abstract sockets and signalling others, and starts programs that inherit this.

Landlock confines threads, not processes. One thread that is confined once therefore spares every program a launcher of
its own, which would take longer to start than all the rest. It lives as long as this process: what bubblewrap starts
ends with the thread that started it.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import os
import queue
import struct
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Airlock", "airlock"]

_NO_NEW_POWERS = 38
_CREATE, _RESTRICT = 444, 446
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


def airlock() -> Airlock | None:
    """The one of this process; None where it cannot be had. A fork does not inherit threads."""
    return _of_process(os.getpid())


@functools.cache
def _of_process(_pid: int) -> Airlock | None:
    try:
        return Airlock()
    except OSError:
        return None


class Airlock:
    def __init__(self) -> None:
        """Raises `OSError` where the kernel does not know how."""
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], concurrent.futures.Future[Any]]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._serve, name="awf-airlock", daemon=True).start()
        self.start(_confine_this_thread)

    def start(self, work: Callable[[], Any]) -> Any:
        """What the work returns or raises."""
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._work.put((work, done))
        return done.result()

    def _serve(self) -> None:
        while True:
            work, done = self._work.get()
            try:
                done.set_result(work())
            except BaseException as reason:  # noqa: BLE001  whoever waits gets it
                done.set_exception(reason)
            del work, done


def _confine_this_thread() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    rules = struct.pack("QQQ", 0, 0, _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    try:
        if libc.prctl(_NO_NEW_POWERS, 1, 0, 0, 0) or libc.syscall(_RESTRICT, ruleset, 0):
            raise OSError(ctypes.get_errno(), "Landlock")
    finally:
        os.close(ruleset)
