"""What runs below this process, for tests that look for leftovers."""

from __future__ import annotations

import psutil

__all__ = ["processes_below"]


def processes_below() -> list[psutil.Process]:
    """Without databases: that of all tests may be a child of this process, and comes and goes with its own helpers."""
    return [child for child in psutil.Process().children(recursive=True) if not _is_database(child)]


def _is_database(process: psutil.Process) -> bool:
    try:
        return str(process.name()) == "postgres"
    except psutil.Error:  # it is gone
        return True
