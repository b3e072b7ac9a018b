"""Where the file tools may go, and how they get there without being led astray.

The guarantee. A path is walked from an open descriptor of the root, one name at a time, each opened relative to the
folder before it and never through a symbolic link (`O_NOFOLLOW`). Links are read and resolved here, as text, under the
same rule: an absolute target starts again at the root if it lies beneath it, `..` above the root is refused. What comes
out is an open descriptor of the parent folder and a last name that is no link; every later operation goes through that
descriptor and does not follow links either. So nothing that somebody swaps in between, before or after, can lead a tool
out of the root; at worst the call fails. What stays possible: a folder inside the root that is *moved* out of it while
a tool holds it open is still the same folder. Mounts and hard links are not looked at.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from typing import TYPE_CHECKING, NoReturn, Self

from awf.domain.tool import ToolFailure
from awf.infrastructure.builtin_tools.wording import failure_of, kind_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Folder", "MissingParent", "Spot", "beneath", "check_new_name", "check_text"]

MOST_LINKS = 40
LONGEST_PATH = 4096
# O_PATH is enough to go through a folder that may be entered but not listed.
_ENTER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _OutsideError(Exception):
    pass


class MissingParent(Exception):  # noqa: N818  a fact that some callers answer in other words
    """A folder on the way does not exist; `found` is as far as one gets."""

    def __init__(self, found: Spot, missing: str) -> None:
        super().__init__(missing)
        self.found = found
        self.missing = missing


class Spot:
    """A name in an open folder. The name is no symbolic link, or was none a moment ago; `.` is the folder itself."""

    def __init__(self, folder: int, path: str, shown: str, made: tuple[tuple[int, str], ...] = ()) -> None:
        self.folder = folder
        self.path = path  # where it was when it was found
        self.name = os.path.basename(path)
        self.shown = shown  # for messages
        self._made = made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1
        for above, _ in self._made:
            os.close(above)
        self._made = ()

    def status(self) -> os.stat_result | None:
        """Of the thing itself; None when there is nothing."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as reason:
            raise failure_of(reason, self.shown) from reason

    def open(self, flags: int, mode: int = 0o666) -> int:
        try:
            return os.open(self.name, flags | _SAFELY, mode, dir_fd=self.folder)
        except OSError as reason:
            raise failure_of(reason, self.shown) from reason

    def enter(self) -> int:
        """A descriptor of this folder."""
        status = self.status()
        if status is None:
            raise ToolFailure("RESOURCE_NOT_FOUND", f"{self.shown} does not exist.")
        try:
            return os.open(self.name, _ENTER, dir_fd=self.folder)
        except OSError as reason:
            if reason.errno == errno.ENOTDIR:
                raise ToolFailure(
                    "INVALID_ARGUMENTS", f"{self.shown} is {kind_of(status.st_mode)}, not a folder."
                ) from reason
            raise failure_of(reason, self.shown) from reason

    def siblings(self, most: int = 5000) -> list[str]:
        """Some names in the same folder; none when it may not be listed."""
        try:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
        except OSError:
            return []
        try:
            with os.scandir(fd) as entries:
                return [entry.name for entry, _ in zip(entries, range(most), strict=False)]
        finally:
            os.close(fd)

    def forget_parents(self) -> None:
        """Remove the folders that were made for it, as nothing came of it."""
        for above, name in reversed(self._made):
            try:
                os.rmdir(name, dir_fd=above)
            except OSError:
                return


