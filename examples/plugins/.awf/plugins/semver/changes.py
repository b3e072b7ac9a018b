"""What changes say in the form of Conventional Commits: `feat: …`, `fix(parser): …`, `refactor!: …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from versions import Part

_CHANGE = re.compile(r"(?P<kind>[a-zA-Z]+)(?:\([^)]*\))?(?P<breaking>!?):\s*(?P<text>.+)")
_HEADINGS = {"breaking": "Breaking", "feat": "Added", "fix": "Fixed", "other": "Other"}


def weight(changes: Iterable[str]) -> Part | None:
    """Which part of the version they raise; None when nothing changes for users."""
    kinds = {_kind(change) for change in changes}
    if "breaking" in kinds:
        return "major"
    return "minor" if "feat" in kinds else "patch" if "fix" in kinds else None


def notes(changes: Iterable[str]) -> dict[str, list[str]]:
    """The texts under their headings."""
    found: dict[str, list[str]] = {}
    for change in changes:
        match = _CHANGE.fullmatch(change.strip().splitlines()[0]) if change.strip() else None
        if change.strip():
            text = match["text"] if match else change.strip().splitlines()[0]
            found.setdefault(_HEADINGS[_kind(change)], []).append(text)
    return {heading: found[heading] for heading in _HEADINGS.values() if heading in found}


def _kind(change: str) -> str:
    match = _CHANGE.match(change.strip())
    if "BREAKING CHANGE:" in change or (match and match["breaking"]):
        return "breaking"
    kind = match["kind"].lower() if match else ""
    return kind if kind in _HEADINGS else "other"
