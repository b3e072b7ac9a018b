"""What a docstring says: the description, and under `Args:` one line or more for each parameter."""

from __future__ import annotations

import inspect
import re

__all__ = ["read_docstring"]

_SECTION = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_OTHER_SECTION = re.compile(r"[A-Z]\w*:\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


def read_docstring(function: object) -> tuple[str, dict[str, str]]:
    """The description without the section about parameters, and what that section says of each."""
    lines = (inspect.getdoc(function) or "").splitlines()
    start = next((number for number, line in enumerate(lines) if _SECTION.fullmatch(line)), None)
    if start is None:
        return "\n".join(lines).strip(), {}
    end = next((n for n in range(start + 1, len(lines)) if _ends_section(lines[n])), len(lines))
    rest = [*lines[:start], *lines[end:]]
    return "\n".join(rest).strip(), _entries(lines[start + 1 : end])


def _ends_section(line: str) -> bool:
    if _OTHER_SECTION.fullmatch(line):
        return True
    return bool(line.strip()) and not line[0].isspace() and not _ENTRY.fullmatch(line.rstrip())


def _entries(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    current, indent = "", None
    for line in lines:
        text, depth = line.strip(), len(line) - len(line.lstrip())
        indent = depth if indent is None and text else indent
        entry = _ENTRY.fullmatch(text) if depth == indent else None
        if entry:
            current = entry[1]
            found[current] = entry[2]
        elif current and text:
            found[current] = f"{found[current]} {text}".strip()
    return found
