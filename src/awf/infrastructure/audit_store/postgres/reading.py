"""Records and checkpoints as they lie in the database, and who writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.audit import AuditCheckpoint, AuditRecord
from awf.domain.audit_chain import decoded_entry
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.audit import AuditFilter
    from awf.infrastructure.audit_store.postgres.server import Connection

__all__ = ["living_writers", "read_checkpoints", "read_records", "writers_of_open_calls"]

_PAGE = 1000
_JSON = "convert_from(entry, 'UTF8')::json"


def read_records(
    connection: Connection,
    after: int,
    before: int,
    limit: int,
    where: AuditFilter | None,
    *,
    newest_first: bool,
) -> list[AuditRecord]:
    import psycopg

    pages = _Pages(connection, after, before, newest_first=newest_first)
    try:
        return pages.read(limit, where, _conditions(where))
    # An entry that the database cannot look into, such as one with a zero byte in a text, or nested too deeply.
    except (psycopg.DataError, psycopg.errors.StatementTooComplex):
        return pages.read(limit, where, [])


class _Pages:
    def __init__(self, connection: Connection, after: int, before: int, *, newest_first: bool) -> None:
        self._connection = connection
        self._after, self._before = after, before
        self._order = "DESC" if newest_first else "ASC"

    def read(
        self, limit: int, where: AuditFilter | None, conditions: list[tuple[str, Any]]
    ) -> list[AuditRecord]:
        """What the database lets through is looked at once more: entries say for themselves what they are."""
        found: list[AuditRecord] = []
        after, before = self._after, self._before
        size = limit if where is None or conditions else _PAGE
        while len(found) < limit:
            page = self._page(after, before, min(size, _PAGE), conditions)
            found += _chosen(page, where)
            if len(page) < min(size, _PAGE):
                break
            after, before = (after, page[-1][0]) if self._order == "DESC" else (page[-1][0], before)
        return found[:limit]

    def _page(
        self, after: int, before: int, limit: int, conditions: list[tuple[str, Any]]
    ) -> list[tuple[Any, ...]]:
        texts, values = ["sequence > %s"], [after]
        if before:
            texts.append("sequence < %s")
            values.append(before)
        texts += [text for text, _ in conditions]
        values += [value for _, given in conditions for value in given]
        sql = (
            f"SELECT sequence, previous, hash, entry FROM awf.audit_records WHERE {' AND '.join(texts)}"  # noqa: S608  no values
            f" ORDER BY sequence {self._order} LIMIT %s"
        )
        return self._connection.execute(sql.encode(), (*values, limit)).fetchall()


def _conditions(where: AuditFilter | None) -> list[tuple[str, Any]]:
    """What the database can tell. The entry itself is looked into: it is under the hash, columns beside it would not be."""
    if where is None:
        return []
    kinds = [(f"{_JSON}->>'kind' = ANY(%s)", [list(where.kinds)])] if where.kinds else []
    others = [
        (condition, [value])
        for condition, value in (
            (f"coalesce({_JSON}->>'toolId', '') LIKE %s", _like(where.tool)),
            (f"{_JSON}->>'context' = %s", where.context),
            (f"{_JSON}->>'requestId' = %s", where.request_id),
            (f"({_JSON}->>'createdAt')::float8 >= %s", where.since),
            (f"({_JSON}->>'createdAt')::float8 < %s", where.until),
        )
        if value
    ]
    if others and where.every_effect:
        whole = " AND ".join(condition for condition, _ in others)
        values = [value for _, given in others for value in given]
        others = [(f"({_JSON}->>'kind' = 'effect' OR ({whole}))", values)]
    return kinds + others


def _like(pattern: str) -> str:
    """At least what the pattern means."""
    if "[" in pattern or "\0" in pattern:
        return "%" if pattern else ""
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")


def _chosen(page: list[tuple[Any, ...]], where: AuditFilter | None) -> Iterator[AuditRecord]:
    for sequence, previous, said, data in page:
        try:
            entry = decoded_entry(data)
        except (msgspec.DecodeError, TypeError) as error:
            if where is None:
                raise _broken(sequence, error) from error
            continue
        if where is None or where.admits(entry):
            yield AuditRecord(sequence=sequence, previous=previous, hash=said, entry=entry)


def _broken(sequence: int, error: Exception) -> AwfError:
    return AwfError(
        "EXECUTION.AUDIT.BROKEN",
        f"Record {sequence} of the audit cannot be read: {error}.",
        hint="awf audit verify",
    )


def read_checkpoints(connection: Connection, origin: str, after: int, limit: int) -> list[AuditCheckpoint]:
    rows = connection.execute(
        "SELECT size, head, created_at, key, signature FROM awf.audit_checkpoints WHERE size > %s"
        " ORDER BY size LIMIT %s",
        (after, limit),
    )
    return [
        AuditCheckpoint(
            origin=origin, size=size, head=head, created_at=created_at, key=key, signature=signature
        )
        for size, head, created_at, key, signature in rows
    ]


def writers_of_open_calls(connection: Connection) -> set[str]:
    return {one for (one,) in connection.execute("SELECT DISTINCT writer FROM awf.audit_open_calls")}


def living_writers(connection: Connection) -> set[int]:
    """The keys of all advisory locks that somebody holds."""
    rows = connection.execute(
        "SELECT classid::bigint, objid::bigint FROM pg_locks WHERE locktype='advisory' AND granted AND objsubid=1"
        " AND database=(SELECT oid FROM pg_database WHERE datname=current_database())"
    )
    return {_signed(high << 32 | low) for high, low in rows}


def _signed(key: int) -> int:
    return key - (1 << 64) if key >= 1 << 63 else key
