"""Where gateways that share a database find each other."""

from __future__ import annotations

from typing import Protocol

import msgspec

__all__ = ["Replica", "ReplicaRegister"]


class Replica(msgspec.Struct, frozen=True):
    """One gateway process. Another start is another replica, also at the same address."""

    id: str
    url: str  # where the others reach it: http://host:port
    beats: int = 0  # how often it has said that it lives


class ReplicaRegister(Protocol):
    async def beat(self, own: Replica) -> list[Replica]:
        """Say that it lives, the first time too; all that there are. Raises `AwfError`."""
        ...

    async def listed(self) -> list[Replica]:
        """All that there are. Raises `AwfError`."""
        ...

    async def leave(self, replica_id: str) -> None:
        """It is gone, and nobody need try it any more. Raises `AwfError`."""
        ...

    async def close(self) -> None: ...

    async def seen_from(self) -> str:
        """The address that this machine has for the register; empty when that is the same machine, or cannot be told."""
        ...
