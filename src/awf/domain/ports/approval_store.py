from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from awf.domain.approval import Approval

__all__ = ["ApprovalStore"]


class ApprovalStore(Protocol):
    """Questions and their answers. Each change happens once, whoever else tries it at the same moment."""

    async def ask(self, approval: Approval) -> None: ...

    async def find(self, approval_id: str) -> Approval | None: ...

    async def decide(self, approval_id: str, *, granted: bool, by: str, now: float) -> Approval | None:
        """Answer an open question. The approval as it is now; None when there is none of this id."""
        ...

    async def use(self, approval_id: str, now: float) -> bool:
        """Take a granted one, for good. False when it is not granted, was taken already, or is too old."""
        ...

    async def matching(self, tool_id: str, arguments_hash: str, context: str, now: float) -> Approval | None:
        """The latest that is about just this and is open or granted and unused."""
        ...

    async def open_ones(self, now: float) -> list[Approval]: ...
