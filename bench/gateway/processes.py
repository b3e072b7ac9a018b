"""The processes of a contestant: their processor time, their memory, their end."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

from bench.gateway.targets import UPSTREAM

__all__ = ["busy_seconds", "end", "megabytes", "own", "processor_seconds"]


def own(pid: int, *, with_upstream: bool = False) -> list[psutil.Process]:
    """The process and what it started, without the server behind."""
    try:
        root = psutil.Process(pid)
        found = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    return found if with_upstream else [one for one in found if not _is_upstream(one)]


def _is_upstream(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return str(UPSTREAM) in process.cmdline()[:3]
    return True  # it is over, so there is nothing to count


def processor_seconds(processes: list[psutil.Process]) -> float:
    """Of all threads; in nanoseconds where the kernel counts them, else in clock ticks."""
    return sum(map(_seconds, processes))


def _seconds(process: psutil.Process) -> float:
    try:
        tasks = list(Path(f"/proc/{process.pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks) / 1e9
    except (OSError, IndexError, ValueError):
        pass
    with contextlib.suppress(psutil.Error):
        used = process.cpu_times()
        return float(used.user + used.system)
    return 0.0


def busy_seconds() -> float:
    """Of all processors, since the machine was started."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0))


def megabytes(processes: list[psutil.Process]) -> float:
    """In memory."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total / 2**20


def end(pid: int) -> None:
    """One process that was started here, and what it started."""
    processes = own(pid, with_upstream=True)
    if not processes:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        processes[0].terminate()
    _, alive = psutil.wait_procs(processes, timeout=5)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=5)
