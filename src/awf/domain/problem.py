"""What is wrong with a file, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NodePath", "Place", "Problem", "Severity", "as_note", "suggest"]

NodePath = tuple[str | int, ...]
Severity = Literal["error", "warning"]


class Place(msgspec.Struct, frozen=True):
    file: str
    line: int = 0  # 1-based; 0 = the file as a whole
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. `path` names the node in the file; the loader turns it into a `place`."""

    code: str
    message: str
    path: NodePath = ()
    at_key: bool = False  # point at the key rather than at its value
    place: Place | None = None
    source_line: str = ""
    hint: str = ""
    severity: Severity = "error"


def as_note(problem: Problem) -> str:
    """In one line, with its place and what to do."""
    return f"{problem.place or ''}: {problem.message} {problem.hint}".lstrip(": ").rstrip()


def suggest(word: str, candidates: Iterable[str]) -> str:
    """The candidate the writer most likely meant, or an empty string."""
    pool = list(candidates)
    folded = {c.lower().replace("-", "_"): c for c in pool}
    same = folded.get(word.lower().replace("-", "_"))
    if same is not None:
        return same
    import difflib  # late: most files have no mistakes

    found = difflib.get_close_matches(word, pool, n=1, cutoff=0.6)
    return found[0] if found else ""
