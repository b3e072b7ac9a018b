"""A wall of namespaces, built by bubblewrap: own files, processes, network, and no powers.

    [airlock] → [shell: joins control groups] → bwrap → [shell: rlimits] → the program

Everything bwrap is told, the environment included, comes by a file in memory: command lines can be read by others, and
neither bwrap nor a shell outside the wall may be led by variables that are meant for the program.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from awf.domain.errors import AwfError
from awf.domain.sandbox import Abilities
from awf.infrastructure.sandboxes.airlock import airlock
from awf.infrastructure.sandboxes.confined import ConfinedCommand
from awf.infrastructure.sandboxes.kernel import counts_processes_by_namespace, memory_file
from awf.infrastructure.sandboxes.layout import SYSTEM, check_reach, lay_out, lies_in
from awf.infrastructure.sandboxes.limits import process_limits, shell_limits, tasks_of_user
from awf.infrastructure.sandboxes.seccomp import SocketRules, seccomp_filter
from awf.infrastructure.sandboxes.system_settings import copy_settings, hold_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.domain.ports.command_runner import Command
    from awf.domain.ports.sandbox import Grounds
    from awf.domain.sandbox import Demand, SandboxRules
    from awf.infrastructure.sandboxes.cgroups import Cell, Cells
    from awf.infrastructure.sandboxes.layout import Layout, Spot

__all__ = ["Bubblewrap"]

_JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"'
_CHANGING = ("/etc/resolv.conf", "/etc/hosts")  # with the network that this machine is in
_OF_THE_KERNEL = ("sys", "sysrq-trigger", "mtrr", "pressure", "fs", "scsi", "acpi")  # below /proc
_GROUPS = "/sys/fs/cgroup"
_MOST_ARGUMENTS = 9000  # of bwrap, together
_SPARE = 16  # for what is added to them
_ROOMY = 8 * 1024**3
_SAFE_PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class Bubblewrap:
    """Landlock, where the kernel has it, adds what namespaces leave open: abstract sockets live in the network's one."""

    def __init__(self, program: str, cells: Cells, scratch: Callable[[], str]) -> None:
        """`scratch` makes a private folder, which is removed at the latest when we end."""
        self._program = program
        self._cells = cells
        self._scratch = scratch
        self._etc = ""
        self._folders: list[str] = []
        self._airlock = airlock()
        self._machine = os.uname().machine

    def abilities(self) -> Abilities:
        cannot: dict[Demand, str] = {}
        if not self._cells.processes and os.getuid() == 0:
            cannot["processes"] = "root has no limit of its own, and no control group can be made"
        if not seccomp_filter(self._machine, SocketRules(internet=True, unix=True)):
            cannot["others"] = f"no filter of system calls is known for {self._machine}"
        return Abilities(
            wall="bubblewrap", cannot=cannot, notes=_notes(self._cells, self._airlock is not None)
        )

    def close(self) -> None:
        self._cells.close()

    def prepare(self, command: Command, rules: SandboxRules, grounds: Grounds) -> ConfinedCommand:
        layout = lay_out(rules, grounds, command.cwd)
        fds = [spot.fd for spot in (*layout.spots, *layout.protected)]
        cell: Cell | None = None
        try:
            check_reach(command, layout, rules.name)
            cell = self._cells.make(rules)
            arguments = self._arguments(command, rules, layout, grounds)
            sockets = SocketRules(internet=True, unix=self._airlock is not None or not rules.network)
            program = seccomp_filter(self._machine, sockets)
            if program:
                fds.append(memory_file(program))
                arguments += ["--seccomp", str(fds[-1])]
            fds.append(memory_file(b"".join(os.fsencode(one) + b"\0" for one in arguments)))
            inner = self._inner(command, rules)
            walled = (self._program, "--args", str(fds[-1]), "--", *inner)
            via = self._airlock.start if self._airlock and rules.network and rules.files != "all" else None
        except BaseException:
            for fd in fds:
                os.close(fd)
            if cell is not None:
                cell.release()
            raise
        wrapped = msgspec.structs.replace(
            command, argv=_joining(cell, walled), cwd="/", env=_SAFE_PATH, fds=tuple(fds), via=via
        )
        return ConfinedCommand(wrapped, rules, cell, fds)

    def _inner(self, command: Command, rules: SandboxRules) -> tuple[str, ...]:
        counted = rules.processes if rules.processes and not self._cells.processes else 0
        if counted and not counts_processes_by_namespace():
            counted += tasks_of_user()
        limits = process_limits(rules, memory=not self._cells.memory, processes=counted)
        if not limits:
            return command.argv
        return ("/bin/sh", "-c", f'{shell_limits(limits)} && exec "$@"', "sh", *command.argv)

    def _arguments(
        self, command: Command, rules: SandboxRules, layout: Layout, grounds: Grounds
    ) -> list[str]:
        arguments = [
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]
        arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        if not rules.network:
            arguments.append("--unshare-net")
        if layout.everything:
            arguments += ["--dev-bind", "/", "/", "--proc", "/proc", *_kernel_settings()]
            arguments += ["--ro-bind-try", _GROUPS, _GROUPS]  # root could leave its own
        else:
            arguments += [
                *self._system(layout, rules),
                "--proc",
                "/proc",
                *_kernel_settings(),
                "--dev",
                "/dev",
                *self._shown(rules, layout, grounds),
            ]
            arguments += ["--remount-ro", "/"]
        arguments += ["--chdir", layout.cwd, "--clearenv"]
        for name, value in command.env.items():
            arguments += ["--setenv", name, value]
        if len(arguments) > _MOST_ARGUMENTS - _SPARE:
            text = f"The sandbox “{rules.name}” cannot be built: bubblewrap cannot pass on {len(command.env)} environment variables."
            raise AwfError(
                "SYSTEM.SANDBOX.UNAVAILABLE", text, hint="Start AWF with fewer: about 2900 can be passed on."
            )
        return arguments

    def _shown(self, rules: SandboxRules, layout: Layout, grounds: Grounds) -> Iterator[str]:
        """Outer before inner, and empty rooms before what is shown in their place."""
        size = str(min(rules.memory or _ROOMY, _ROOMY))
        rooms = {"/tmp": "1777", "/var/tmp": "1777", "/dev/shm": "1777"}
        if grounds.home and os.path.isabs(grounds.home) and not _is_shown(grounds.home, layout):
            rooms[os.path.normpath(grounds.home)] = "0700"
        steps: list[tuple[int, int, tuple[str, ...]]] = [
            (path.count("/"), 0, ("--perms", mode, "--size", size, "--tmpfs", path))
            for path, mode in rooms.items()
        ]
        steps += [(spot.path.count("/"), 1, _bind(spot)) for spot in layout.spots]
        steps += [(spot.path.count("/"), 2, _bind(spot)) for spot in layout.protected]
        for _, _, step in sorted(steps, key=lambda one: one[:2]):
            yield from step
        for spot in layout.spots:
            if spot.given != spot.path and not layout.shows(spot.given):
                yield from ("--symlink", spot.path, spot.given)

    def _system(self, layout: Layout, rules: SandboxRules) -> Iterator[str]:
        for path in layout.system:
            if not path.startswith("/etc/") and not any(
                lies_in(path, other) for other in SYSTEM if other != path
            ):
                target = _link(path)
                yield from ("--symlink", target, path) if target else ("--ro-bind-try", path, path)
        yield from ("--ro-bind", self._settings(layout), "/etc")
        for path in (*self._folders, *(_CHANGING if rules.network else ())):
            yield from ("--ro-bind-try", path, path)

    def _settings(self, layout: Layout) -> str:
        """Made once. What else is shown below /etc needs something there to be put over."""
        if not self._etc:
            self._etc = self._scratch()
            self._folders = copy_settings(self._etc, _CHANGING)
        for spot in layout.spots:
            if spot.path.startswith("/etc/"):
                hold_place(self._etc, spot.path, folder=spot.folder)
        return self._etc


def _kernel_settings() -> Iterator[str]:
    """They can be read. Root owns them, also in here, and needs no powers to change them for the whole machine."""
    for name in _OF_THE_KERNEL:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")


def _bind(spot: Spot) -> tuple[str, ...]:
    """By the open file, not by its name. bwrap closes it: to the program it would be a way out."""
    return "--bind-fd" if spot.writable else "--ro-bind-fd", str(spot.fd), spot.path


def _is_shown(home: str, layout: Layout) -> bool:
    """One that the profile shows, or that the system's folders hold, is not covered up."""
    return layout.shows(os.path.normpath(home)) or home.rstrip("/") in {"", "/dev", "/proc"}


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _joining(cell: Cell | None, argv: tuple[str, ...]) -> tuple[str, ...]:
    return ("/bin/sh", "-c", _JOIN, "sh", *cell.doors, "--", *argv) if cell else argv


def _notes(cells: Cells, scoped: bool) -> tuple[str, ...]:
    sockets = (
        ""
        if scoped
        else "with a network, Unix sockets are shut altogether (Landlock 6 would tell them apart)"
    )
    return tuple(filter(None, (cells.memory_note(), sockets)))
