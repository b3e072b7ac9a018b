"""Programs as child processes: started fast, watched closely, and never left behind."""

from __future__ import annotations

from awf.infrastructure.processes.child import ChildProcess
from awf.infrastructure.processes.runner import ProcessRunner

__all__ = ["ChildProcess", "ProcessRunner"]
