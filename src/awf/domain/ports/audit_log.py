from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from awf.domain.audit import AuditEntry, AuditRecord

__all__ = ["AuditLog"]


class AuditLog(Protocol):
    """The tamper-evident record. Several processes may write to one."""

    def record(self, entry: AuditEntry) -> Awaitable[None] | None:
        """Safe from the end of this process when it returns None, or else when what it returns is done.

        Raises `AuditUnavailable`.
        """
        ...

    async def records(self, *, after: int = 0, limit: int = 1000) -> list[AuditRecord]:
        """In the order of the chain, those behind a sequence number; also what other processes have recorded."""
        ...

    async def close(self) -> None: ...
