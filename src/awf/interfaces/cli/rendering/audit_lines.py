"""Audit events, records and reports for people."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.interfaces.cli.rendering.figures import counted, duration_text
from awf.interfaces.cli.rendering.terminal_text import flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.audit.events import ToolAuditEvent
    from awf.domain.audit import AuditRecord, AuditReport, MovedAudit

__all__ = ["event_lines", "moved_lines", "record_lines", "report_lines"]

_SIGNS = {"success": "✓", "failure": "✗", "denied": "■", "unknown": "?", "open": "▶", "": " "}
_REASON = 60


def event_lines(events: Sequence[ToolAuditEvent]) -> Iterator[str]:
    if not events:
        yield "Nothing is recorded."
        return
    rows = [_row(event) for event in events]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        yield "  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip()


def _row(event: ToolAuditEvent) -> tuple[str, ...]:
    what = event.tool_id if event.kind == "call" else f"{event.kind} {event.tool_id}".rstrip()
    took = duration_text(event.duration_ms) if event.outcome in {"success", "failure"} else ""
    why = event.error or (event.reason if event.outcome != "success" else "")
    if event.shadowed:
        would = "asked" if event.shadowed == "allow_with_confirm" else "denied"
        why = f"would be {would}: {event.rule or event.reason}"
    if event.by:
        why = f"{event.status} by {event.by}".lstrip() + (f": {why}" if why else "")
    return (
        f"{event.sequence:>6}",
        _when(event.created_at),
        f"{_SIGNS[event.outcome]} {event.outcome or '-'}",
        flat(what, 60),
        flat(event.context, 30),
        took,
        flat(why, _REASON),
    )


def _when(moment: float) -> str:
    """Where somebody has made a number of it that is in no calendar: the number."""
    return _dated(moment) or f"{moment:g}"


def _dated(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
    except (OverflowError, ValueError, OSError):
        return ""


def record_lines(record: AuditRecord) -> Iterator[str]:
    yield f"record    {record.sequence}"
    yield f"hash      {record.hash}"
    yield f"previous  {record.previous}"
    for name, value in msgspec.to_builtins(record.entry).items():
        yield f"  {name}: {_value(name, value)}"


def _value(name: str, value: Any) -> str:
    if name == "createdAt":
        date = _dated(value)
        return f"{value} ({date})" if date else f"{value}"
    return flat(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def report_lines(report: AuditReport) -> Iterator[str]:
    if not report.records:
        yield "Sound: nothing is recorded."
        return
    span = f", from record {report.first} on" if report.first > 1 else ""
    yield f"Sound: {counted(report.records, 'record')}{span}, {counted(report.checkpoints, 'signed checkpoint')}."
    if report.witnessed:
        yield f"The witness file agrees: {counted(report.witnessed, 'checkpoint')}."
    for note in report.notes:
        yield f"Not checked: {flat(note)}"
    yield f"head {report.head}"


def moved_lines(moved: MovedAudit) -> Iterator[str]:
    """What came of copying a log into the shared database."""
    old = f"The old log stays in {moved.place}; without AWF_DATABASE_URL `awf audit` reads it."
    if moved.outcome == "copied":
        yield f"The audit was copied: {counted(moved.records, 'record')}, and the copy is sound."
    elif moved.outcome == "known":
        yield "The audit was copied before."
    elif moved.outcome == "other":
        yield f"The database has an audit already, so this machine's was not copied. {old}"
    elif moved.outcome == "unsound":
        yield f"The audit is not as it was written, so it was not copied: {moved.flaw}. {old}"
