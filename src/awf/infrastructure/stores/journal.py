"""Where runs are kept: made, taken over, copied; implements the `RunJournal` port."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.program import Definition
from awf.infrastructure.stores.folders import load_secrets, make_folder, run_folder, save_secrets
from awf.infrastructure.stores.owned_run import SqliteRun
from awf.infrastructure.stores.ownership import Ownership
from awf.infrastructure.stores.rows import CANCEL_TOPIC, RUN_COLUMNS, run_from_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.redaction import Masker
    from awf.domain.run import RunRecord
    from awf.infrastructure.stores.database import Database
    from awf.infrastructure.stores.writing import Statement

__all__ = ["SqliteJournal"]

_encoder = msgspec.json.Encoder()


class SqliteJournal:
    """Opens runs; implements the `RunJournal` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, record: RunRecord, definition: Definition, masker: Masker) -> SqliteRun:
        if os.path.exists(run_folder(self._database.folder, record.id)):  # the id is taken
            raise _busy(record.id)
        folder = make_folder(self._database.folder, record.id)
        ownership = Ownership.take(folder)
        if ownership is None:
            raise _busy(record.id)
        save_secrets(folder, masker)
        inputs = json.dumps(_sealed(record.inputs, masker))
        values = (
            record.id,
            record.workflow,
            record.source,
            "running",
            record.started_at,
            inputs,
            record.parent,
            record.cwd,
            record.context,
            _owner(),
            definition.digest,
            _encoder.encode(definition),
        )
        insert = (
            "INSERT INTO runs (id, workflow, source, status, started_at, inputs, parent, cwd, context, owner, digest, definition)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
        )
        try:
            await self._database.writer.commit([(insert, values)])
        except AwfError:
            ownership.release()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return SqliteRun(self._database, record, definition, masker, ownership, resumed=False)

    async def adopt(self, run_id: str, masker: Masker) -> SqliteRun:
        folder = make_folder(self._database.folder, run_id)
        ownership = Ownership.take(folder)
        if ownership is None:
            raise _busy(run_id)
        load_secrets(folder, masker)
        select = f"SELECT {RUN_COLUMNS}, definition FROM runs WHERE id=?"  # noqa: S608
        row = self._database.row(select, (run_id,))
        if row is None:
            ownership.release()
            raise AwfError(
                "USER.RUN.NOT_FOUND", f"No run has the id {run_id}.", hint="`awf history` lists the runs."
            )
        definition = msgspec.json.decode(row[-1], type=Definition)
        record = run_from_row(row)
        if record.status == "completed":  # by another process, after ours had looked
            ownership.release()
            raise AwfError(
                "USER.RUN.NOT_RESUMABLE",
                f"{run_id} has completed.",
                hint=f"`awf rerun {run_id}` starts it again.",
            )
        record = msgspec.structs.replace(record, inputs=masker.map_struct(record.inputs, masker.unseal))
        await self._database.writer.commit(
            [
                (
                    "UPDATE runs SET status='running', finished_at=NULL, exit_status=NULL, error=NULL, owner=? WHERE id=?",
                    (_owner(), run_id),
                ),
                # An old request to stop is history; a question that nobody answered in time may be asked again.
                ("DELETE FROM messages WHERE run_id=? AND topic=?", (run_id, CANCEL_TOPIC)),
                (
                    "DELETE FROM messages WHERE run_id=? AND topic LIKE 'approval:%' AND payload LIKE ?",
                    (run_id, '%"timeout"%'),
                ),
                (
                    "DELETE FROM messages WHERE run_id=? AND topic LIKE 'approval:%' AND payload LIKE ?",
                    (run_id, '%"unattended"%'),
                ),
            ]
        )
        return SqliteRun(self._database, record, definition, masker, ownership, resumed=True)

    async def definition(self, run_id: str) -> Definition:
        ((stored,),) = self._database.rows("SELECT definition FROM runs WHERE id=?", (run_id,))
        return msgspec.json.decode(stored, type=Definition)

    async def inputs(self, run_id: str, masker: Masker) -> dict[str, Any]:
        load_secrets(run_folder(self._database.folder, run_id), masker)
        ((stored,),) = self._database.rows("SELECT inputs FROM runs WHERE id=?", (run_id,))
        # A completed run has given up its secrets: those inputs must be given anew.
        readable = {name: value for name, value in json.loads(stored).items() if masker.is_readable(value)}
        found: dict[str, Any] = masker.map_struct(readable, masker.unseal)
        return found

    async def copy_steps(self, source: str, target: SqliteRun, keep: Callable[[str], bool]) -> int:
        rows = self._database.rows(
            "SELECT path, seq, result FROM steps WHERE run_id=? ORDER BY seq, path", (source,)
        )
        messages = self._database.rows(
            "SELECT topic, payload, sender, created_at FROM messages WHERE run_id=?", (source,)
        )
        statements: list[Statement] = [
            (
                "INSERT INTO steps (run_id, path, seq, result) VALUES (?,?,?,?)",
                (target.run_id, path, 0, result),
            )
            for path, _, result in rows
            if keep(path)
        ]
        copied = len(statements)
        statements += [
            (
                "INSERT INTO messages (run_id, topic, payload, sender, created_at) VALUES (?,?,?,?,?)",
                (target.run_id, *message),
            )
            for message in messages
            if ":" in message[0] and keep(message[0].split(":", 1)[1])
        ]
        if statements:
            await self._database.writer.commit(statements)
        target.finished_steps = copied
        return copied

    async def close(self) -> None:
        self._database.close()


def _owner() -> str:
    return f"{os.uname().nodename}:{os.getpid()}"


def _busy(run_id: str) -> AwfError:
    return AwfError(
        "USER.RUN.BUSY",
        f"Another process is running {run_id}.",
        hint=f"Watch it with `awf logs -f {run_id}`, or stop it with `awf cancel {run_id}`.",
    )


def _sealed(data: dict[str, Any], masker: Masker) -> Any:
    return masker.map_struct(data, masker.seal)
