"""What this machine has kept so far is copied into the database that is set. It stays where it was; copying again adds what is new."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from awf.bootstrap.workers import require_database
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.bootstrap.app import App
    from awf.infrastructure.stores.postgres.database import PostgresDatabase
    from awf.infrastructure.stores.postgres.gate import PostgresGateStore
    from awf.infrastructure.stores.postgres.moving import Moved

__all__ = ["MovedGate", "MovedStore", "copy_to_database"]


class MovedGate(msgspec.Struct):
    """How many were new there, or have ended or got worse since they were copied."""

    grants: int = 0
    approvals: int = 0
    contexts: int = 0
    results: int = 0  # long ones of tools


class MovedStore(msgspec.Struct):
    runs: Moved
    gate: MovedGate


def copy_to_database(app: App) -> MovedStore:
    target = require_database(app)
    try:
        if not any(os.path.exists(os.path.join(target.folder, *path)) for path in _PLACES):
            raise AwfError(
                "USER.INPUT.MISSING_FILE",
                f"There is no store in {target.folder}.",
                hint="Name its directory with --storage DIR.",
            )
        return MovedStore(_copy_runs(target), asyncio.run(_copy_gate(target)))
    finally:
        target.close()


_PLACES = (("awf.db",), ("gate", "gate.db"), ("artifacts",), ("audit", "audit.db"))


def _copy_runs(target: PostgresDatabase) -> Moved:
    from awf.infrastructure.stores.database import Database
    from awf.infrastructure.stores.postgres.moving import Moved, copy_runs

    if not os.path.exists(os.path.join(target.folder, "awf.db")):
        return Moved()
    source = Database(target.folder)
    try:
        return copy_runs(source, target)
    finally:
        source.close()


async def _copy_gate(target: PostgresDatabase) -> MovedGate:
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
