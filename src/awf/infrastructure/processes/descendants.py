"""Linux: finding the processes of a command also after they left its group and session.

This process makes itself the reaper of orphans below it. A daemon that detaches from a command thus becomes our
own child, and the token in its environment tells which command it came from. A process that wipes its environment
*and* leaves the group is not recognised, unless a sandbox has written the token into it where it cannot be wiped.
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

__all__ = ["TOKEN_VARIABLE", "Descendants", "adopt_orphans", "household", "lasting_mark"]

TOKEN_VARIABLE = "AWF_PROCESS_TOKEN"  # noqa: S105  an identity, not a secret
PR_SET_CHILD_SUBREAPER = 36
GROUP, FIRST_OF_CODE, FIRST_OF_STACK = 2, 23, 25  # places in what `_status` gives
IDENTITY_DIGITS, SERIAL_DIGITS = 16, 8  # of a token, in base 16


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


def lasting_mark(token: str) -> str:
    """The token as a number, which `sandboxes/entrance.py` writes into a limit that Linux keeps and does not use.

    It consists of ten digits for the identity of a runner and eight for the command.
    """
    identity = int(token[-IDENTITY_DIGITS - SERIAL_DIGITS : -SERIAL_DIGITS], 16)
    return f"{10**9 + identity % (9 * 10**9)}{int(token[-SERIAL_DIGITS:], 16) % 10**8:08}"


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
        self._lasting_mark = lasting_mark(token).encode()
        self._told: set[int] = set()

    def any_left(self) -> bool:
        return any(map(self._may_be_ours, household.orphans())) or _kill(os.killpg, self.pgid, 0)

    def signal_group(self, *signals: int) -> None:
        for number in signals:
            _kill(os.killpg, self.pgid, number)

    def signal_escaped(self, *signals: int) -> int:
        return self._signal([pid for pid, pgid in self._living() if pgid != self.pgid], signals)

    def signal_newcomers(self, *signals: int) -> int:
        orphans = [pid for pid in household.orphans() if pid not in self._told and self._marked(pid)]
        return self._signal([pid for pid in orphans if int(_status(pid)[GROUP]) != self.pgid], signals)

    def signal_all(self, *signals: int) -> int:
        return self._signal([pid for pid, _ in self._living()], signals)

    def _signal(self, pids: list[int], signals: tuple[int, ...]) -> int:
        self._told.update(pids)
        reached = [[_kill(os.kill, pid, number) for number in signals] for pid in pids]
        return sum(first for first, *_ in reached)

    def _living(self) -> Iterator[tuple[int, int]]:
        """Every process with our group or our mark. Reads all of /proc: only for when something is left."""
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            pid = int(name)
            status = _status(pid)
            pgid = int(status[GROUP])
            alive = status[0] not in b"ZX" or _lives_on(pid)
            if alive and (pgid == self.pgid or self._marked(pid)):
                yield pid, pgid

    def _may_be_ours(self, pid: int) -> bool:
        """Also of one whose environment cannot be seen for now: it is dying, or in the middle of an exec."""
        if _limit_of_locks(pid) == self._lasting_mark:
            return True
        memory = _memory(pid)
        environment = _environment(pid)
        if environment or _lives_on(pid):
            return self._names_us(environment)
        return memory is None or memory != _memory(pid)

    def _marked(self, pid: int) -> bool:
        return self._names_us(_environment(pid)) or _limit_of_locks(pid) == self._lasting_mark

    def _names_us(self, environment: bytes) -> bool:
        return b"\0" + self._mark in b"\0" + environment


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


def _environment(pid: int) -> bytes:
    return _contents(f"/proc/{pid}/environ") or b"".join(
        _contents(f"/proc/{pid}/task/{thread}/environ") for thread in _threads(pid)
    )


def _lives_on(pid: int) -> bool:
    """The first thread of some processes has ended, so that they look dead and show no memory; others have not."""
    statuses = (_status(f"{pid}/task/{thread}") for thread in _threads(pid))
    return any(status[0] not in b"ZX" and status[FIRST_OF_CODE] != b"0" for status in statuses)


def _threads(pid: int) -> list[str]:
    """All but the first."""
    try:
        return [thread for thread in os.listdir(f"/proc/{pid}/task") if thread != str(pid)]
    except OSError:
        return []


def _limit_of_locks(pid: int) -> bytes:
    limits = _contents(f"/proc/{pid}/limits").partition(b"Max file locks")[2].split()
    return limits[0] if limits else b""


def _memory(pid: int) -> tuple[bytes, bytes] | None:
    """Tells its memory from that before and after an exec. None without one: dying, or half-way through an exec.

    The kernel notes where the code is after it has noted where the environment is.
    """
    status = _status(pid)
    return None if status[FIRST_OF_CODE] == b"0" else (status[FIRST_OF_CODE], status[FIRST_OF_STACK])


def _status(pid: int | str) -> list[bytes]:
    """What the kernel tells from the third field on; of one that is gone, what stands for nothing."""
    return _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split() or [b"X", *[b"0"] * FIRST_OF_STACK]


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


def _kill(send: Callable[[int, int], None], target: int, number: int) -> bool:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
