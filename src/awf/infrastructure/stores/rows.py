"""Rows ↔ values."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.run import ErrorInfo, RunRecord, Usage

if TYPE_CHECKING:
    from awf.domain.ports.durability import Message
    from awf.infrastructure.stores.writing import Statement

__all__ = ["CANCEL_TOPIC", "RUN_COLUMNS", "encode_optional", "message_row", "run_from_row"]

CANCEL_TOPIC = "control:cancel"

RUN_COLUMNS = "id, workflow, source, status, started_at, finished_at, exit_status, error, inputs, outputs, usage, parent, cwd, owner, digest, context"


def encode_optional(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def run_from_row(row: tuple[Any, ...]) -> RunRecord:
    return RunRecord(
        id=row[0],
        workflow=row[1],
        source=row[2],
        status=row[3],
        started_at=row[4],
        finished_at=row[5],
        exit_status=row[6],
        error=None if row[7] is None else msgspec.json.decode(row[7], type=ErrorInfo),
        inputs=json.loads(row[8]),
        outputs=json.loads(row[9]),
        usage=None if row[10] is None else msgspec.json.decode(row[10], type=Usage),
        parent=row[11],
        cwd=row[12],
        owner=row[13],
        definition_hash=row[14],
        context=row[15],
    )


def message_row(run_id: str, topic: str, message: Message) -> Statement:
    return (
        "INSERT OR IGNORE INTO messages (run_id, topic, payload, sender, created_at) VALUES (?,?,?,?,?)",
        (run_id, topic, json.dumps(message.payload), message.sender, time.time()),
    )
