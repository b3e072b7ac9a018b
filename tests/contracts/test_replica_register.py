"""What every register of gateways promises."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.ports.replicas import Replica
from awf.infrastructure.stores.postgres.database import PostgresDatabase
from awf.infrastructure.stores.postgres.replicas import PostgresReplicas, living_replicas
from awf.testing.memory_replicas import MemoryReplicas

pytestmark = pytest.mark.anyio
ONE, OTHER = Replica("one", "http://a:1"), Replica("other", "http://b:2")


@pytest.fixture(params=["memory", "postgres"])
async def register(request, tmp_path):
    if request.param == "memory":
        yield MemoryReplicas()
        return
    database = PostgresDatabase(request.getfixturevalue("database_url"), str(tmp_path))
    made = PostgresReplicas(database.url)
    yield made
    await made.close()
    await database.leave()


async def test_whoever_beats_is_listed_to_all(register):
    assert await register.listed() == []
    assert [one.id for one in await register.beat(ONE)] == ["one"]
    assert [(one.id, one.url) for one in await register.beat(OTHER)] == [
        ("one", "http://a:1"),
        ("other", "http://b:2"),
    ]


async def test_each_beat_moves_on_and_the_others_stand_still(register):
    await register.beat(ONE)
    first = {one.id: one.beats for one in await register.beat(OTHER)}
    second = {one.id: one.beats for one in await register.beat(OTHER)}
    assert second["other"] == first["other"] + 1
    assert second["one"] == first["one"]


async def test_whoever_leaves_is_gone_and_may_leave_twice(register):
    await register.beat(ONE)
    await register.beat(OTHER)
    await register.leave("one")
    await register.leave("one")
    assert [one.id for one in await register.listed()] == ["other"]


async def test_one_that_was_not_heard_of_for_long_is_forgotten(database_url, tmp_path):
    database = PostgresDatabase(database_url, str(tmp_path))
    register = PostgresReplicas(database_url)
    await register.beat(ONE)
    assert [one.id for one in living_replicas(database_url)] == ["one"]
    database.write_now([("UPDATE awf.replicas SET seen = now() - interval '1 minute'", ())])
    assert living_replicas(database_url) == []
    assert [one.id for one in await register.listed()] == ["one"]  # perhaps nobody could be heard for a while
    database.write_now([("UPDATE awf.replicas SET seen = now() - interval '10 minutes'", ())])
    assert await register.listed() == []
    assert [one.id for one in await register.beat(OTHER)] == ["other"]
    assert database.rows("SELECT id FROM awf.replicas") == [("other",)]
    await register.close()
    await database.leave()


async def test_a_connection_that_broke_is_made_anew(postgres, database_url, tmp_path):
    PostgresDatabase(database_url, str(tmp_path)).close()
    register = PostgresReplicas(database_url)
    await register.beat(ONE)
    assert postgres.cut(database_url) == 1
    assert [one.id for one in await register.listed()] == ["one"]
    waiting = spawn(register.listed(), "a look", awaited=True)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert [one.id for one in await register.listed()] == ["one"]
    await register.close()


async def test_a_database_that_is_gone_is_told_at_once_and_not_waited_for(tmp_path):
    register = PostgresReplicas(f"postgresql://nobody@/nothing?host={tmp_path}")
    for asked in (register.listed(), register.beat(ONE), register.leave("one")):
        with pytest.raises(AwfError) as caught:
            await asked
        assert caught.value.code == "SYSTEM.STORE.UNAVAILABLE"
    await register.close()


async def test_a_look_from_elsewhere_changes_nothing(database_url, tmp_path):
    assert living_replicas(database_url) == []
    import psycopg

    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT to_regclass('awf.replicas')").fetchone() == (None,)
