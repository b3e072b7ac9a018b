"""The calls that an audit tells of, one event each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.application.audit.events import event_of
from awf.domain.audit import AuditFilter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from awf.application.audit.events import ToolAuditEvent
    from awf.domain.audit import AuditKind, AuditRecord
    from awf.domain.ports.audit_log import AuditLog

__all__ = ["AuditTrail"]

_PAGE = 500
_MOST = 2**63 - 1  # no store counts any further
_CALLS: tuple[AuditKind, ...] = ("call", "decision", "effect")


class AuditTrail:
    def __init__(self, log: AuditLog) -> None:
        self._log = log

    async def drain(self, after: int = 0, limit: int = 1000) -> list[ToolAuditEvent]:
        """Each call once, when its outcome is told; go on with the `sequence` of the last one.

        A call whose process ended comes, too, as soon as that is noticed: its success is not known.
        """
        found: list[ToolAuditEvent] = []
        async for record in self._pages(AuditFilter(kinds=_CALLS), after):
            if len(found) == limit:
                break
            if record.entry.kind != "decision" or record.entry.is_final:
                found.append(await self._event(record))
        return found

    async def events(
        self, where: AuditFilter | None = None, *, after: int = 0, limit: int = 100, denied: bool = False
    ) -> list[ToolAuditEvent]:
        """In the order of the chain: those behind `after`, or the newest. Calls that are under way are among them."""
        wanted = where or AuditFilter()
        under_way = await self._log.open_calls()
        found: list[ToolAuditEvent] = []
        async for record in self._pages(_looked_for(wanted), after, newest_first=not after):
            if len(found) == limit:
                break
            if (
                record.entry.kind == "decision"
                and not record.entry.is_final
                and record.sequence not in under_way
            ):
                continue  # its effect tells
            event = await self._event(record)
            if _fits(event, wanted) and (not denied or event.outcome == "denied"):
                found.append(event)
        return found if after else found[::-1]

    async def record(self, sequence: int) -> AuditRecord | None:
        if not 0 < sequence <= _MOST:
            return None
        found = await self._log.records(after=sequence - 1, limit=1)
        return found[0] if found and found[0].sequence == sequence else None

    async def event(self, record: AuditRecord) -> ToolAuditEvent:
        return await self._event(record)

    async def _event(self, record: AuditRecord) -> ToolAuditEvent:
        decision = await self.record(record.entry.follows) if record.entry.follows else None
        return event_of(record, decision.entry if decision else None)

    async def _pages(
        self, where: AuditFilter, after: int, *, newest_first: bool = False
    ) -> AsyncIterator[AuditRecord]:
        before = 0
        while page := await self._log.records(
            after=after, before=before, limit=_PAGE, where=where, newest_first=newest_first
        ):
            for record in page:
                yield record
            if newest_first:
                before = page[-1].sequence
            else:
                after = page[-1].sequence
            if len(page) < _PAGE:
                return


def _looked_for(wanted: AuditFilter) -> AuditFilter:
    """The records that can have to do with what is wanted."""
    kinds = wanted.kinds or ("call",)
    records = _CALLS if "call" in kinds else ()
    chosen = (*records, *(kind for kind in kinds if kind not in _CALLS))
    return msgspec.structs.replace(wanted, kinds=chosen, every_effect=True)


def _fits(event: ToolAuditEvent, wanted: AuditFilter) -> bool:
    from awf.domain.audit import AuditEntry

    entry = AuditEntry(
        kind=event.kind,
        created_at=event.created_at,
        tool_id=event.tool_id,
        context=event.context,
        request_id=event.request_id,
    )
    return msgspec.structs.replace(wanted, kinds=()).admits(entry)
