"""A wall without namespaces, for machines that allow none: Landlock for files, seccomp for sockets, rlimits.

It cannot put anything in the place of something else. So the program gets a folder of its own as HOME and TMPDIR, and
where the gate's files lie in a folder that it may change, it may change what lies there beside them, and make nothing new.
"""

from __future__ import annotations

import marshal
import os
import resource
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.sandbox import Abilities
from awf.infrastructure.sandboxes.confined import ConfinedCommand
from awf.infrastructure.sandboxes.kernel import memory_file
from awf.infrastructure.sandboxes.layout import check_reach, lay_out, lies_in
from awf.infrastructure.sandboxes.limits import process_limits, tasks_of_user
from awf.infrastructure.sandboxes.seccomp import MACHINES, SocketRules, seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.domain.ports.command_runner import Command
    from awf.domain.ports.sandbox import Grounds
    from awf.domain.sandbox import Demand, SandboxRules
    from awf.infrastructure.sandboxes.cgroups import Cell, Cells
    from awf.infrastructure.sandboxes.layout import Layout

__all__ = ["Landlock", "handled_rights"]

ENTRANCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "entrance.py")
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_DEVICES_MADE = 1 << 6 | 1 << 11  # nobody may make device files
_FIRST, _REFER, _TRUNCATE, _CONTROL_DEVICES = (1 << 13) - 1, 1 << 13, 1 << 14, 1 << 15
_WRITE = (_FIRST | _REFER | _TRUNCATE) & ~_DEVICES_MADE
_DEVICE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _CONTROL_DEVICES
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
# Not all of /proc: it shows the command lines of others.
_PROC = (
    "cpuinfo",
    "meminfo",
    "stat",
    "version",
    "filesystems",
    "loadavg",
    "uptime",
    "sys/kernel",
    "sys/vm",
    "self",
)
_SCOPES = 6
_WHOLE = 3


def handled_rights(interface: int) -> int:
    """All that this version of the interface can forbid."""
    newer = ((2, _REFER), (3, _TRUNCATE), (5, _CONTROL_DEVICES))
    return _FIRST | sum(right for since, right in newer if interface >= since)


class Landlock:
    def __init__(
        self, interface: int, cells: Cells, scratch: Callable[[], str], python: str = sys.executable
    ) -> None:
        """`scratch` makes a private folder, which is removed at the latest when we end."""
        self._interface = interface
        self._cells = cells
        self._scratch = scratch
        self._python = python
        self._machine = os.uname().machine

    def abilities(self) -> Abilities:
        cannot: dict[Demand, str] = {
            "listening": "Landlock cannot tell connections to sockets in folders from those to the network"
        }
        if not self._cells.processes and os.getuid() == 0:
            cannot["processes"] = "root has no limit of its own, and no control group can be made"
        if self._interface < _WHOLE:
            cannot["files"] = f"Landlock {self._interface} lets files be cut short; Linux 6.2 has a newer one"
        if self._interface < _SCOPES:
            cannot["others"] = (
                f"Landlock {self._interface} does not hold back signals; Linux 6.12 has a newer one"
            )
        if self._machine not in MACHINES:
            reason = f"no filter of system calls is known for {self._machine}"
            cannot |= {"network": reason, "sockets": reason, "others": reason}
        notes = (
            self._cells.memory_note(),
            "modes and times of files are not guarded",
            "nothing new beside the gate's files",
        )
        return Abilities(wall="landlock", cannot=cannot, notes=notes)

    def close(self) -> None:
        self._cells.close()

    def prepare(self, command: Command, rules: SandboxRules, grounds: Grounds) -> ConfinedCommand:
        layout = lay_out(rules, grounds, command.cwd)
        fds = [spot.fd for spot in (*layout.spots, *layout.protected)]
        cell: Cell | None = None
        try:
            check_reach(command, layout, rules.name)
            cell = self._cells.make(rules)
            folder = "" if layout.everything else self._scratch()
            spec = self._spec(command, rules, layout, grounds, folder)
            spec["doors"] = cell.doors if cell else ()
            spec["rules"] = [] if layout.everything else [*_rules(layout, folder, fds)]
            fds.append(memory_file(marshal.dumps(spec)))
        except BaseException:
            for fd in fds:
                os.close(fd)
            if cell is not None:
                cell.release()
            raise
        argv = (self._python, "-I", "-S", ENTRANCE, str(fds[-1]))
        wrapped = msgspec.structs.replace(command, argv=argv, cwd="/", env={}, fds=tuple(fds))
        return ConfinedCommand(wrapped, rules, cell, fds, folder)

    def _spec(
        self, command: Command, rules: SandboxRules, layout: Layout, grounds: Grounds, folder: str
    ) -> dict[str, Any]:
        own = {name: folder for name in ("HOME", "TMPDIR", "TMP", "TEMP") if folder}
        counted = rules.processes if rules.processes and not self._cells.processes and os.getuid() else 0
        limits = process_limits(
            rules, memory=not self._cells.memory, processes=counted + tasks_of_user() if counted else 0
        )
        return {
            "argv": command.argv,
            "env": {**command.env, **own},
            "cwd": layout.cwd,
            "limits": [
                (getattr(resource, f"RLIMIT_{name}"), size, size + (name == "CPU"))
                for name, size in limits.items()
            ],
            "scope": int(self._interface >= _SCOPES and ("others" in rules.demands())),
            "handled": 0 if layout.everything else handled_rights(self._interface),
            "filter": seccomp_filter(self._machine, _sockets(rules, grounds), namespaces=False),
        }


def _sockets(rules: SandboxRules, grounds: Grounds) -> SocketRules:
    if rules.files == "all":
        return SocketRules(internet=rules.network, unix=True)
    listens = bool(grounds.shared)
    return SocketRules(internet=rules.network, unix=listens, connect=rules.network)


def _rules(layout: Layout, folder: str, fds: list[int]) -> Iterator[tuple[str | int, int]]:
    yield from ((path, _READ) for path in layout.system)
    yield from ((path, _DEVICE) for path in _DEVICES)
    yield from ((f"/proc/{name}", _READ) for name in _PROC)
    yield folder, _WRITE
    for spot in layout.spots:
        kept = [other.path for other in layout.protected if spot.writable and lies_in(other.path, spot.path)]
        if kept:
            yield from _around(spot.fd, spot.path, kept, fds)
        else:
            yield spot.fd, _WRITE if spot.writable else _READ


def _around(folder: int, path: str, kept: list[str], fds: list[int]) -> Iterator[tuple[int, int]]:
    """Everything in a folder but what is kept, entry by entry: a right that is given to a folder cannot be taken back inside."""
    yield folder, _READ
    for name in sorted(os.listdir(f"/proc/self/fd/{folder}")):
        inner = os.path.join(path, name)
        if inner in kept:
            continue
        try:
            fd = os.open(f"/proc/self/fd/{folder}/{name}", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        fds.append(fd)
        if any(lies_in(other, inner) for other in kept):
            yield from _around(fd, inner, kept, fds)
        elif not os.path.islink(f"/proc/self/fd/{folder}/{name}"):
            yield fd, _WRITE
