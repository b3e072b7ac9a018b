"""The audit in memory; implements the `AuditLog` port. Every entry has its place in the chain at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from awf.domain.audit import AuditEntry, AuditRecord, AuditReport, AuditUnavailable
from awf.domain.audit_chain import GENESIS, ChainWalk, decoded_entry, entry_json, record_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.audit import AuditCheckpoint, AuditFilter
    from awf.domain.ports.audit_log import Ready

__all__ = ["MemoryAudit"]


class MemoryAudit:
    origin = "awf-audit/memory"
    is_immediate = True

    def __init__(self) -> None:
        self.refusal = ""  # set it, and nothing can be recorded any more
        self.kept: list[AuditRecord] = []
        self._open: dict[str, int] = {}
        self._ahead: AuditEntry | None = None  # the last entry, where it is ahead of its call

    def record(self, entry: AuditEntry, *, ahead: bool = False) -> None:
        if self.refusal:
            raise AuditUnavailable(self.refusal)
        before, self._ahead = self._ahead, entry if ahead else None
        if before is not None and (before.kind, before.request_id) != (entry.kind, entry.request_id):
            self._append(before)
        if not ahead:
            self._append(entry)

    def _append(self, entry: AuditEntry) -> None:
        own = decoded_entry(entry_json(entry))
        sequence = len(self.kept) + 1
        if own.kind == "decision" and own.request_id and not own.is_final:
            self._open[own.request_id] = sequence
        elif own.kind == "effect":
            own.follows = self._open.pop(own.request_id, 0)
        previous = self.kept[-1].hash if self.kept else GENESIS
        said = record_hash(sequence, previous, entry_json(own))
        self.kept.append(AuditRecord(sequence=sequence, previous=previous, entry=own, hash=said))

    def form(self, entry: AuditEntry) -> _Form:
        return _Form(entry)

    def add(self, made: Sequence[str]) -> None:
        for one in made:
            self.record(decoded_entry(one.encode()))

    def add_ready(self, made: Ready) -> None:
        assert isinstance(made, _Ready)
        self.record(decoded_entry(made.said.encode()), ahead=made.ahead)

    def complete(self, whole: str) -> None:
        self.record(decoded_entry(whole.encode()))

    async def records(
        self,
        *,
        after: int = 0,
        before: int = 0,
        limit: int = 1000,
        where: AuditFilter | None = None,
        newest_first: bool = False,
    ) -> list[AuditRecord]:
        found = [
            one
            for one in self.kept
            if one.sequence > after
            and (not before or one.sequence < before)
            and (where is None or where.admits(one.entry))
        ]
        return (found[::-1] if newest_first else found)[:limit]

    async def open_calls(self) -> frozenset[int]:
        return frozenset(self._open.values())

    async def checkpoints(self, *, after: int = 0, limit: int = 1000) -> list[AuditCheckpoint]:
        del after, limit
        return []

    async def verify(self) -> AuditReport:
        walk = ChainWalk()
        for one in self.kept:
            walk.step(one.sequence, one.previous, one.hash, entry_json(one.entry))
        return AuditReport(
            records=walk.count, sound_until=walk.sound_until, head=walk.head, flaws=tuple(walk.flaws)
        )

    async def close(self) -> None: ...


class _Ready(NamedTuple):
    """A `Ready`."""

    said: str
    ahead: bool = False


class _Form:
    """A `CallForm`."""

    def __init__(self, entry: AuditEntry) -> None:
        self._entry = entry

    def decision(self, now: float, request_id: str, input_hash: str) -> str:
        own = {"created_at": now, "request_id": request_id, "input_hash": input_hash}
        return entry_json(msgspec.structs.replace(self._entry, **own)).decode()

    def decisions(self, now: float, request_ids: Sequence[str], input_hashes: Sequence[str]) -> list[str]:
        return [self.decision(now, *call) for call in zip(request_ids, input_hashes, strict=True)]

    def calls(
        self,
        now: float,
        request_ids: Sequence[str],
        durations_ms: Sequence[int],
        output_hashes: Sequence[str],
    ) -> list[str]:
        calls = zip(request_ids, durations_ms, output_hashes, strict=True)
        return [self.call(self.decision(now, one, ""), now, taken, output) for one, taken, output in calls]

    def ready(self, now: float, request_id: str, input_hash: str) -> _Ready:
        return _Ready(self.decision(now, request_id, input_hash))

    def ahead(self, decision: str) -> _Ready:
        return _Ready(self.call(decision, decoded_entry(decision.encode()).created_at, 0, ""), ahead=True)

    def call(self, decision: str, now: float, duration_ms: int, output_hash: str) -> str:
        request_id = decoded_entry(decision.encode()).request_id
        return entry_json(
            AuditEntry(
                kind="effect",
                created_at=now,
                request_id=request_id,
                tool_id=self._entry.tool_id,
                context=self._entry.context,
                output_hash=output_hash,
                success=True,
                duration_ms=duration_ms,
            )
        ).decode()
