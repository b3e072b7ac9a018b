"""Where runs are kept when several machines share them; implements the `RunJournal` port."""

from __future__ import annotations

import json
import os
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.program import Definition
from awf.infrastructure.stores.folders import make_folder
from awf.infrastructure.stores.postgres.link import Claim
from awf.infrastructure.stores.postgres.owned_run import PostgresRun, Recorded
from awf.infrastructure.stores.rows import CANCEL_TOPIC, RUN_COLUMNS, run_from_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.redaction import Masker
    from awf.domain.run import RunRecord
    from awf.infrastructure.stores.postgres.database import PostgresDatabase

__all__ = ["PostgresJournal"]

_encoder = msgspec.json.Encoder()
_INSERT = (
    "INSERT INTO awf.runs (id, workflow, source, status, started_at, inputs, parent, cwd, context, owner, digest, definition)"
    " VALUES (%s,%s,%s,'running',%s,%s,%s,%s,%s,%s,%s,%s)"
    " ON CONFLICT (id) DO UPDATE SET id=excluded.id WHERE awf.runs.owner=excluded.owner"  # written twice, but by us
)
_TAKE = (
    "WITH known AS (SELECT count(*)::int AS steps FROM awf.steps WHERE run_id=%s)"
    " UPDATE awf.runs SET status='running', finished_at=NULL, exit_status=NULL, error=NULL, owner=%s, progress=known.steps,"
    " deaths=CASE WHEN status<>'running' THEN 0 WHEN progress=known.steps THEN deaths+1 ELSE 1 END"
    " FROM known WHERE id=%s"
)


