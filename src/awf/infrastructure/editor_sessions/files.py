"""One file per session; implements the `EditorSessions` port.

Some editors start a new process for every prompt, and several of them look at one folder at once. So a file is never
changed in place: what a reader finds is one state or the next, whole. The last one to save wins.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError
from awf.infrastructure.editor_sessions.form import FormError, decoded, encoded, is_session_id
from awf.infrastructure.editor_sessions.replacing import forget_leftover, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.domain.editor import SessionRecord

__all__ = ["FileEditorSessions"]

_log = logging.getLogger("awf.editor")
_ENDING = ".json"
_Version = tuple[int, int, int]  # a replaced file has another inode even within one tick of the clock


class FileEditorSessions:
    def __init__(self, folder: str) -> None:
        """The folder is made when the first session is saved."""
        self._folder = folder
        self._seen: dict[str, tuple[_Version, SessionRecord | None]] = {}

    def save(self, record: SessionRecord) -> None:
        if not is_session_id(record.id):
            raise ValueError(f"not an id of a session: {record.id!r}")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            status = replace_file(self._path(record.id), encoded(record))
        except OSError as error:
            raise self._not_written(error) from error
        self._seen[record.id] = (_version(status), record)

    def find(self, session_id: str) -> SessionRecord | None:
        if not is_session_id(session_id):
            return None
        try:
            status = os.stat(self._path(session_id))
        except FileNotFoundError:
            self._seen.pop(session_id, None)
            return None
        except OSError as error:
            raise self._not_read(error) from error
        return self._read(session_id, _version(status))

    def sessions(self, cwd: str | None = None) -> Sequence[SessionRecord]:
        try:
            found = list(self._each())
        except FileNotFoundError:  # nothing was ever saved
            return ()
        except OSError as error:
            raise self._not_read(error) from error
        wanted = [record for record in found if cwd is None or record.cwd == cwd]
        return sorted(wanted, key=lambda record: (-record.updated_at, record.id))

    def delete(self, session_id: str) -> None:
        if not is_session_id(session_id):
            return
        self._seen.pop(session_id, None)
        try:
            os.unlink(self._path(session_id))
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._not_written(error) from error

    # -- reading -------------------------------------------------------------------------------------------------

    def _each(self) -> Iterator[SessionRecord]:
        there: set[str] = set()
        with os.scandir(self._folder) as entries:
            for entry in entries:
                forget_leftover(entry)
                session_id, ending = os.path.splitext(entry.name)
                if ending != _ENDING or not is_session_id(session_id):
                    continue
                there.add(session_id)
                record = self._listed(session_id, entry)
                if record is not None:
                    yield record
        self._seen = {known: what for known, what in self._seen.items() if known in there}

    def _listed(self, session_id: str, entry: os.DirEntry[str]) -> SessionRecord | None:
        try:
            return self._read(session_id, _version(entry.stat()))
        except FileNotFoundError:  # deleted while we were looking
            return None

    def _read(self, session_id: str, version: _Version) -> SessionRecord | None:
        """Read once for each version of the file, so that a damaged one is spoken of once."""
        known = self._seen.get(session_id)
        if known is not None and known[0] == version:
            return known[1]
        record: SessionRecord | None = None
        path = self._path(session_id)
        try:
            with open(path, "rb") as stream:
                version = _version(os.fstat(stream.fileno()))
                record = decoded(stream.read(), session_id)
        except FileNotFoundError:
            return None
        except (FormError, OSError) as error:
            _log.warning("the session in %s is left out: %s", path, error)
        self._seen[session_id] = (version, record)
        return record

    def _path(self, session_id: str) -> str:
        return os.path.join(self._folder, session_id + _ENDING)

    # -- what went wrong -----------------------------------------------------------------------------------------

    def _not_written(self, error: OSError) -> AwfError:
        return AwfError(
            "SYSTEM.IO.WRITE_FAILED",
            f"The session cannot be kept in {self._folder}: {error.strerror or error}.",
            hint="Check the permissions of the directory and the free space.",
        )

    def _not_read(self, error: OSError) -> AwfError:
        return AwfError(
            "SYSTEM.IO.READ_FAILED",
            f"The sessions in {self._folder} cannot be read: {error.strerror or error}.",
            hint="Check the permissions of the directory.",
        )


def _version(status: os.stat_result) -> _Version:
    return status.st_mtime_ns, status.st_size, status.st_ino
