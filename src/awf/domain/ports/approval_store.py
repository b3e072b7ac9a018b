from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from awf.domain.approval import Approval

__all__ = ["ApprovalStore"]


class ApprovalStore(Protocol):
    """Questions and their answers. Each change happens once, whoever else tries it at the same moment."""

    def version(self) -> int:
        """Another number as soon as anything has changed, whoever changed it. It takes some microseconds."""
        ...

    async def ask(self, approval: Approval) -> Approval:
        """The question that there is from now on: one about just this that is open, or granted and unused, stays."""
        ...

    async def find(self, approval_id: str) -> Approval | None: ...

    async def claim(self, approval: Approval) -> bool:
        """Keep one as it is, unless there is one of its id. False: there is."""
        ...

    async def decide(self, approval_id: str, *, granted: bool, by: str, now: float) -> Approval | None:
        """Answer an open question. None when this was not what decided it: it is not open (any more), or unknown."""
        ...

    async def use(self, approval_id: str, now: float) -> bool:
        """Take a granted one, for good. False when it is not granted, was taken already, or is too old."""
        ...

    async def matching(self, tool_id: str, arguments_hash: str, context: str, now: float) -> Approval | None:
        """The latest that is about just this and is open or granted and unused."""
        ...

    async def open_ones(self, now: float) -> list[Approval]:
        """In the order in which they were asked."""
        ...

    async def expire(self, now: float) -> list[Approval]:
        """Close the questions whose time is over. Each is in the answer of one call only."""
        ...

    async def forget(self, before: float) -> int:
        """Drop those whose time was over before this time; how many."""
        ...
