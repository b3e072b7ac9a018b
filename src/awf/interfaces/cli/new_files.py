"""Files that a command writes: all of them or none, and nothing is overwritten without being asked to."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import click

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.application.authoring.scaffold import NewFile

__all__ = ["show_files", "wanted_files", "write_files", "writing_options"]

_LONG = 200  # lines; a generated file is only mentioned


def writing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    dry_run = click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
    force = click.option("--force", is_flag=True, help="Overwrite files that are there.")
    return force(dry_run(function))


def wanted_files(base: str, files: Sequence[NewFile], *, force: bool) -> list[NewFile]:
    """Those that have to be written. Raises USER.FILE.EXISTS when one would be overwritten."""
    wanted = [file for file in files if not (file.shared and os.path.lexists(os.path.join(base, file.path)))]
    in_the_way = [
        path
        for file in wanted
        for path in (file.path, *file.rivals)
        if os.path.lexists(os.path.join(base, path))
    ]
    if in_the_way and not force:
        more = f" and {len(in_the_way) - 1} more" if len(in_the_way) > 1 else ""
        raise AwfError(
            "USER.FILE.EXISTS",
            f"{in_the_way[0]}{more} would be overwritten.",
            hint="Choose another name, or pass --force.",
        )
    return wanted


def show_files(files: Sequence[NewFile]) -> None:
    for file in files:
        lines = file.text.count("\n")
        if lines > _LONG:
            print(f"--- {file.path} ({lines} lines)")
        else:
            print(f"--- {file.path}\n{file.text}", end="")


def write_files(base: str, files: Sequence[NewFile]) -> None:
    """Everything is prepared beside its place first, so that a full disk or a closed folder changes nothing."""
    batch = _Batch()
    try:
        for file in files:
            batch.prepare(os.path.join(base, file.path), file.text)
        batch.put_in_place()
    except OSError as error:
        batch.undo()
        name = os.path.relpath(str(error.filename or base), base)
        raise AwfError(
            "SYSTEM.IO.WRITE_FAILED",
            f"{name} cannot be written: {error.strerror}. Nothing was changed.",
            hint=f"Check the permissions of {base} and the free space.",
        ) from error


class _Batch:
    def __init__(self) -> None:
        self._folders: list[str] = []  # made here, outer ones first
        self._prepared: list[tuple[str, str]] = []  # (temporary file, its place)
        self._before: dict[str, bytes | None] = {}  # what each place held

    def prepare(self, place: str, text: str) -> None:
        self._make_folder(os.path.dirname(place))
        place = os.path.realpath(place)
        temporary = f"{place}.{os.getpid()}.tmp"
        with open(temporary, "x", encoding="utf-8") as stream:
            self._prepared.append((temporary, place))
            stream.write(text)

    def _make_folder(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for path in reversed(missing):
            os.mkdir(path)
            self._folders.append(path)

    def put_in_place(self) -> None:
        for temporary, place in self._prepared:
            before = _content(place)
            os.replace(temporary, place)
            self._before[place] = before

    def undo(self) -> None:
        """As it was before; what cannot be undone is left for the error to tell."""
        with contextlib.suppress(OSError):
            for place, before in self._before.items():
                if before is None:
                    os.remove(place)
                else:
                    with open(place, "wb") as stream:
                        stream.write(before)
        for temporary, _ in self._prepared:
            with contextlib.suppress(OSError):
                os.remove(temporary)
        for folder in reversed(self._folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _content(place: str) -> bytes | None:
    if not os.path.lexists(place):
        return None
    with open(place, "rb") as stream:
        return stream.read()
