"""What a writer and the process that merges for it say to each other: one line of JSON each, in turns."""

from __future__ import annotations

import msgspec

from awf.domain.gate_file import Audit

__all__ = ["Answer", "Request", "encode"]


class Request(msgspec.Struct, omit_defaults=True):
    """Merge; or, with `end`, go without doing anything more: whoever says so does the rest."""

    held: tuple[str, ...] = ()  # the spill files of the one who asks, also those that somebody has removed
    settings: Audit = Audit()
    end: bool = False


class Answer(msgspec.Struct, omit_defaults=True):
    merged: dict[str, int] = {}  # how far each of the files that are held is in the chain
    due: float | None = None  # seconds until a checkpoint, if nothing more is recorded
    error: str = ""  # the database cannot be written
    said: list[tuple[int, str]] = []  # for the log: level and text
    leaving: bool = False  # nothing was asked: it was told to end, and does so in good order


def encode(value: Request | Answer) -> bytes:
    """It begins a line, too: the other end may hear the error output on the same pipe."""
    return b"\n%b\n" % msgspec.json.encode(value)
