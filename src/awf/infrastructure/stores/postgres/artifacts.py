"""Output that is too big to be a value: a file on the machine where it arose, and pieces of it in the database for all others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from awf.infrastructure.stores.folders import make_folder, output_path
from awf.infrastructure.stores.postgres.link import Writing

if TYPE_CHECKING:
    from awf.domain.run import StepResult
    from awf.infrastructure.stores.postgres.database import PostgresDatabase
    from awf.infrastructure.stores.postgres.link import Claim

__all__ = ["keep_output", "output_here", "restored"]

_PIECE = 1 << 20
_STREAMS = ("stdout", "stderr")


async def keep_output(database: PostgresDatabase, claim: Claim, path: str) -> None:
    """Bring a step's output files into the database, piece by piece, so that others may write in between."""
    sql = (
        "INSERT INTO awf.artifacts (run_id, path, stream, piece, data) VALUES (%s,%s,%s,%s,%s)"
        " ON CONFLICT (run_id, path, stream, piece) DO UPDATE SET data=excluded.data"
    )
    for stream in _STREAMS:
        file = output_path(database.folder, claim.run_id, path, stream)
        if not os.path.exists(file):
            continue
        with open(file, "rb") as source:  # noqa: ASYNC230  a local file, a piece at a time
            number = 0
            while data := source.read(_PIECE):
                piece = (sql, (claim.run_id, path, stream, number, data))
                await database.link.commit(claim, Writing(others=[piece]))
                number += 1


def output_here(database: PostgresDatabase, run_id: str, path: str, stream: str) -> str:
    """The file with the whole output on this machine, fetched when it arose on another one; it may not exist."""
    file = output_path(database.folder, run_id, path, stream)
    if os.path.exists(file):
        return file
    count = database.row(
        "SELECT count(*) FROM awf.artifacts WHERE run_id=%s AND path=%s AND stream=%s", (run_id, path, stream)
    )
    if count and count[0]:
        make_folder(database.folder, run_id)
        part = f"{file}.part"
        with open(part, "wb", opener=_private) as target:
            for number in range(count[0]):
                found = database.row(
                    "SELECT data FROM awf.artifacts WHERE run_id=%s AND path=%s AND stream=%s AND piece=%s",
                    (run_id, path, stream, number),
                )
                target.write(found[0] if found else b"")
        os.replace(part, file)
    return file


def restored(database: PostgresDatabase, run_id: str, path: str, result: StepResult) -> StepResult:
    """A result whose files lie on this machine."""
    if not result.output_file or os.path.exists(result.output_file):
        return result
    return msgspec.structs.replace(result, output_file=output_here(database, run_id, path, "stdout"))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
