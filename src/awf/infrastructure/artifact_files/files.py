"""Results that were too long, in a folder; implements the `ArtifactStore` port.

One file holds what is known of a result, in its first line, and the result. It is written under another name and then
given its own, so that it is there whole or not at all, for every process that looks. Its time is when it was made: to
sweep, no file has to be opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import time
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.artifact_store import Artifact

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FileArtifacts"]

_ID = re.compile(r"[A-Za-z0-9_-]{16,128}")  # nothing that leads elsewhere
_END, _PART = ".artifact", ".part"
_ABANDONED = 3600.0  # seconds after which nobody writes any more
_LONGEST_HEADER = 1 << 20
_log = logging.getLogger("awf.gate")


class _Entry(NamedTuple):
    made: float
    size: int
    path: str


class FileArtifacts:
    def __init__(self, folder: str) -> None:
        """The folder is made when there is something to keep."""
        self._folder = folder

    async def keep(self, artifact: Artifact, body: bytes) -> None:
        await asyncio.to_thread(self._keep, artifact, body)

    async def find(self, artifact_id: str) -> Artifact | None:
        return await asyncio.to_thread(self._find, artifact_id)

    async def read(self, artifact_id: str) -> bytes | None:
        return await asyncio.to_thread(self._read, artifact_id)

    async def artifacts(self) -> list[Artifact]:
        return await asyncio.to_thread(self._all)

    async def sweep(self, *, before: float, max_size: int) -> int:
        return await asyncio.to_thread(self._sweep, before, max_size)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _keep(self, artifact: Artifact, body: bytes) -> None:
        path = self._path(artifact.artifact_id)
        if path is None:
            raise ValueError(f"no id of an artifact: {artifact.artifact_id!r}")
        part = os.path.join(self._folder, f"{os.getpid()}-{os.urandom(8).hex()}{_PART}")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                with open(handle, "wb") as stream:
                    stream.write(msgspec.json.encode(artifact) + b"\n")
                    stream.write(body)
                    stream.flush()
                    os.fsync(handle)
                os.replace(part, path)
                with contextlib.suppress(FileNotFoundError):  # swept already
                    # Only now: a part that looks old counts as left behind.
                    os.utime(path, (artifact.created_at, artifact.created_at))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part)
                raise
        except OSError as error:
            raise AwfError(
                "SYSTEM.SPOOL.WRITE_FAILED",
                f"A long result cannot be kept in {self._folder}: {error.strerror or error}.",
                hint="Check permissions and free space.",
            ) from error

    def _sweep(self, before: float, max_size: int) -> int:
        """Several processes may do this at once: whoever comes second finds nothing to remove."""
        removed, size = 0, 0
        for entry in sorted(self._entries(_END), reverse=True):
            size += entry.size
            if entry.made < before or size > max_size:
                removed += _removed(entry.path)
        for entry in self._entries(_PART):
            if entry.made < time.time() - _ABANDONED:
                _removed(entry.path)
        return removed

    def _entries(self, ending: str) -> Iterator[_Entry]:
        try:
            with os.scandir(self._folder) as found:
                for one in found:
                    if one.name.endswith(ending):
                        with contextlib.suppress(FileNotFoundError):
                            status = one.stat(follow_symlinks=False)
                            yield _Entry(status.st_mtime, status.st_size, one.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unreadable(error) from error

    # -- reading -----------------------------------------------------------------------------------------------------

    def _find(self, artifact_id: str) -> Artifact | None:
        with self._opened(artifact_id) as stream:
            return _header(stream) if stream else None

    def _read(self, artifact_id: str) -> bytes | None:
        with self._opened(artifact_id) as stream:
            artifact = _header(stream) if stream else None
            if stream is None or artifact is None:
                return None
            body = stream.read()
        if hashlib.sha256(body).hexdigest() != artifact.content_hash:
            _log.warning("the long result %s was changed or damaged, and is not given", artifact_id)
            return None
        return body

    def _all(self) -> list[Artifact]:
        names = (os.path.basename(entry.path).removesuffix(_END) for entry in self._entries(_END))
        found = [artifact for name in names if (artifact := self._find(name)) is not None]
        return sorted(found, key=lambda one: one.created_at)

    @contextlib.contextmanager
    def _opened(self, artifact_id: str) -> Iterator[BinaryIO | None]:
        path = self._path(artifact_id)
        try:
            stream = open(path, "rb") if path else None  # noqa: SIM115  closed below
        except FileNotFoundError:
            stream = None
        except OSError as error:
            raise self._unreadable(error) from error
        with stream or contextlib.nullcontext():
            yield stream

    def _path(self, artifact_id: str) -> str | None:
        return os.path.join(self._folder, f"{artifact_id}{_END}") if _ID.fullmatch(artifact_id) else None

    def _unreadable(self, error: OSError) -> AwfError:
        return AwfError(
            "SYSTEM.IO.READ_FAILED",
            f"Long results in {self._folder} cannot be read: {error.strerror or error}.",
            hint="Check the permissions of the folder.",
        )


def _header(stream: BinaryIO) -> Artifact | None:
    """None for what is not one of ours, or not whole any more."""
    try:
        line = stream.readline(_LONGEST_HEADER)
        artifact = msgspec.json.decode(line, type=Artifact)
    except (msgspec.MsgspecError, OSError):
        return None
    return artifact if os.fstat(stream.fileno()).st_size == len(line) + artifact.byte_size else None


def _removed(path: str) -> int:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return 0
    except OSError as error:
        _log.warning("%s cannot be removed: %s", path, error.strerror)
        return 0
    return 1
