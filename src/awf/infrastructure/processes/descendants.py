"""Linux: finding the processes of a command also after they left its group and session.

This process makes itself the reaper of orphans below it. A daemon that detaches from a command thus becomes our
own child, and the token in its environment tells which command it came from. A process that wipes its environment
*and* leaves the group is not recognised.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TOKEN_VARIABLE", "Descendants", "adopt_orphans", "household"]

TOKEN_VARIABLE = "AWF_PROCESS_TOKEN"  # noqa: S105  an identity, not a secret
PR_SET_CHILD_SUBREAPER = 36
PF_EXITING = 4


class Household:
    """The children this process started itself. All others in sessions of their own are adopted orphans.

    The lock spans starting a child and noting it, so that no other thread takes it for an orphan.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.own: set[int] = set()

    def orphans(self) -> list[int]:
        """The living ones. The dead are reaped on the way."""
        with self.lock:
            return [pid for pid in _children() - self.own if _is_living_orphan(pid)]


household = Household()


def adopt_orphans() -> bool:
    """Whether orphans come to this process from now on, and can be found."""
    return _become_reaper(os.getpid())


@functools.cache
def _become_reaper(_pid: int) -> bool:
    """Once per process: a fork does not inherit the duty."""
    _keep_exit_codes()
    if sys.platform != "linux" or not os.path.exists(_children_file()):
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _keep_exit_codes() -> None:
    """A parent may have left SIGCHLD ignored, and then the kernel throws exit codes away."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN and (
        threading.current_thread() is threading.main_thread()
    ):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


class Descendants:
    def __init__(self, pgid: int, token: str) -> None:
        self.pgid = pgid
        self._mark = f"{TOKEN_VARIABLE}={token}".encode()

    def any_left(self) -> bool:
        orphans = household.orphans()
        return any(self._marked(pid) or _is_dying(pid) for pid in orphans) or _kill(os.killpg, self.pgid, 0)

    def signal_group(self, *signals: int) -> None:
        for number in signals:
            _kill(os.killpg, self.pgid, number)

    def signal_escaped(self, *signals: int) -> int:
        return _signal_each([pid for pid, pgid in self._living() if pgid != self.pgid], signals)

    def signal_all(self, *signals: int) -> int:
        return _signal_each([pid for pid, _ in self._living()], signals)

    def _living(self) -> Iterator[tuple[int, int]]:
        """Every process with our group or our mark. Reads all of /proc: only for when something is left."""
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            pid = int(name)
            state, _, pgid, *_ = _status(pid)
            if state not in b"ZX" and (int(pgid) == self.pgid or self._marked(pid)):
                yield pid, int(pgid)

    def _marked(self, pid: int) -> bool:
        environment = b"\0" + _contents(f"/proc/{pid}/environ")
        return b"\0" + self._mark in environment


def _children_file() -> str:
    # Orphans always go to the main thread, whichever thread starts commands.
    return f"/proc/self/task/{os.getpid()}/children"


def _children() -> set[int]:
    return {int(pid) for pid in _contents(_children_file()).split()}


def _is_living_orphan(pid: int) -> bool:
    """Takes a dead one away. What shares our session was started by somebody else in this process."""
    try:
        return os.getsid(pid) != os.getsid(0) and os.waitpid(pid, os.WNOHANG)[0] == 0
    except OSError:
        return False


def _is_dying(pid: int) -> bool:
    """It has let go of its environment already, so that nobody can tell whose it was, but is not dead yet."""
    return int(_status(pid)[6]) & PF_EXITING != 0


def _status(pid: int) -> list[bytes]:
    """State, parent, group, session, terminal, its group, flags; of one that is gone, what stands for nothing."""
    return _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split() or [b"X", *[b"0"] * 6]


def _contents(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    parts = []
    try:
        with contextlib.suppress(OSError):
            while part := os.read(fd, 65536):
                parts.append(part)
    finally:
        os.close(fd)
    return b"".join(parts)


def _signal_each(pids: list[int], signals: tuple[int, ...]) -> int:
    reached = [[_kill(os.kill, pid, number) for number in signals] for pid in pids]
    return sum(first for first, *_ in reached)


def _kill(send: Callable[[int, int], None], target: int, number: int) -> bool:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
