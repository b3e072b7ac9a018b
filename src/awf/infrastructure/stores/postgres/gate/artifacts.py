# ruff: noqa: S608  the names of columns are ours
"""Results that were too long, in pieces; implements the `ArtifactStore` port. Any replica reads what another put aside."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.label import Label
from awf.domain.ports.artifact_store import Artifact
from awf.infrastructure.stores.postgres.gate.keeping import asked
from awf.infrastructure.stores.postgres.gate.texts import taken
from awf.infrastructure.stores.postgres.gate.trouble import unkept

if TYPE_CHECKING:
    from awf.infrastructure.stores.postgres.gate.keeping import Keeping
    from awf.infrastructure.stores.postgres.gate.lines import Attempt, Connection

__all__ = ["PostgresArtifacts"]

_PIECE = 1 << 20
_SECONDS = 60.0  # for one that is long
_COLUMNS = (
    "artifact_id, tool_id, request_id, context, confidentiality, integrity, created_at, byte_size, line_count,"
    " content_hash, mime_type"
)
# Made anew where an attempt whose answer was lost has made it.
_DROP = "DELETE FROM awf.results WHERE artifact_id = %s"
_ADD = f"INSERT INTO awf.results ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_ADD_PIECE = "INSERT INTO awf.result_pieces (artifact_id, piece, data) VALUES (%s, %s, %s)"
_FIND = f"SELECT {_COLUMNS} FROM awf.results WHERE artifact_id = %s"
_ALL = f"SELECT {_COLUMNS} FROM awf.results ORDER BY created_at, artifact_id"
_PIECES = "SELECT data FROM awf.result_pieces WHERE artifact_id = %s ORDER BY piece"
_SWEEP = (
    "WITH ordered AS (SELECT artifact_id, created_at,"
    " sum(byte_size) OVER (ORDER BY created_at DESC, artifact_id DESC) AS size FROM awf.results)"
    " DELETE FROM awf.results r USING ordered o"
    " WHERE r.artifact_id = o.artifact_id AND (o.created_at < %s OR o.size > %s) RETURNING 1"
)
_log = logging.getLogger("awf.gate")


class PostgresArtifacts:
    def __init__(self, keeping: Keeping) -> None:
        self._lines = keeping.lines
        self._keeping = keeping

    async def keep(self, artifact: Artifact, body: bytes) -> None:
        async def work(connection: Connection, _attempt: Attempt) -> None:
            async with connection.transaction():
                await asked(connection, _DROP, (artifact.artifact_id,))
                await asked(connection, _ADD, _values(artifact))
                for number, at in enumerate(range(0, len(body), _PIECE)):
                    piece = body[at : at + _PIECE]
                    await asked(connection, _ADD_PIECE, (artifact.artifact_id, number, piece))

        try:
            await self._lines.do(work, seconds=_SECONDS)
        except AwfError as error:
            raise unkept(error) from error

    async def find(self, artifact_id: str) -> Artifact | None:
        row = await self._keeping.row(_FIND, (artifact_id,))
        return _artifact(row) if row is not None else None

    async def read(self, artifact_id: str) -> bytes | None:
        async def work(connection: Connection, _attempt: Attempt) -> tuple[Artifact | None, bytes]:
            heads = await asked(connection, _FIND, (artifact_id,))
            pieces = await asked(connection, _PIECES, (artifact_id,)) if heads else []
            return (_artifact(heads[0]) if heads else None), b"".join(piece for (piece,) in pieces)

        artifact, body = await self._lines.do(work, seconds=_SECONDS)
        if artifact is None:
            return None
        if hashlib.sha256(body).hexdigest() != artifact.content_hash:
            if body:  # not swept in between
                _log.warning("the long result %s was changed or damaged, and is not given", artifact_id)
            return None
        return body

    async def artifacts(self) -> list[Artifact]:
        return [_artifact(row) for row in await self._keeping.rows(_ALL)]

    async def sweep(self, *, before: float, max_size: int) -> int:
        """Several processes may do this at once: whoever comes second finds nothing to remove."""
        return len(await self._keeping.rows(_SWEEP, (before, max_size)))


def _values(artifact: Artifact) -> tuple[Any, ...]:
    label = artifact.label
    return (
        artifact.artifact_id, artifact.tool_id, artifact.request_id, artifact.context, label.confidentiality,
        label.integrity, artifact.created_at, artifact.byte_size, artifact.line_count, artifact.content_hash,
        artifact.mime_type,
    )  # fmt: skip


def _artifact(row: tuple[Any, ...]) -> Artifact:
    id_, tool, request, context, secret, trust, created, size, lines, digest, mime = map(taken, row)
    return Artifact(
        artifact_id=id_,
        tool_id=tool,
        request_id=request,
        context=context,
        label=Label(secret, trust),
        created_at=created,
        byte_size=size,
        line_count=lines,
        content_hash=digest,
        mime_type=mime,
    )
