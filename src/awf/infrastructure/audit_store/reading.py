"""Records as they lie in the chain, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.audit import AuditRecord
from awf.domain.audit_chain import decoded_entry
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    import sqlite3

    from awf.domain.audit import AuditFilter

__all__ = ["read_records"]


def read_records(
    connection: sqlite3.Connection,
    after: int,
    before: int,
    limit: int,
    where: AuditFilter | None,
    *,
    newest_first: bool,
) -> list[AuditRecord]:
    conditions, values = ["sequence > ?"], [after]
    if before:
        conditions.append("sequence < ?")
        values.append(before)
    for condition, value in _conditions(where):
        conditions.append(condition)
        values += value
    order = "DESC" if newest_first else "ASC"
    rows = connection.execute(
        f"SELECT sequence, previous, hash, entry FROM records WHERE {' AND '.join(conditions)}"  # noqa: S608  no values
        f" ORDER BY sequence {order} LIMIT ?",
        (*values, limit),
    )
    return [_record(*row) for row in rows]


def _conditions(where: AuditFilter | None) -> list[tuple[str, list[Any]]]:
    """The entry is looked into by SQLite itself: what it says is under the hash, columns beside it would not be."""
    if where is None:
        return []
    found: list[tuple[str, list[Any]]] = []
    if where.kinds:
        found.append((f"{_field('kind')} IN ({','.join('?' * len(where.kinds))})", list(where.kinds)))
    others: list[tuple[str, list[Any]]] = []
    for condition, value in (
        (f"{_field('toolId')} GLOB ?", where.tool),
        (f"{_field('context')} = ?", where.context),
        (f"{_field('requestId')} = ?", where.request_id),
        (f"{_field('createdAt')} >= ?", where.since),
        (f"{_field('createdAt')} < ?", where.until),
    ):
        if value:
            others.append((condition, [value]))
    if others and where.every_effect:
        whole = " AND ".join(condition for condition, _ in others)
        others = [
            (f"({_field('kind')} = 'effect' OR ({whole}))", [value for _, one in others for value in one])
        ]
    return found + others


def _field(name: str) -> str:
    return f"(CASE WHEN json_valid(entry) THEN json_extract(entry, '$.{name}') END)"


def _record(sequence: int, previous: bytes, said: bytes, entry: bytes) -> AuditRecord:
    try:
        return AuditRecord(
            sequence=sequence, previous=previous.decode(), hash=said.decode(), entry=decoded_entry(entry)
        )
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise AwfError(
            "EXECUTION.AUDIT.BROKEN",
            f"Record {sequence} of the audit cannot be read: {error}.",
            hint="awf audit verify",
        ) from error