class Folder:
    """A folder whose inside is reachable and whose outside is not."""

    def __init__(self, path: str, real: str = "", *, absolute: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.real = real or os.path.realpath(path)
        self._absolute = absolute  # how its files are named in messages

    def find(self, path: str, *, make_parents: bool = False) -> Spot:
        """Raises `ToolFailure` when it lies outside, `MissingParent` when a folder on the way does not exist."""
        check_text(path, "path")
        try:
            return self._walk(self._inner_parts(path), make_parents)
        except _OutsideError:
            pass
        # It may leave the root and come back, as `../root/file` does: then the place where it ends is walked.
        try:
            parts = beneath(self.real, os.path.realpath(os.path.join(self.real, path)))
        except OSError:  # somebody exchanges things while it looks
            parts = None
        if parts is None:
            self._refuse(path)
        try:
            return self._walk(parts, make_parents)
        except _OutsideError:
            self._refuse(path)

    def holds(self, path: str) -> bool:
        """As far as the text of an absolute path tells."""
        return any(beneath(top, os.path.normpath(path)) is not None for top in (self.path, self.real))

    def shown(self, parts: Iterable[str]) -> str:
        inner = "/".join(parts)
        if self._absolute:
            return printable(os.path.join(self.real, inner) if inner else self.real)
        return printable(inner or ".")

    def _refuse(self, path: str) -> NoReturn:
        raise ToolFailure(
            "PERMISSION_DENIED",
            f"{printable(path)} is outside {printable(self.path)}, the only folder this tool may use. "
            "Give a path inside it.",
        )

    def _inner_parts(self, path: str) -> list[str]:
        if path == "~" or path.startswith("~/"):
            raise ToolFailure(
                "INVALID_ARGUMENTS",
                f"`~` is not expanded. Give a path relative to {printable(self.path)}, or an absolute one inside it.",
            )
        if not path.startswith("/"):
            return path.split("/")
        for top in (self.path, self.real):
            parts = beneath(top, path)
            if parts is not None:
                return parts
        raise _OutsideError

    def _walk(self, parts: list[str], make_parents: bool) -> Spot:
        walk = _Walk(self, parts, make_parents=make_parents)
        try:
            return walk.end()
        except BaseException:
            walk.abandon()
            raise


class _Walk:
    """From the root to a name. Holds the folder it is in, and those in which it made something."""

    def __init__(self, top: Folder, parts: list[str], *, make_parents: bool) -> None:
        self._top = top
        self._pending = deque(parts)
        self._make = make_parents
        self._trail: list[str] = []  # the folders gone through; none of them is a link
        self._links = 0
        self._made: list[tuple[int, str]] = []
        self._here = self._enter_root()

    def end(self) -> Spot:
        name = "."
        while self._pending:
            part = self._pending.popleft()
            if part in {"", "."}:
                continue
            if part == "..":
                self._up()
            elif any(rest not in {"", "."} for rest in self._pending):
                self._down(part)
            elif not self._follow(part):
                name = part
        shown = self._top.shown([*self._trail, *([name] if name != "." else [])])
        return Spot(self._here, self._path(name), shown, tuple(self._made))

    def abandon(self) -> None:
        """Leave no folder behind that was made on the way."""
        with Spot(self._here, ".", "", tuple(self._made)) as spot:
            spot.forget_parents()

    def _enter_root(self) -> int:
        try:
            return os.open(self._top.real, _ENTER)
        except OSError as reason:
            raise failure_of(reason, f"The root folder {printable(self._top.path)}") from reason

    def _restart(self, parts: list[str]) -> None:
        """Begin again at the root with these parts before what is left to do."""
        self._move(self._enter_root())
        self._trail = []
        self._pending.extendleft(reversed(parts))

    def _move(self, fd: int) -> None:
        os.close(self._here)
        self._here = fd

    def _up(self) -> None:
        if not self._trail:
            raise _OutsideError
        self._restart(self._trail[:-1])

    def _down(self, part: str) -> None:
        try:
            fd = os.open(part, _ENTER, dir_fd=self._here)
        except OSError as reason:
            self._recover(part, reason)
            return
        self._move(fd)
        self._trail.append(part)

    def _recover(self, part: str, reason: OSError) -> None:
        if reason.errno == errno.ENOENT:
            self._missing(part)
        elif reason.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise failure_of(reason, self._shown(part)) from reason
        elif not self._follow(part):
            raise ToolFailure(
                "INVALID_ARGUMENTS", f"{self._shown(part)} is a file, not a folder."
            ) from reason

    def _missing(self, part: str) -> None:
        if not self._make or ".." in self._pending:
            here, self._here = self._here, -1
            raise MissingParent(Spot(here, self._path(part), self._shown(part)), self._shown(part))
        check_new_name(part)
        try:
            os.mkdir(part, dir_fd=self._here)
        except FileExistsError:
            pass  # somebody else made it; the next look tells what it is
        except OSError as reason:
            raise failure_of(reason, self._shown(part)) from reason
        else:
            self._made.append((os.dup(self._here), part))
        self._pending.appendleft(part)

    def _follow(self, part: str) -> bool:
        """Put the target in the place of a symbolic link. False when it is none."""
        try:
            target = os.readlink(part, dir_fd=self._here)
        except OSError as reason:
            if reason.errno in {errno.EINVAL, errno.ENOENT}:
                return False
            raise failure_of(reason, self._shown(part)) from reason
        self._links += 1
        if self._links > MOST_LINKS:
            raise ToolFailure(
                "INVALID_ARGUMENTS", f"{self._shown(part)} leads through too many symbolic links."
            )
        if not target.startswith("/"):
            self._pending.extendleft(reversed(target.split("/")))
            return True
        for top in (self._top.real, self._top.path):
            parts = beneath(top, target)
            if parts is not None:
                self._restart(parts)
                return True
        raise _OutsideError

    def _path(self, name: str) -> str:
        return os.path.join(self._top.real, *self._trail, name)

    def _shown(self, part: str) -> str:
        return self._top.shown([*self._trail, part])


def beneath(top: str, path: str) -> list[str] | None:
    """The names that lead from one to the other, None when they do not. Compares text only."""
    base = [part for part in top.split("/") if part]
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return parts[len(base) :] if parts[: len(base)] == base else None


def check_text(text: str, what: str) -> None:
    """Whether the system can be given this text at all."""
    if "\0" in text:
        raise ToolFailure("INVALID_ARGUMENTS", f"The {what} contains a null character. Leave it out.")
    try:
        size = len(os.fsencode(text))
    except UnicodeEncodeError as reason:
        raise ToolFailure(
            "INVALID_ARGUMENTS", f"The {what} contains a lone surrogate. Leave it out."
        ) from reason
    if what == "path" and size >= LONGEST_PATH:
        raise ToolFailure(
            "INVALID_ARGUMENTS", f"The path has {size} bytes; at most {LONGEST_PATH - 1} are possible."
        )


def check_new_name(name: str) -> None:
    """A line break in a name is possible and never meant."""
    if any(c in name for c in "\n\r"):
        raise ToolFailure(
            "INVALID_ARGUMENTS", f"The name {printable(name)} contains a line break. Leave it out."
        )
