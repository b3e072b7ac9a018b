"""Glob: the files that fit a pattern, the newest first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.tool import ToolFailure, text_result
from awf.infrastructure.builtin_tools.glob_pattern import fitting, split_literal
from awf.infrastructure.builtin_tools.paths import check_text
from awf.infrastructure.builtin_tools.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from awf.domain.tool import ToolResult
    from awf.infrastructure.builtin_tools.arguments import GlobArguments
    from awf.infrastructure.builtin_tools.ripgrep import Ripgrep
    from awf.infrastructure.builtin_tools.territory import Territory

__all__ = ["find_files", "joined", "list_names", "locate", "newest_first", "no_folder"]

MOST_SHOWN = 1000
LARGEST_LISTING = 256_000_000


class Place(NamedTuple):
    folder: int  # an open descriptor; the caller closes it
    shown: str
    pattern: str


def locate(territory: Territory, wanted: GlobArguments) -> Place | None:
    """The folder to list. None when the pattern names one that does not exist."""
    check_text(wanted.pattern, "pattern")
    _check_folder(territory, wanted.path)
    literal = split_literal(wanted.pattern)
    path = os.path.join(wanted.path, literal.folder) if wanted.path else literal.folder
    try:
        with territory.readable(path or ".") as spot:
            return Place(spot.enter(), spot.shown, literal.rest)
    except ToolFailure as failure:
        if failure.code not in {"RESOURCE_NOT_FOUND", "INVALID_ARGUMENTS"} or literal.folder[:1] in {"", "~"}:
            raise
        return None


def _check_folder(territory: Territory, path: str) -> None:
    if path:
        with territory.readable(path) as spot:
            os.close(spot.enter())


def _names(listing: bytes) -> list[str]:
    """Each of them ends with a null byte."""
    names = listing.decode("utf-8", "surrogateescape").split("\0")
    names.pop()
    return names


def newest_first(folder: int, names: Iterable[str], check: Callable[[], None]) -> list[str]:
    """Without those that are gone by now."""
    dates: dict[str, int] = {}  # no pairs: many small containers keep the garbage collector busy
    look = os.stat
    for number, name in enumerate(names):
        if number % 1024 == 0:
            check()
        try:
            dates[name] = look(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
        except OSError:
            continue
    return sorted(sorted(dates), key=dates.__getitem__, reverse=True)


def joined(folder: str, name: str) -> str:
    return printable(name) if folder == "." else f"{folder}/{printable(name)}"


def find_files(place: Place, listing: bytes, room: int, check: Callable[[], None]) -> ToolResult:
    listed = _names(listing)
    names = fitting(listed, place.pattern)
    if not names:
        return text_result(_nothing(place, listed))
    shown: list[str] = []
    for name in newest_first(place.folder, names, check)[:MOST_SHOWN]:
        path = joined(place.shown, name)
        room -= len(path) + 1
        if shown and room < 0:
            break
        shown.append(path)
    more = len(names) - len(shown)
    note = (
        [f"[The newest {len(shown)} of {len(names):,} files. Narrow the pattern to see others.]"]
        if more
        else []
    )
    return text_result("\n".join([*shown, *note]))


def _nothing(place: Place, names: list[str]) -> str:
    pattern = place.pattern
    if not pattern:
        return f"{place.shown} is a folder. Its files: {place.shown}/**"
    where = "" if place.shown == "." else f" in {place.shown}"
    if "/" not in pattern and (deeper := len(fitting(names, f"**/{pattern}"))):
        files = "1 file fits" if deeper == 1 else f"{deeper:,} files fit"
        return f"No file fits {pattern}{where} itself; {files} **/{pattern} there."
    if fitting(names, f"{pattern}/**"):
        return f"No file fits {pattern}{where}, but a folder does. Its files: {pattern}/**"
    return f"No file fits {pattern}{where}. Ignored files (.gitignore) are not listed."


def no_folder(wanted: GlobArguments) -> ToolResult:
    return text_result(f"No file fits {printable(wanted.pattern)}: its folder does not exist.")


async def list_names(ripgrep: Ripgrep, folder: int) -> bytes:
    answer = await ripgrep.run(folder, "--files", "--null", "--no-messages", most=LARGEST_LISTING)
    return answer.output
