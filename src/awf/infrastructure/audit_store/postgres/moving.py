"""The chain of one machine's log is copied into an empty database: the same records, hashes and checkpoints, the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from awf.domain.audit import MovedAudit

if TYPE_CHECKING:
    import sqlite3

    from awf.infrastructure.audit_store.audit import SqliteAudit
    from awf.infrastructure.audit_store.keys import SharedKeys
    from awf.infrastructure.audit_store.postgres.audit import PostgresAudit
    from awf.infrastructure.audit_store.postgres.server import Connection

__all__ = ["copy_chain"]

_RECORDS = (
    "COPY awf.audit_records (sequence, previous, hash, entry, writer, number) FROM STDIN (FORMAT BINARY)"
)
_OPEN = "INSERT INTO awf.audit_open_calls (sequence, writer) VALUES (%s, '')"
_SIGNED = "INSERT INTO awf.audit_checkpoints (size, head, created_at, key, signature) VALUES (%s,%s,%s,%s,%s)"
_HEAD = (
    "UPDATE awf.audit_head SET origin=%s, sequence=%s, hash=%s, mac=%s, key=%s,"
    " signed=(SELECT coalesce(max(size), 0) FROM awf.audit_checkpoints),"
    " signed_at=(SELECT coalesce(max(created_at), 0) FROM awf.audit_checkpoints)"
)


async def copy_chain(source: SqliteAudit, target: PostgresAudit) -> MovedAudit:
    """Only into an empty log. One that is not sound stays where it is."""
    report = await source.verify()
    if not report.is_sound:
        return MovedAudit(outcome="unsound", place=source.folder, flaw=report.flaws[0].message)
    if not report.records:
        return MovedAudit(outcome="none", place=source.folder)
    keys = target.keys
    outcome = source.looked(lambda old: target.looked(lambda new: _copied(old, new, source.origin, keys)))
    if outcome != "copied":
        return MovedAudit(outcome=outcome, place=source.folder)
    target.adopt()
    return MovedAudit(outcome="copied", place=source.folder, records=report.records)


def _copied(
    old: sqlite3.Connection, new: Connection, origin: str, keys: SharedKeys
) -> Literal["copied", "known", "other"]:
    with new.transaction():
        ((there, count),) = new.execute("SELECT origin, sequence FROM awf.audit_head FOR UPDATE").fetchall()
        if count:
            return "known" if there == origin else "other"
        last = _copy_records(old, new)
        for (sequence,) in old.execute("SELECT sequence FROM open_calls"):
            new.execute(_OPEN, (sequence,))
        for row in old.execute("SELECT size, head, created_at, key, signature FROM checkpoints"):
            new.execute(_SIGNED, tuple(map(_text, row)))
        new.execute(_HEAD, (origin, *last, keys.mac(*last), keys.public))
    return "copied"


def _copy_records(old: sqlite3.Connection, new: Connection) -> tuple[int, str]:
    """Number and hash of the last one."""
    last = (0, "")
    rows = old.execute("SELECT sequence, previous, hash, entry FROM records ORDER BY sequence")
    with new.cursor() as cursor, cursor.copy(_RECORDS) as copy:
        copy.set_types(["int8", "text", "text", "bytea", "text", "int8"])
        for sequence, previous, said, entry in rows:
            copy.write_row((sequence, _text(previous), _text(said), bytes(entry), "", sequence))
            last = sequence, _text(said)
    return last


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
