"""What the audit is told. What cannot be recorded and has consequences does not happen."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from awf.domain.audit import AuditEntry, AuditUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.audit import AuditKind
    from awf.domain.ports.audit_log import AuditLog

__all__ = ["Recorder"]

_OWN = frozenset(AuditEntry.__struct_fields__) - {"details", "kind", "created_at"}
KEPT = 10_000  # entries that are kept in memory while nothing can be recorded
_TOGETHER = 500
_log = logging.getLogger("awf.gate")


class Recorder:
    """Without a log it records nothing, and nothing depends on it."""

    def __init__(self, log: AuditLog | None, clock: Callable[[], float]) -> None:
        self.log = log
        self._clock = clock
        self._missed: deque[AuditEntry] = deque(maxlen=KEPT)
        self._lost = 0
        self._catching_up = asyncio.Lock()

    async def record(self, entry: AuditEntry, *, needed: bool) -> None:
        """Raises `AuditUnavailable` when it is needed and cannot be done; else it is kept for later."""
        if self.log is None:
            return
        try:
            if self._missed:
                async with self._catching_up:  # whoever comes meanwhile waits, lest entries are added twice
                    if self._missed:
                        await self._catch_up(self.log)
            pending = self.log.record(entry)
            if pending is not None:
                await pending
        except AuditUnavailable as reason:
            if needed:
                raise
            self._keep(entry, reason)

    @property
    def is_immediate(self) -> bool:
        """Whether what is recorded is safe at once, without waiting for anyone."""
        return not self._missed and (self.log is None or self.log.is_immediate)

    def record_now(self, entry: AuditEntry) -> bool:
        """False: it was not recorded, since it cannot be, or not without waiting."""
        if self.log is None:
            return True
        if not self.log.is_immediate:
            return False
        try:
            self.log.record(entry)
        except AuditUnavailable:
            return False
        return True

    def keep_or_record(self, entry: AuditEntry) -> None:
        """What has happened already, and nobody waits for."""
        if self._missed or not self.record_now(entry):
            self._keep(entry, AuditUnavailable("it cannot be written"))

    async def tell(self, entry: AuditEntry) -> None:
        """Something that has happened already, whether or not it can be recorded now."""
        await self.record(entry, needed=False)

    async def note(self, kind: AuditKind, details: dict[str, Any], *, needed: bool = False) -> None:
        """A `Tell`: keys that entries have go there, the others into its details."""
        own = {key: value for key, value in details.items() if key in _OWN}
        more = {_camel(key): value for key, value in details.items() if key not in _OWN}
        await self.record(AuditEntry(kind=kind, created_at=self._clock(), details=more, **own), needed=needed)

    async def finish(self) -> None:
        """Nothing comes any more: what was kept in memory is added now, or lost, and then that is told."""
        if not self._missed or self.log is None:
            return
        try:
            async with self._catching_up:
                await self._catch_up(self.log)
        except AuditUnavailable as reason:
            _log.error("%d entries of the audit are lost: %s", len(self._missed) + self._lost, reason)

    def _keep(self, entry: AuditEntry, reason: AuditUnavailable) -> None:
        if not self._missed:
            _log.error(
                "the audit cannot be written; what only reads goes on and is kept in memory: %s", reason
            )
        if len(self._missed) == KEPT:
            self._lost += 1
        entry.details = {**entry.details, "recordedLate": True}
        self._missed.append(entry)

    async def _catch_up(self, log: AuditLog) -> None:
        """What was kept in memory, with a note of the gap before it. Those that have to be waited for are so together."""
        first = self._missed[0]
        details = {"entries": len(self._missed), "lost": self._lost, "since": first.created_at}
        pending = log.record(AuditEntry(kind="audit_gap", created_at=self._clock(), details=details))
        if pending is not None:
            await pending
        while self._missed:
            some = list(itertools.islice(self._missed, _TOGETHER if not log.is_immediate else 1))
            await asyncio.gather(*filter(None, [log.record(one) for one in some]))
            for one in some:
                if self._missed[0] is one:  # else it had to make room meanwhile
                    self._missed.popleft()
        self._lost = 0
        _log.warning("the audit can be written again; %d entries were added late", details["entries"])


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))
