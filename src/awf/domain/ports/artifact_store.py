from __future__ import annotations

from typing import Protocol

import msgspec

from awf.domain.label import Label

__all__ = ["Artifact", "ArtifactStore"]


class Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is known of a result that was put aside whole."""

    artifact_id: str  # cannot be guessed
    tool_id: str
    request_id: str
    context: str
    label: Label
    created_at: float
    byte_size: int
    line_count: int
    content_hash: str  # SHA-256 of what is kept
    mime_type: str = "application/json"


class ArtifactStore(Protocol):
    """Results that were too long. What is kept is redacted already."""

    async def keep(self, artifact: Artifact, body: bytes) -> None:
        """Whole or not at all. Raises `AwfError`."""
        ...

    async def find(self, artifact_id: str) -> Artifact | None: ...

    async def read(self, artifact_id: str) -> bytes | None: ...

    async def artifacts(self) -> list[Artifact]: ...

    async def sweep(self, *, before: float, max_size: int) -> int:
        """Remove those made before a moment, and the oldest beyond a size in all. How many went."""
        ...
