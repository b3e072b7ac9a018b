"""What the gate of this machine remembers is copied into the database that is set. It stays where it was; copying again adds what is new."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from awf.bootstrap.workers import require_database

if TYPE_CHECKING:
    from awf.bootstrap.app import App
    from awf.infrastructure.stores.postgres.gate import PostgresGateStore

__all__ = ["MovedGate", "copy_gate_to_database"]


class MovedGate(msgspec.Struct):
    """How many were new there, or have ended or got worse since they were copied."""

    grants: int = 0
    approvals: int = 0
    contexts: int = 0
    results: int = 0  # long ones of tools


async def copy_gate_to_database(app: App) -> MovedGate:
    """From the files of this machine."""
    target = require_database(app)
    try:
        moved = await _copy_decisions(target.gate, os.path.join(target.folder, "gate"))
        moved.results = await _copy_results(target.gate, os.path.join(target.folder, "artifacts"))
        return moved
    finally:
        await target.leave()


async def _copy_decisions(target: PostgresGateStore, folder: str) -> MovedGate:
    from awf.infrastructure.gate_store import SqliteGateStore

    if not os.path.exists(os.path.join(folder, "gate.db")):
        return MovedGate()
    source = SqliteGateStore(folder)
    try:
        return MovedGate(
            grants=await target.grants.take_in(await source.grants.grants()),
            approvals=await target.approvals.take_in(await source.approvals.approvals()),
            contexts=await target.contexts.take_in(await source.contexts.contexts()),
        )
    finally:
        source.close()


async def _copy_results(target: PostgresGateStore, folder: str) -> int:
    from awf.infrastructure.artifact_files import FileArtifacts

    source, copied = FileArtifacts(folder), 0
    for artifact in await source.artifacts():
        if await target.artifacts.find(artifact.artifact_id) is None:
            body = await source.read(artifact.artifact_id)
            if body is not None:  # neither swept nor damaged
                await target.artifacts.keep(artifact, body)
                copied += 1
    return copied
