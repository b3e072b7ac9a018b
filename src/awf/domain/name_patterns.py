"""Patterns of names: `*` is any text, `?` any character, and everything else stands for itself."""

from __future__ import annotations

from fnmatch import fnmatchcase

__all__ = ["fits", "is_pattern"]


def fits(name: str, pattern: str) -> bool:
    # Names of tools may have brackets in them.
    return fnmatchcase(name, pattern.replace("[", "[[]") if "[" in pattern else pattern)


def is_pattern(text: str) -> bool:
    return "*" in text or "?" in text
