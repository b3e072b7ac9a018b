"""What governs AWF, kept from programs that may write around it: configuration, pins, plugins, workflows.

A wall keeps a file or folder as it was when the program started. Two things would undo that behind its back, and so
decide what is kept here:

- A file that is saved by moving a new one over it is another file then. So it is never kept by itself: its folder is, and
  whatever happens in there stays in there.
- A name on the way to it can be given to something else. So every folder between a writable place and what is kept in it
  is shown as a place of its own, which nobody inside can move, and a link on the way, which nobody could hold, is refused.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Kept", "keep", "lies_in"]

CODE = "USER.SANDBOX.GATE_IN_REACH"
_LINKS = 40  # as many as the kernel follows


class Kept(NamedTuple):
    """Real paths, outer before inner."""

    held: list[str]  # can be changed, and not be moved
    folders: list[str]  # can only be read


def lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def keep(folders: Iterable[str], files: Iterable[str], writable: Sequence[str], profile: str) -> Kept:
    """`writable`: the real paths of places. Folders that do not exist are made, or a program could make them.

    Raises `AwfError` for what cannot be kept.
    """
    if not writable:
        return Kept([], [])
    whole, single = [*folders], [*files]
    wanted = {one for path in whole for one in _as_folder(path, writable, profile)}
    wanted |= {one for path in single for one in _as_file(path, writable, profile)}
    outermost = [one for one in sorted(wanted) if not any(one != two and lies_in(one, two) for two in wanted)]
    for path in (*whole, *single):
        _refuse_links(path, outermost, writable, profile)
    kept = [folder for folder in outermost if _is_there(folder, profile)]
    held = {one for folder in kept for one in _between(folder, writable)}
    return Kept(sorted(held), kept)


def _as_folder(path: str, writable: Sequence[str], profile: str) -> Iterator[str]:
    real = os.path.realpath(path)
    for place in writable:
        if lies_in(place, real):
            raise _given_away(real, place, profile)
        if lies_in(real, place):
            yield real


def _as_file(path: str, writable: Sequence[str], profile: str) -> Iterator[str]:
    """The folder that it is in, and that of its name, which may be a link."""
    named = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    for one in dict.fromkeys((named, os.path.realpath(path))):
        folder = os.path.dirname(one)
        for place in writable:
            if place in {one, folder}:
                raise _right_there(one, place, profile)
            if lies_in(folder, place):
                yield folder


def _refuse_links(path: str, kept: Sequence[str], writable: Sequence[str], profile: str) -> None:
    for link in _links(path):
        if any(lies_in(link, place) for place in writable) and not any(lies_in(link, one) for one in kept):
            text = f"{link} is a link on the way to what governs AWF, and programs in the sandbox profile “{profile}” could put something else in its place."
            raise AwfError(CODE, text, hint=f"Put what it leads to in its place: {os.path.realpath(link)}")


def _links(path: str) -> Iterator[str]:
    """Those that are followed, each where it really lies."""
    parts, at, left = path.split("/")[::-1], "/", _LINKS
    while parts and left:
        part = parts.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, part)
        try:
            target = os.readlink(here)
        except OSError:
            at = here
            continue
        yield here
        left -= 1
        at = "/" if target.startswith("/") else at
        parts += target.split("/")[::-1]


def _is_there(folder: str, profile: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as reason:
        if reason.errno == errno.EROFS:  # nobody else can make it either
            return False
        text = f"{folder} cannot be made: {reason.strerror}. Programs in the sandbox profile “{profile}” might make it, and it would govern AWF."
        raise AwfError(CODE, text, hint=f"Make it for them to leave alone: mkdir {folder}") from reason
    return True


def _between(folder: str, writable: Sequence[str]) -> Iterator[str]:
    """What lies between it and the place that it is in."""
    above = os.path.dirname(folder)
    while above not in writable and any(lies_in(above, place) for place in writable):
        yield above
        above = os.path.dirname(above)


def _right_there(path: str, place: str, profile: str) -> AwfError:
    text = f"{path} governs AWF, and programs in the sandbox profile “{profile}” may change everything right in {place}."
    if path == place:
        text = f"{path} governs AWF, and the sandbox profile “{profile}” lets programs change it."
        return AwfError(CODE, text, hint="Remove it from `write` of the profile.")
    hint = f"Give it a folder of its own, which they can only read: mkdir gate && mv {os.path.basename(path)} gate/"
    return AwfError(CODE, text, hint=hint)


def _given_away(folder: str, place: str, profile: str) -> AwfError:
    text = f"What lies in {folder} governs AWF, and the sandbox profile “{profile}” lets programs change {place}."
    return AwfError(CODE, text, hint="Remove it from `write` of the profile, or work in another folder.")
