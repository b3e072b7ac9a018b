from __future__ import annotations

import asyncio

import pytest

from awf.infrastructure.gate_store import SqliteGateStore
from awf.infrastructure.stores.postgres.database import PostgresDatabase
from awf.testing.memory_gate import MemoryGateStore

PATIENCE = 60


async def hears(part) -> None:
    """A store hears of others' changes once two looks at it agree."""
    async with asyncio.timeout(PATIENCE):
        while part.version() != part.version():
            await asyncio.sleep(0.001)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def gate_store(request, tmp_path):
    if request.param == "postgres":
        database = PostgresDatabase(request.getfixturevalue("database_url"), str(tmp_path / "storage"))
        await hears(database.gate.contexts)
        yield database.gate
        await database.leave()
        return
    opened = MemoryGateStore() if request.param == "memory" else SqliteGateStore(str(tmp_path / "gate"))
    yield opened
    opened.close()
