"""Runs of one machine's embedded store are copied into the database. The store stays as it is; copying again adds what is new."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.redaction import Masker
from awf.domain.run import StepResult
from awf.infrastructure.stores.folders import load_secrets, output_path, run_folder
from awf.infrastructure.stores.ownership import is_owned
from awf.infrastructure.stores.rows import RUN_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.infrastructure.stores.database import Database
    from awf.infrastructure.stores.postgres.database import PostgresDatabase
    from awf.infrastructure.stores.writing import Statement

__all__ = ["Moved", "copy_runs"]

_PIECE = 1 << 20
_COLUMNS = f"{RUN_COLUMNS}, definition"


class Moved(msgspec.Struct):
    copied: int = 0
    known: int = 0  # they are in the database already
    running: list[str] = []  # a process owns them; they are left alone


def copy_runs(source: Database, target: PostgresDatabase) -> Moved:
    moved = Moved()
    for row in source.rows(f"SELECT {_COLUMNS} FROM runs ORDER BY started_at"):  # noqa: S608
        run_id = str(row[0])
        if is_owned(run_folder(source.folder, run_id)):
            moved.running.append(run_id)
        elif target.row("SELECT 1 FROM awf.runs WHERE id=%s", (run_id,)) is not None:
            moved.known += 1
        else:
            target.write_now([_run(row), *_parts(source, run_id)])
            moved.copied += 1
    return moved


def _run(row: tuple[Any, ...]) -> Statement:
    """The run itself; nobody owns it there."""
    values = dict(zip(_COLUMNS.split(", "), row, strict=True)) | {"owner": ""}
    marks = ",".join(["%s"] * len(values))
    return f"INSERT INTO awf.runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values())  # noqa: S608


def _parts(source: Database, run_id: str) -> Iterator[Statement]:
    for row in source.rows("SELECT run_id, path, seq, result FROM steps WHERE run_id=?", (run_id,)):
        yield "INSERT INTO awf.steps (run_id, path, seq, result) VALUES (%s,%s,%s,%s)", row
        if msgspec.json.decode(row[3], type=StepResult).truncated:
            yield from _output(source.folder, run_id, row[1])
    for row in source.rows("SELECT run_id, seq, type, once, body FROM events WHERE run_id=?", (run_id,)):
        yield "INSERT INTO awf.events (run_id, seq, type, once, body) VALUES (%s,%s,%s,%s,%s)", row
    select = "SELECT run_id, topic, payload, sender, created_at FROM messages WHERE run_id=?"
    for row in source.rows(select, (run_id,)):
        yield (
            "INSERT INTO awf.messages (run_id, topic, payload, sender, created_at, nonce) VALUES (%s,%s,%s,%s,%s,%s)",
            (*row, secrets.token_hex(8)),
        )
    masker = Masker()
    load_secrets(run_folder(source.folder, run_id), masker)
    for name, value in masker.values.items():
        if not name.startswith("env."):
            yield "INSERT INTO awf.secrets (run_id, name, value) VALUES (%s,%s,%s)", (run_id, name, value)


def _output(folder: str, run_id: str, path: str) -> Iterator[Statement]:
    sql = "INSERT INTO awf.artifacts (run_id, path, stream, piece, data) VALUES (%s,%s,%s,%s,%s)"
    for stream in ("stdout", "stderr"):
        file = output_path(folder, run_id, path, stream)
        if os.path.exists(file):
            with open(file, "rb") as whole:
                number = 0
                while data := whole.read(_PIECE):
                    yield sql, (run_id, path, stream, number, data)
                    number += 1