class PostgresJournal:
    """Opens runs; implements the `RunJournal` port."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def create(self, record: RunRecord, definition: Definition, masker: Masker) -> PostgresRun:
        make_folder(self._database.folder, record.id)
        link, claim = self._database.link, Claim(record.id, _token())
        if not await link.hold("run", record.id):
            raise _busy(record.id)
        row = (
            record.id,
            record.workflow,
            record.source,
            record.started_at,
            json.dumps(masker.map_struct(record.inputs, masker.seal)),
            record.parent,
            record.cwd,
            record.context,
            claim.token,
            definition.digest,
            _encoder.encode(definition),
        )

        async def insert(connection: Any) -> None:
            async with connection.transaction():
                cursor = await connection.execute(_INSERT, row)
                if cursor.rowcount != 1:
                    raise _busy(record.id)
                for name, value in masker.values.items():
                    if not name.startswith(
                        "env."
                    ):  # whoever goes on with the run has an environment of its own
                        await connection.execute(
                            "INSERT INTO awf.secrets VALUES (%s,%s,%s) ON CONFLICT DO NOTHING",
                            (record.id, name, value),
                        )

        try:
            await link.do(insert)
        except BaseException:
            await link.let_go("run", record.id)
            raise
        return PostgresRun(self._database, record, definition, masker, claim, Recorded(), resumed=False)

    async def adopt(self, run_id: str, masker: Masker) -> PostgresRun:
        link, claim = self._database.link, Claim(run_id, _token())
        if not await link.hold("run", run_id):
            raise _busy(run_id)
        try:
            row, recorded = await link.do(lambda connection: _take_over(connection, claim, masker))
        except BaseException:
            await link.let_go("run", run_id)
            raise
        make_folder(self._database.folder, run_id)
        record = run_from_row(row)
        *_, definition, before, options = row
        if record.status == "queued":
            record = msgspec.structs.replace(record, status=before or "running")
        record = msgspec.structs.replace(record, inputs=masker.map_struct(record.inputs, masker.unseal))
        return PostgresRun(
            self._database,
            record,
            msgspec.json.decode(definition, type=Definition),
            masker,
            claim,
            recorded,
            resumed=recorded.seq > 0 or row[3] != "queued",
            options=json.loads(options),
        )

    async def definition(self, run_id: str) -> Definition:
        (stored,) = await self._row("SELECT definition FROM awf.runs WHERE id=%s", run_id)
        return msgspec.json.decode(stored, type=Definition)

    async def inputs(self, run_id: str, masker: Masker) -> dict[str, Any]:
        await self._database.link.do(lambda connection: _load_secrets(connection, run_id, masker))
        (stored,) = await self._row("SELECT inputs FROM awf.runs WHERE id=%s", run_id)
        # A completed run has given up its secrets: those inputs must be given anew.
        readable = {name: value for name, value in json.loads(stored).items() if masker.is_readable(value)}
        found: dict[str, Any] = masker.map_struct(readable, masker.unseal)
        return found

    async def _row(self, sql: str, run_id: str) -> tuple[Any, ...]:
        found = await self._database.link.do(lambda connection: _fetch(connection, sql, (run_id,)))
        if not found:
            raise _unknown(run_id)
        return found[0]

    async def copy_steps(self, source: str, target: PostgresRun, keep: Callable[[str], bool]) -> int:
        async def read(connection: Any) -> tuple[list[Any], list[Any]]:
            steps = "SELECT path, result FROM awf.steps WHERE run_id=%s ORDER BY seq, path"
            said = "SELECT topic, payload, sender FROM awf.messages WHERE run_id=%s"
            return await _fetch(connection, steps, (source,)), await _fetch(connection, said, (source,))

        rows, messages = await self._database.link.do(read)
        kept = {path: bytes(result) for path, result in rows if keep(path)}
        answers = {
            topic: (payload, sender)
            for topic, payload, sender in messages
            if ":" in topic and keep(topic.split(":", 1)[1])
        }
        await target.copied(kept, answers)
        return len(kept)

    async def close(self) -> None:
        await self._database.leave()


async def _take_over(connection: Any, claim: Claim, masker: Masker) -> tuple[tuple[Any, ...], Recorded]:
    """From here on the run is ours: whoever wrote for it before cannot any more."""
    async with connection.transaction():
        select = f"SELECT {RUN_COLUMNS}, definition, before, options FROM awf.runs WHERE id=%s FOR UPDATE"  # noqa: S608
        rows = await _fetch(connection, select, (claim.run_id,))
        if not rows:
            raise _unknown(claim.run_id)
        if rows[0][3] == "completed":  # by another process, after ours had looked
            raise AwfError(
                "USER.RUN.NOT_RESUMABLE",
                f"{claim.run_id} has completed.",
                hint=f"`awf rerun {claim.run_id}` starts it again.",
            )
        await connection.execute(_TAKE, (claim.run_id, claim.token, claim.run_id))
        # An old request to stop is history; a question that nobody answered in time may be asked again.
        await connection.execute(
            "DELETE FROM awf.messages WHERE run_id=%s AND (topic=%s OR"
            " (topic LIKE 'approval:%%' AND (payload LIKE '%%\"timeout\"%%' OR payload LIKE '%%\"unattended\"%%')))",
            (claim.run_id, CANCEL_TOPIC),
        )
        await _load_secrets(connection, claim.run_id, masker)
        return rows[0], await _recorded(connection, claim.run_id)


async def _recorded(connection: Any, run_id: str) -> Recorded:
    steps = await _fetch(connection, "SELECT path, result FROM awf.steps WHERE run_id=%s", (run_id,))
    said = await _fetch(
        connection, "SELECT topic, payload, sender FROM awf.messages WHERE run_id=%s", (run_id,)
    )
    once = await _fetch(connection, "SELECT once FROM awf.events WHERE run_id=%s AND once <> ''", (run_id,))
    ((last,),) = await _fetch(connection, "SELECT max(seq) FROM awf.events WHERE run_id=%s", (run_id,))
    return Recorded(
        seq=int(last or 0),
        steps={path: bytes(result) for path, result in steps},
        messages={topic: (payload, sender) for topic, payload, sender in said},
        once={name for (name,) in once},
    )


async def _load_secrets(connection: Any, run_id: str, masker: Masker) -> None:
    sql = "SELECT name, value FROM awf.secrets WHERE run_id=%s"
    for name, value in await _fetch(connection, sql, (run_id,)):
        masker.add(name, value)


async def _fetch(connection: Any, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(sql, values)
    found: list[tuple[Any, ...]] = await cursor.fetchall()
    return found


def _token() -> str:
    return f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(6)}"


def _unknown(run_id: str) -> AwfError:
    return AwfError(
        "USER.RUN.NOT_FOUND", f"No run has the id {run_id}.", hint="`awf history` lists the runs."
    )


def _busy(run_id: str) -> AwfError:
    return AwfError(
        "USER.RUN.BUSY",
        f"Another process is running {run_id}.",
        hint=f"Watch it with `awf logs -f {run_id}`, or stop it with `awf cancel {run_id}`.",
    )
