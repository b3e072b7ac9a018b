"""Whether the gateway's own files still lie where confined programs cannot change them.

A wall keeps a folder from a running program as the folder that was there when the program started. Whoever puts another one in
its place (`mv`, `cp -r`, a change of branches) puts it where that program may write, and nobody can tell afterwards who wrote
what in it. So from then on nothing is read there any more, until the gateway is started anew.
"""

from __future__ import annotations

import functools
import os
import weakref
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from awf.domain.pinning import Pin
    from awf.domain.ports.pin_store import PinStore
    from awf.domain.problem import Problem

__all__ = ["FirmPins", "Footing"]

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class Footing:
    def __init__(self) -> None:
        self._held: list[int] = []  # open, so that the system gives their numbers to no other folder
        self._known: set[str] = set()  # the files in them
        self.lost = ""  # the folder that is another one now
        weakref.finalize(self, _close, self._held)

    def hold(self, file: str) -> None:
        """The folders that it is read from, as they are now: before a program is started that may write around them."""
        self._known.add(file)
        for folder in _folders(file):
            try:
                self._held.append(os.open(folder, _FOLDER))
            except OSError:  # whatever is wrong with it, reading it will tell
                continue

    def check(self, files: Iterable[str], could_change: Callable[[str], bool]) -> None:
        """After they were read. Raises `AwfError` where what was read is not to be trusted: of files that were, once and for ever.

        `could_change`: whether programs that may still be there were allowed to write in a folder, were it not kept.
        """
        if not self.lost:
            strange = [
                (file, one)
                for file in files
                for one in _folders(file)
                if not self._is_held(one) and could_change(one)
            ]
            self.lost = next((folder for file, folder in strange if file in self._known), "")
            if strange and not self.lost:
                raise _never_kept(strange[0][1])
        if self.lost:
            text = f"{self.lost} is not the folder that was there when the gateway started. Confined programs that run since may have changed what lies in it, so nothing is read from there."
            hint = "Stop the gateway, look at what stands in the folder, and start it again."
            raise AwfError("USER.SANDBOX.FOLDER_REPLACED", text, hint=hint)

    def _is_held(self, folder: str) -> bool:
        """Also as a part of one: those are kept whole."""
        if not os.path.isdir(folder):
            return True  # nothing can be read there
        while not any(map(functools.partial(_is_same, folder), self._held)):
            folder, below = os.path.dirname(folder), folder
            if folder == below:
                return False
        return True


def _never_kept(folder: str) -> AwfError:
    text = (
        f"{folder} was not kept from the confined programs that run, so what lies in it cannot be relied on."
    )
    hint = "Leave the file where it was; or stop the gateway, look at what stands in the folder, and start it again."
    return AwfError("USER.SANDBOX.GATE_IN_REACH", text, hint=hint)


class FirmPins:
    """A `PinStore` over another one: what it says is only believed where it stands firm, else what it said before."""

    def __init__(self, store: PinStore, check: Callable[[], None]) -> None:
        """`check` raises `AwfError`."""
        self._store = store
        self._check = check
        self._last: dict[str, Pin] | None = None

    def load(self) -> dict[str, Pin]:
        found = self._store.load()
        try:
            self._check()
        except AwfError:
            if self._last is None:
                raise
            return dict(self._last)
        self._last = dict(found)
        return found

    def save(self, pins: Mapping[str, Pin]) -> Problem | None:
        problem = self._store.save(pins)
        self._last = dict(pins)
        return problem


def _folders(file: str) -> Iterator[str]:
    """Of its name, and of what that leads to."""
    named = os.path.dirname(os.path.abspath(file))
    yield from dict.fromkeys((os.path.realpath(named), os.path.dirname(os.path.realpath(file))))


def _is_same(folder: str, opened: int) -> bool:
    try:
        return os.path.samestat(os.stat(folder), os.fstat(opened))
    except OSError:
        return False


def _close(held: list[int]) -> None:
    for one in held:
        os.close(one)
