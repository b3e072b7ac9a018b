"""The person beside the run: asked for approvals and for the next line of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from awf.domain.events import ApprovalRequired, InputRequired

__all__ = ["Answer", "Person"]


class Answer(msgspec.Struct, frozen=True):
    outcome: Literal["once", "run", "reject"]
    by: str = ""


class Person(Protocol):
    """Each question may also be answered from elsewhere; then the asking is cancelled."""

    async def approve(self, request: ApprovalRequired) -> Answer | None:
        """Ask for an approval. None: nobody can be asked here, wait for an answer from elsewhere."""
        ...

    async def read(self, request: InputRequired) -> str | None:
        """Ask for a line of conversation. None: nobody can be asked here."""
        ...
