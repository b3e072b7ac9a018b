"""What one process may use up (rlimits), and which limit it was that stopped a program."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.domain.ports.command_runner import CommandOutcome
    from awf.domain.sandbox import SandboxRules
    from awf.infrastructure.sandboxes.cgroups import Cell

__all__ = ["amount", "breach_of", "process_limits", "shell_limits", "tasks_of_user"]

_RESERVED = 4 * 1024**3  # address space beyond the memory in use: runtimes reserve a lot and touch little
_OPTIONS = {"FSIZE": ("f", 512), "NOFILE": ("n", 1), "DATA": ("d", 1024), "AS": ("v", 1024)}
_SIGNALS = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file_size", signal.SIGSYS: "call"}


def process_limits(rules: SandboxRules, *, memory: bool, processes: int) -> dict[str, int]:
    """By name of the limit. `memory`: processes have to be held one by one; `processes`: so many, 0 for no limit."""
    wanted = {
        "CPU": None if rules.cpu is None else max(1, round(rules.cpu)),
        "FSIZE": rules.file_size,
        "NOFILE": rules.open_files,
        "DATA": rules.memory if memory else None,
        "AS": rules.memory * 2 + _RESERVED if memory and rules.memory else None,
        "NPROC": processes or None,
    }
    return {name: _lower(name, value) for name, value in wanted.items() if value is not None}


def _lower(name: str, value: int) -> int:
    """A stricter limit that is there already stays."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def shell_limits(limits: dict[str, int]) -> str:
    """The same as commands of a shell, which costs less to start than anything else that could set them.

    Processor time has a softer limit before the hard one: the signal of the first tells why a program ended.
    """
    plain = {name: size // _OPTIONS[name][1] for name, size in limits.items() if name in _OPTIONS}
    steps = [f"ulimit -{_OPTIONS[name][0]} {size}" for name, size in plain.items()]
    if "CPU" in limits:
        steps += [f"ulimit -S -t {limits['CPU']}", f"ulimit -H -t {limits['CPU'] + 1}"]
    if "NPROC" in limits:  # bash and others do not agree on its letter
        steps.append(f"{{ ulimit -u {limits['NPROC']} 2>/dev/null || ulimit -p {limits['NPROC']}; }}")
    return " && ".join(steps)


def breach_of(rules: SandboxRules, outcome: CommandOutcome, cell: Cell | None) -> str:
    """Shells and bubblewrap tell a signal as 128 and its number."""
    if cell is not None and cell.ran_out_of_memory():
        return f"its memory limit ({amount(rules.memory or 0)})"
    if cell is not None and outcome.exit_code and cell.ran_out_of_processes():
        return f"its limit of {rules.processes} processes"
    kind = _SIGNALS.get(outcome.signal or max(0, outcome.exit_code - 128), "")  # type: ignore[call-overload]
    if kind == "cpu" and rules.cpu is not None:
        return f"its processor time limit ({rules.cpu:g} s)"
    if kind == "file_size" and rules.file_size is not None:
        return f"its file size limit ({amount(rules.file_size)})"
    return "a system call that the sandbox forbids" if kind == "call" else ""


def amount(size: int) -> str:
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def tasks_of_user() -> int:
    """How many processes and threads this user has: where the limit cannot be counted apart, it goes on top."""
    own, count = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                if os.stat(f"/proc/{name}").st_uid == own:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue
    return count
