"""What a call may read and what it may write: the root, and for reading also the spooled outputs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from awf.domain.problem import suggest
from awf.domain.tool import ToolFailure
from awf.infrastructure.builtin_tools.paths import Folder, MissingParent, check_new_name
from awf.infrastructure.builtin_tools.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.infrastructure.builtin_tools.paths import Spot

__all__ = ["Spool", "Territory", "not_found"]


class Spool:
    """The folder for whole outputs of which a model saw a part. Made when it is first needed."""

    def __init__(self, place: str | Callable[[], str]) -> None:
        self._place = place
        self._folder: Folder | None = None

    def new_file(self, prefix: str) -> tuple[int, str]:
        """Descriptor and path of a new file that only this user may read."""
        import tempfile  # late: most outputs fit

        return tempfile.mkstemp(prefix=f"{prefix}-", suffix=".txt", dir=self._made().real)

    def folder(self) -> Folder | None:
        """The folder, when there is one yet."""
        if self._folder is None and isinstance(self._place, str) and os.path.isdir(self._place):
            self._folder = Folder(self._place, absolute=True)
        return self._folder

    def _made(self) -> Folder:
        if self._folder is None:
            path = self._place if isinstance(self._place, str) else self._place()
            os.makedirs(path, mode=0o700, exist_ok=True)
            self._folder = Folder(path, absolute=True)
        return self._folder


class Territory:
    def __init__(self, root: Folder, spool: Spool) -> None:
        self.root = root
        self._spool = spool

    def readable(self, path: str) -> Spot:
        return _existing(self._top(path), path)

    def changeable(self, path: str) -> Spot:
        return _existing(self.root, path)

    def writable(self, path: str) -> Spot:
        """With its parent folders made."""
        if path.endswith("/"):
            raise ToolFailure(
                "INVALID_ARGUMENTS", f"{printable(path)} names a folder. Give the path of a file."
            )
        try:
            spot = self.root.find(path, make_parents=True)
        except MissingParent as reason:  # a `..` behind a folder that is not there
            with reason.found as found:
                raise not_found(found, path) from reason
        try:
            if spot.status() is None:
                check_new_name(spot.name)
        except ToolFailure:
            with spot:
                spot.forget_parents()
            raise
        return spot

    def folder(self, path: str) -> str:
        """The path of an existing folder in the root; of the root itself when no path is given."""
        with self.changeable(path or ".") as spot:
            os.close(spot.enter())
            return os.path.normpath(spot.path)

    def _top(self, path: str) -> Folder:
        spooled = self._spool.folder() if path.startswith("/") else None
        return spooled if spooled and spooled.holds(path) else self.root


def _existing(top: Folder, path: str) -> Spot:
    """Its last name may be missing; a folder on the way may not."""
    try:
        return top.find(path)
    except MissingParent as reason:
        with reason.found as found:
            raise not_found(found, path) from reason


def not_found(spot: Spot, asked: str = "") -> ToolFailure:
    """Says what there is instead. `asked` is the path that was meant when a folder on the way to it is missing."""
    folder = os.path.dirname(spot.shown)
    there = [os.path.join(folder, printable(name)) for name in _near(spot.name, spot.siblings())]
    offer = f" Did you mean {' or '.join(there)}?" if there else ""
    missing = (
        f"{printable(asked)} does not exist: there is no folder {spot.shown}"
        if asked
        else f"{spot.shown} does not exist"
    )
    name = printable(os.path.basename(asked) or spot.name)
    return ToolFailure("RESOURCE_NOT_FOUND", f"{missing}.{offer} Glob with **/{name} looks in all folders.")


def _near(name: str, names: list[str]) -> list[str]:
    """The likeliest slips: another case, another ending, a letter or two."""
    stem = name.partition(".")[0].lower()
    likely = [
        suggest(name, names),
        *sorted(other for other in names if other.partition(".")[0].lower() == stem),
    ]
    return list(dict.fromkeys(other for other in likely if other))[:3]
