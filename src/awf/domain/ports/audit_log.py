from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from awf.domain.audit import AuditCheckpoint, AuditEntry, AuditFilter, AuditRecord, AuditReport

__all__ = ["AuditLog", "CallForm", "Ready"]


class Ready(Protocol):
    """What a form has made, ready to be added: for those who have somebody waiting."""

    @property
    def said(self) -> str:
        """The same for `AuditLog.add`."""
        ...


class CallForm(Protocol):
    """For calls that are alike: made once, used for many. What it makes is for `AuditLog.add` of the same log."""

    def decision(self, now: float, request_id: str, input_hash: str) -> str:
        """That it may be made."""
        ...

    def call(self, decision: str, now: float, duration_ms: int, output_hash: str) -> str:
        """That the call of this decision has succeeded. Whatever else came of it is an entry of its own, for `record`."""
        ...

    def decisions(self, now: float, request_ids: Sequence[str], input_hashes: Sequence[str]) -> list[str]:
        """The same for many that were decided together."""
        ...

    def calls(
        self,
        now: float,
        request_ids: Sequence[str],
        durations_ms: Sequence[int],
        output_hashes: Sequence[str],
    ) -> list[str]:
        """The same for many that have succeeded, however their decisions were recorded."""
        ...

    def ready(self, now: float, request_id: str, input_hash: str) -> Ready:
        """`decision`, for `AuditLog.add_ready`."""
        ...

    def ahead(self, decision: str) -> Ready | None:
        """`call` before anything else is known of it, for `AuditLog.add_ready`. None: that cannot be done.

        `AuditLog.complete` has to follow before anything else is ahead; where it does not, the record counts as it is.
        """
        ...


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

    def form(self, entry: AuditEntry) -> CallForm:
        """For calls that are decided as this entry says, which itself is not recorded. Only where it `is_immediate`.

        What is recorded with it is what `record` makes of the same decisions and effects, at a lower price. Hashes must be hex.
        The entry has no details, and must not change any more. The form must be kept as long as something is to be added that
        it has made.
        """
        ...

    def add(self, made: Sequence[str]) -> None:
        """Record what forms have made, in this order: all of it, or nothing. Raises `AuditUnavailable`."""
        ...

    def add_ready(self, made: Ready) -> None:
        """The same for one. Raises `AuditUnavailable`."""
        ...

    def complete(self, whole: str) -> None:
        """The `call` of what was added ahead. Raises `AuditUnavailable`."""
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
