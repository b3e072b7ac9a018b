from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from awf.domain.audit import AuditCheckpoint, AuditEntry, AuditFilter, AuditRecord, AuditReport

__all__ = ["AuditLog"]


class AuditLog(Protocol):
    """The tamper-evident record. Several processes may write to one."""

    @property
    def origin(self) -> str:
        """Which log this is."""
        ...

    @property
    def is_immediate(self) -> bool:
        """Whether `record` never has to be waited for."""
        ...

    def record(self, entry: AuditEntry) -> Awaitable[None] | None:
        """Safe from the end of this process when it returns None, or else when what it returns is done.

        Raises `AuditUnavailable`.
        """
        ...

    async def records(
        self,
        *,
        after: int = 0,
        before: int = 0,
        limit: int = 1000,
        where: AuditFilter | None = None,
        newest_first: bool = False,
    ) -> list[AuditRecord]:
        """Those between two sequence numbers (0: up to the end), also what other processes have recorded.

        In the order of the chain, or the other way round; as many as the limit says are taken from where that begins.
        """
        ...

    async def open_calls(self) -> frozenset[int]:
        """The numbers of decisions whose effect has not come. One whose process has ended gets an effect that says so."""
        ...

    async def checkpoints(self, *, after: int = 0, limit: int = 1000) -> list[AuditCheckpoint]:
        """Those of more than `after` records, in order."""
        ...

    async def verify(self) -> AuditReport:
        """Looks at every record."""
        ...

    async def close(self) -> None: ...
