"""A register of gateways in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from awf.domain.ports.replicas import Replica

__all__ = ["MemoryReplicas"]


class MemoryReplicas:
    """A `ReplicaRegister`. `trouble`: what is raised instead of an answer."""

    def __init__(self) -> None:
        self.rows: dict[str, Replica] = {}
        self.looks = 0
        self.address = ""
        self.trouble: Exception | None = None

    async def beat(self, own: Replica) -> list[Replica]:
        self._answer()
        before = self.rows.get(own.id, own)
        self.rows[own.id] = msgspec.structs.replace(own, beats=before.beats + 1)
        return list(self.rows.values())

    async def listed(self) -> list[Replica]:
        self._answer()
        return list(self.rows.values())

    async def leave(self, replica_id: str) -> None:
        self._answer()
        self.rows.pop(replica_id, None)

    async def close(self) -> None:
        """There is nothing to close."""

    async def seen_from(self) -> str:
        return self.address

    def _answer(self) -> None:
        self.looks += 1
        if self.trouble is not None:
            raise self.trouble
