"""What a sandbox had to do with the end of a command, in words for a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.domain.ports.command_runner import CommandOutcome

__all__ = ["sandbox_notes", "stopped_by"]

_TAIL = 4000
# Limits that hold each process by itself only refuse: what refused it is seen from what the program says of it.
_LIMITS = (
    (re.compile(r"Cannot allocate memory|MemoryError|bad_alloc|[Oo]ut of memory"), "its memory limit"),
    (
        re.compile(
            r"[Cc]annot fork|fork: .*unavailable|can't start new thread|BlockingIOError: \[Errno 11\]"
        ),
        "its limit of processes",
    ),
    (re.compile(r"File too large|File size limit exceeded"), "its file size limit"),
    (re.compile(r"Bad system call"), "a system call that the sandbox forbids"),
)
_REFUSALS = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|Network is unreachable|"
    r"name resolution|[Cc]ould not resolve|Address family not supported|No such file or directory|not found"
)


def stopped_by(outcome: CommandOutcome, text: str) -> str:
    """The limit that stopped it; empty when none did, or there was no sandbox."""
    if outcome.breach or not outcome.profile or not outcome.exit_code:
        return outcome.breach
    return next((limit for words, limit in _LIMITS if words.search(text[-_TAIL:])), "")


def sandbox_notes(outcome: CommandOutcome, text: str, stopped: str) -> list[str]:
    if stopped:
        return [f"stopped by {stopped} in the sandbox “{outcome.profile}”"]
    if outcome.exit_code and _REFUSALS.search(text[-_TAIL:]):
        return [f"it ran in the sandbox “{outcome.profile}”, which may be why"]
    return []
