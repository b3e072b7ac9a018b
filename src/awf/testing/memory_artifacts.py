"""Long results in memory; implements the `ArtifactStore` port."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.domain.errors import AwfError
    from awf.domain.ports.artifact_store import Artifact

__all__ = ["MemoryArtifacts"]


class MemoryArtifacts:
    def __init__(self) -> None:
        self.refusal: AwfError | None = None  # set it, and nothing can be kept any more
        self._kept: dict[str, tuple[Artifact, bytes]] = {}

    async def keep(self, artifact: Artifact, body: bytes) -> None:
        if self.refusal is not None:
            raise self.refusal
        self._kept[artifact.artifact_id] = (artifact, body)

    async def find(self, artifact_id: str) -> Artifact | None:
        found = self._kept.get(artifact_id)
        return found[0] if found else None

    async def read(self, artifact_id: str) -> bytes | None:
        found = self._kept.get(artifact_id)
        return found[1] if found else None

    async def artifacts(self) -> list[Artifact]:
        return sorted((artifact for artifact, _ in self._kept.values()), key=lambda one: one.created_at)

    async def sweep(self, *, before: float, max_size: int) -> int:
        gone, size = [], 0
        for artifact in reversed(await self.artifacts()):
            size += artifact.byte_size
            if artifact.created_at < before or size > max_size:
                gone.append(artifact.artifact_id)
        for artifact_id in gone:
            del self._kept[artifact_id]
        return len(gone)
