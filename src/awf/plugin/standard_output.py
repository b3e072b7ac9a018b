"""Standard output belongs to the handshake. Whatever else is printed goes to standard error, which AWF logs."""

from __future__ import annotations

import os
import sys

__all__ = ["COOKIE", "claim_standard_output", "started_by_awf"]

COOKIE = ("AWF_PLUGIN", "awf-plugin-v1")

_claimed: int | None = None


def started_by_awf() -> bool:
    return os.getenv(COOKIE[0]) == COOKIE[1]


def claim_standard_output() -> int | None:
    """The real standard output, set aside, or None when the process was not started by AWF.

    Done on the level of file descriptors, so that libraries in C and child processes do no harm either; and as soon as
    there is a plugin, since modules print while they are loaded.
    """
    global _claimed
    if _claimed is None and started_by_awf():
        _claimed = os.dup(1)  # not inherited by children
        os.dup2(2, 1)
        # What was printed before is still in its buffer, and now leaves by the other door.
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)
    return _claimed
