from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from awf.domain.label import Label
    from awf.domain.security_context import SecurityContext

__all__ = ["ContextStore"]


class ContextStore(Protocol):
    """Security contexts of all processes and replicas. They are never dropped: that would make a label better."""

    @property
    def at_once(self) -> bool:
        """Whether `version` shows each change from when its maker was told of it, in whichever process.

        If not, it shows it a moment later: what may not be missed then has to be looked up (`find` is always exact).
        """
        ...

    def version(self) -> int:
        """Another number as soon as anything has changed, whoever changed it. It takes some microseconds."""
        ...

    async def find(self, context_id: str) -> SecurityContext | None: ...

    async def add(self, context: SecurityContext) -> SecurityContext:
        """The one that there is from now on: an earlier one of this id stays.

        Either way the label is mixed with that of the parent as it is now.
        """
        ...

    async def raise_label(self, context_id: str, label: Label, by: str, now: float) -> SecurityContext:
        """Mix a label in. The context is made if there is none. It never gets better by this, whoever races."""
        ...

    async def reset(self, context_id: str) -> SecurityContext | None:
        """Back to public and trusted, and one more reset; None when there is none of this id."""
        ...

    async def contexts(self) -> list[SecurityContext]:
        """In the order of their making."""
        ...
