"""One JSON file with all pins of a gateway; implements the `PinStore` port.

A file that cannot be read stops the start: to go on as if nothing were pinned would trust whatever is offered now. A file
that cannot be written only costs the memory of it, which is no reason to refuse calls.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError
from awf.domain.problem import Place, Problem
from awf.infrastructure.pin_files.form import FormError, decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.pinning import Pin

__all__ = ["FilePins"]

_log = logging.getLogger("awf.gateway")
_Version = tuple[int, int, int]  # a replaced file has another inode even within one tick of the clock


class FilePins:
    def __init__(self, path: str) -> None:
        """The file is made when there is something to pin."""
        self._path = path
        self._seen: tuple[_Version, dict[str, Pin]] | None = None
        self._told = ""

    @classmethod
    def beside(cls, config: str, name: str) -> FilePins:
        """The file that a configuration names, relative to the folder that it stands in."""
        folder = os.path.dirname(os.path.abspath(config))
        return cls(os.path.join(folder, os.path.expanduser(name)))

    def load(self) -> dict[str, Pin]:
        """Looks at the file every time, as another process may have accepted something, and reads it when it is another."""
        try:
            return self._load()
        except FileNotFoundError:
            self._seen = None
            return {}
        except FormError as error:
            raise self._invalid(str(error), error.line, error.column) from error
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from error

    def save(self, pins: Mapping[str, Pin]) -> Problem | None:
        try:
            self.load()  # what cannot be read may be someone's work, or not ours at all: it is never overwritten
            status = _replaced(os.path.realpath(self._path), encoded(pins))
        except AwfError as error:
            return self._not_kept(error.message, error.hint)
        except FormError as error:
            return self._not_kept(f"The pins cannot be kept: {error}.", "Leave out the tool with `deny`.")
        except OSError as error:
            why = error.strerror or str(error)
            hint = "Check the permissions of the folder and the free space."
            return self._not_kept(f"The pins cannot be kept in {_shown(self._path)}: {why}.", hint)
        self._seen = (_version(status), dict(pins))
        self._told = ""
        return None

    def _load(self) -> dict[str, Pin]:
        # Not to wait for a writer, should the name be that of a pipe.
        handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise FormError("it is no plain file")
            if self._seen is None or self._seen[0] != _version(status):
                with open(handle, "rb", closefd=False) as stream:
                    self._seen = (_version(status), decoded(stream.read()))
        finally:
            os.close(handle)
        return dict(self._seen[1])

    # -- what went wrong -----------------------------------------------------------------------------------------

    def _invalid(self, why: str, line: int, column: int) -> AwfError:
        place = Place(_shown(self._path), line, column)
        return AwfError(
            "USER.GATEWAY.INVALID_PINS",
            f"{place}: the pinned definitions cannot be used: {why}.",
            hint="Restore the file from a copy. Or remove it: then what the servers offer next is trusted as it is.",
        )

    def _unreadable(self, why: str) -> AwfError:
        return AwfError(
            "USER.GATEWAY.INVALID_PINS",
            f"{_shown(self._path)}: the pinned definitions cannot be read: {why}.",
            hint="Check what it is, and its permissions; or name another file under `pinning.file`.",
        )

    def _not_kept(self, message: str, hint: str) -> Problem:
        """Logged once for each reason, however often it is tried."""
        if message != self._told:
            self._told = message
            _log.warning("%s %s", message, hint)
        return Problem(
            code="SYSTEM.IO.WRITE_FAILED",
            message=message,
            place=Place(_shown(self._path)),
            hint=hint,
            severity="warning",
        )


def _replaced(path: str, data: bytes) -> os.stat_result:
    """The status of the new file. When this fails the old one is untouched, and nothing else is left."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(handle, "wb") as stream:
            with contextlib.suppress(FileNotFoundError):  # whoever may read it now, may read it then
                os.fchmod(handle, stat.S_IMODE(os.stat(path).st_mode))
            stream.write(data)
            stream.flush()
            os.fsync(handle)  # an empty file after a power cut would stop the next start
            status = os.fstat(handle)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return status


def _version(status: os.stat_result) -> _Version:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _shown(path: str) -> str:
    """Relative where that is shorter to read."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
