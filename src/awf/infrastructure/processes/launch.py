"""Starting a program: pipes, a session of its own, and words for what went wrong."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.domain.ports.command_runner import Command

__all__ = ["Launched", "launch"]

CODE = "EXECUTION.COMMAND.NOT_FOUND"
_ELSEWHERE = "Create the directory, or correct it: `dir` of the step, `cwd` of the server."
_INSTALL = "Install the program, or correct its path."
_SHORTEN = "Hand the data over in a file or on the standard input."
_WAIT = "Run fewer things at once, or raise the limit with `ulimit`."
_PLAIN = "Take the unusual characters out of the command and its environment."


class Launched(NamedTuple):
    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    stdin: int | None


def launch(command: Command, env: dict[str, str], *, with_stdin: bool) -> Launched:
    """Start it in its own session; our ends of the pipes do not block."""
    # The pipes are made here because Popen forgets those it made when a later one cannot be had.
    opened: list[int] = []
    try:
        out, err = _pipe(opened), _pipe(opened)
        feed = _pipe(opened) if with_stdin else None

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command.argv,
                cwd=command.cwd or None,
                env=env,
                stdin=feed[0] if feed else subprocess.DEVNULL,
                stdout=out[1],
                stderr=err[1],
                start_new_session=True,
                pass_fds=command.fds,
            )

        process: subprocess.Popen[bytes] = start() if command.via is None else command.via(start)
    except BaseException as reason:
        for fd in opened:
            os.close(fd)
        if isinstance(reason, (OSError, ValueError, IndexError, subprocess.SubprocessError)):
            raise _cannot_start(command, reason) from reason
        raise
    for theirs in (out[1], err[1], *(feed[:1] if feed else ())):
        os.close(theirs)
    for ours in (out[0], err[0], *(feed[1:] if feed else ())):
        os.set_blocking(ours, False)
    return Launched(process, out[0], err[0], feed[1] if feed else None)


def _pipe(opened: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    opened.extend(ends)
    return ends


def _cannot_start(command: Command, reason: BaseException) -> AwfError:
    program = command.argv[0] if command.argv else ""
    why, hint = _explanation(command, program, reason)
    return AwfError(CODE, f'Cannot start "{program}": {why}.', hint=hint)


def _explanation(command: Command, program: str, reason: BaseException) -> tuple[str, str]:
    if not program:
        return "no program is named", "Write a command."
    if not isinstance(reason, OSError):
        return str(reason), _PLAIN
    if reason.errno == errno.E2BIG:
        return "the arguments and the environment are too long together", _SHORTEN
    if reason.errno in {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}:
        return f"the system has no room for it ({os.strerror(reason.errno)})", _WAIT
    return _wrong_directory(command.cwd) or _wrong_program(command, program, reason)


def _wrong_directory(cwd: str) -> tuple[str, str] | None:
    if not cwd or (os.path.isdir(cwd) and os.access(cwd, os.X_OK)):
        return None
    if not os.path.lexists(cwd):
        return f'the working directory "{cwd}" does not exist', _ELSEWHERE
    kind = "may not be entered" if os.path.isdir(cwd) else "is not a directory"
    return f'the working directory "{cwd}" {kind}', _ELSEWHERE


def _wrong_program(command: Command, program: str, reason: OSError) -> tuple[str, str]:
    place = os.path.join(command.cwd, program) if os.sep in program else _found(command, program)
    if reason.errno == errno.ENOENT and place and os.path.isfile(place):
        return "the interpreter that its first line names does not exist", _INSTALL
    if reason.errno == errno.ENOENT:
        return "there is no such program", _INSTALL
    if reason.errno == errno.EACCES and place and os.path.isdir(place):
        return "it is a directory", _INSTALL
    if reason.errno == errno.EACCES:
        return "it may not be executed", f"Make it executable: chmod +x {program}"
    if reason.errno == errno.ENOEXEC:
        return "it is neither a program nor a script with a #! line", "Add a first line such as #!/bin/sh."
    return os.strerror(reason.errno or 0), _INSTALL


def _found(command: Command, program: str) -> str | None:
    return shutil.which(program, path=command.env.get("PATH", os.defpath))
