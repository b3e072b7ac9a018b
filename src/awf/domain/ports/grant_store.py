from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from awf.domain.grant import CapabilityGrant

__all__ = ["GrantStore"]


class GrantStore(Protocol):
    """Grants of all processes and replicas."""

    def version(self) -> int:
        """Another number as soon as anything has changed, whoever changed it. It takes some microseconds."""
        ...

    async def add(self, grant: CapabilityGrant) -> None:
        """Raises `AwfError` (USER.GRANT.DUPLICATE) for an id that there is already."""
        ...

    async def revoke(self, grant_id: str, now: float) -> CapabilityGrant | None:
        """The grant as it is now; None when there is none of this id. One that was revoked stays as it was."""
        ...

    async def grants(self) -> list[CapabilityGrant]:
        """All of them, in the order of their issue, also those that no longer count."""
        ...

    async def forget(self, before: float) -> int:
        """Drop those that were revoked or expired before this time; how many."""
        ...
