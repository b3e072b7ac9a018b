"""What is known of one error code."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Entry"]


class Entry(NamedTuple):
    title: str
    meaning: str
    remedy: str
