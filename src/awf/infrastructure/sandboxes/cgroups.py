"""Limits for all processes of a command together: control groups, where this process may make some.

Version 2 gives one tree for everything, version 1 one for each kind of limit; machines with both exist.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import signal
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from awf.domain.sandbox import SandboxRules

__all__ = ["Cell", "Cells"]

_MEMORY, _PIDS = "memory", "pids"
_PATIENCE = 10.0
_ROUNDS, _FEW_ROUNDS, _MOMENT = 1000, 50, 0.002
_KEPT = 8
_NEARLY_NOTHING = 16  # this part of its limit may be in use in a group that is used again
_ENDED = ("memory.events", "memory.oom_control")
_IN_USE = ("memory.current", "memory.usage_in_bytes")
_AT_MOST = ("memory.max", "memory.limit_in_bytes")
_OWN = "/proc/self/cgroup"
_MOUNTS = "/proc/self/mounts"


class Cells:
    """Finds out once, by doing it, for which limits groups can be made and entered."""

    def __init__(self) -> None:
        self._parents = {kind: place for kind in (_MEMORY, _PIDS) if (place := _usable(kind))}
        self._serial = itertools.count(1)
        self._identity = f"awf-{os.getpid()}-{_namespace()}-{secrets.token_hex(4)}"
        self._stale: list[str] = []
        self._idle: dict[tuple[int, ...], list[Cell]] = {}
        for parent in set(self._parents.values()):
            _sweep(parent)

    @property
    def memory(self) -> bool:
        return _MEMORY in self._parents

    @property
    def processes(self) -> bool:
        return _PIDS in self._parents

    def describe(self) -> str:
        kinds = [kind for kind, here in (("memory", self.memory), ("processes", self.processes)) if here]
        return " and ".join(kinds)

    def memory_note(self) -> str:
        """How memory is held, in words."""
        if self.memory:
            return "memory: all processes together"
        return "memory: each process by itself, and files in memory (memfd, tmpfs) do not count: no control group can be made"

    def make(self, rules: SandboxRules) -> Cell | None:
        """None where there is nothing to limit, or no way to. Raises `OSError` when it does not work any more."""
        wanted = {_MEMORY: rules.memory, _PIDS: rules.processes}
        asked = {kind: size for kind, size in wanted.items() if size is not None and kind in self._parents}
        if not asked:
            return None
        idle = self._idle.setdefault(tuple(asked.values()), [])
        cell = idle.pop() if idle else self._new(asked, idle)
        cell.begin()
        return cell

    def _new(self, asked: dict[str, int], idle: list[Cell]) -> Cell:
        self._stale[:] = [folder for folder in self._stale if not _removed(folder)]
        cell = Cell(self._stale, idle)
        try:
            for kind, size in asked.items():
                folder = os.path.join(self._parents[kind], f"{self._identity}-{next(self._serial)}")
                cell.add(kind, folder, size)
        except OSError:
            cell.remove()
            raise
        return cell

    def close(self) -> None:
        """Remove all that nobody is in."""
        for idle in self._idle.values():
            while idle:
                idle.pop().remove()
        _wait_for(self._stale)


class Cell:
    """The groups of one command. They are used again: making one, and taking it away, costs the kernel a lot."""

    def __init__(self, stale: list[str], idle: list[Cell] | None = None) -> None:
        self._folders: dict[str, str] = {}
        self._stale = stale
        self._idle = idle
        self._before = (0, 0)  # what they had counted when this command began

    def begin(self) -> None:
        self._before = self._counted()

    def add(self, kind: str, folder: str, size: int) -> None:
        os.mkdir(folder)
        self._folders[kind] = folder
        if kind == _PIDS:
            _write(folder, "pids.max", size)
        elif os.path.exists(os.path.join(folder, "memory.max")):
            _write(folder, "memory.max", size)
            with contextlib.suppress(OSError):
                _write(folder, "memory.swap.max", 0)
        else:
            _write(folder, "memory.limit_in_bytes", size)
            with contextlib.suppress(OSError):  # not where swap is not counted
                _write(folder, "memory.memsw.limit_in_bytes", size)

    @property
    def doors(self) -> tuple[str, ...]:
        """Files; a process that writes 0 to each is inside."""
        return tuple(os.path.join(folder, "cgroup.procs") for folder in self._folders.values())

    def ran_out_of_memory(self) -> bool:
        return self._counted()[0] > self._before[0]

    def ran_out_of_processes(self) -> bool:
        return self._counted()[1] > self._before[1]

    def _counted(self) -> tuple[int, int]:
        """Processes that were ended for want of memory, and those that were not started."""
        memory, pids = self._folders.get(_MEMORY, ""), self._folders.get(_PIDS, "")
        ended = [_figure(os.path.join(memory, name), "oom_kill") for name in _ENDED if memory]
        return max(ended, default=0), _figure(os.path.join(pids, "pids.events"), "max") if pids else 0

    def release(self) -> None:
        """The command is over: whatever is left inside ends, for from a group nobody gets away."""
        emptied = _emptied(self._folders.values())
        if not emptied or self._idle is None or len(self._idle) >= _KEPT or self._holds_memory():
            self.remove()
        else:
            self._idle.append(self)

    def _holds_memory(self) -> bool:
        """Files in memory, for one, stay when nobody is left: the next command would have so much less."""
        folder = self._folders.get(_MEMORY, "")
        used, limit = (
            max((_number(folder, name) for name in names), default=0) for names in (_IN_USE, _AT_MOST)
        )
        return bool(folder) and used > limit // _NEARLY_NOTHING

    def remove(self) -> None:
        """Where the kernel takes a moment to see that it is empty, the next one to be made removes it."""
        self._stale += [folder for folder in self._folders.values() if not _removed(folder)]
        self._folders.clear()


def _usable(kind: str) -> str:
    """The folder in which groups of this kind can be made; empty when there is none."""
    for parent in _candidates(kind):
        if not os.access(parent, os.W_OK):
            continue
        stale: list[str] = []
        cell = Cell(stale)
        try:
            folder = os.path.join(parent, f"awf-try-{os.getpid()}-{secrets.token_hex(4)}")
            cell.add(kind, folder, 1 << 30 if kind == _MEMORY else 64)
            if _can_enter(cell):
                return parent
        except OSError:
            continue
        finally:
            cell.remove()
            _wait_for(stale)
    return ""


def _wait_for(stale: list[str]) -> None:
    for pause in (0, 0.001, 0.01, 0.1):
        time.sleep(pause)
        stale[:] = [folder for folder in stale if not _removed(folder)]
        if not stale:
            return


def _can_enter(cell: Cell) -> bool:
    script = 'for door; do echo 0 > "$door" || exit 1; done'
    argv = ["/bin/sh", "-c", script, "sh", *cell.doors]
    try:
        quiet = subprocess.DEVNULL
        return (
            subprocess.run(
                argv, stdin=quiet, stdout=quiet, stderr=quiet, timeout=_PATIENCE, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.SubprocessError):
        return False


def _candidates(kind: str) -> Iterator[str]:
    """Our own group first, so that limits above us hold; then, in version 2, those above it, whose children may divide."""
    version_1, version_2 = _mounts(kind)
    for line in _text(_OWN).splitlines():
        _, controllers, path = line.split(":", 2)
        if kind in controllers.split(",") and version_1:
            yield _joined(version_1, path)
            yield version_1
        elif not controllers and version_2 and not version_1:
            place = path
            while True:
                folder = _joined(version_2, place)
                if kind in _text(os.path.join(folder, "cgroup.subtree_control")).split():
                    yield folder
                if place in {"/", ""}:
                    break
                place = os.path.dirname(place)


def _mounts(kind: str) -> tuple[str, str]:
    version_1 = version_2 = ""
    for line in _text(_MOUNTS).splitlines():
        _, place, form, options, *_ = line.split()
        if form == "cgroup" and kind in options.split(","):
            version_1 = place
        elif form == "cgroup2":
            version_2 = place
    return version_1, version_2


def _joined(mount: str, path: str) -> str:
    return os.path.join(mount, path.lstrip("/"))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except OSError:
        return ""


def _figure(path: str, name: str) -> int:
    for line in _text(path).splitlines():
        word, _, value = line.partition(" ")
        if word == name and value.strip().isdecimal():
            return int(value)
    return 0


def _number(folder: str, name: str) -> int:
    text = _text(os.path.join(folder, name)).strip()
    return int(text) if text.isdecimal() else 0


def _write(folder: str, name: str, value: int) -> None:
    with open(os.path.join(folder, name), "w", encoding="ascii") as stream:
        stream.write(str(value))


def _removed(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _emptied(folders: Collection[str], rounds: int = _ROUNDS) -> bool:
    """End all that is inside. Those of a namespace that we do not see into have no number for us, and are let be."""
    doors = [os.path.join(folder, "cgroup.procs") for folder in folders]
    for _ in range(rounds):
        inside = {int(pid) for door in doors for pid in _text(door).split() if int(pid) > 0}
        if not inside:
            return True
        for pid in inside:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_MOMENT)  # seldom: only for what was left, and dies now
    return False


def _namespace() -> str:
    """In which process ids mean what they mean to us."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"


def _sweep(parent: str) -> None:
    """What processes that were killed have left, daemons included. Only of our own namespace: others have other ids."""
    for name in os.listdir(parent) if parent else ():
        prefix, pid, namespace, *_ = [*name.split("-"), "", ""]
        ours = prefix == "awf" and pid.isdecimal() and namespace == _namespace()
        if ours and not os.path.exists(f"/proc/{pid}"):
            _emptied([os.path.join(parent, name)], _FEW_ROUNDS)
            _removed(os.path.join(parent, name))
