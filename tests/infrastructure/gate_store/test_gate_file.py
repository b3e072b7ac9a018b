"""`gate.db` as a file: private, refused when it is not ours, and told in words when it cannot be used."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import stat

import pytest

from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant
from awf.domain.label import Label
from awf.infrastructure.gate_store import SqliteGateStore

GRANT = CapabilityGrant(grant_id="a", capability="file.read", issued_at=1.0)


def refused(folder) -> str:
    with pytest.raises(AwfError) as caught:
        SqliteGateStore(str(folder)).close()
    assert caught.value.hint
    assert caught.value.exit_status == 4
    return caught.value.code


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "deep" / "gate"


@pytest.fixture
def store(folder):
    opened = SqliteGateStore(str(folder))
    yield opened
    opened.close()


async def test_nobody_else_can_read_the_files(folder, store):
    await store.grants.add(GRANT)
    modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in folder.iterdir()}
    assert set(modes) >= {"gate.db", "gate.db-wal", "gate.db-shm"}
    assert set(modes.values()) == {0o600}
    assert {stat.S_IMODE(one.stat().st_mode) for one in (folder, folder.parent)} == {0o700}


async def test_what_one_store_wrote_another_one_of_the_same_folder_has(folder, store):
    other = SqliteGateStore(str(folder))
    before = other.grants.version()
    await store.grants.add(GRANT)
    assert other.grants.version() != before
    assert await other.grants.grants() == [GRANT]
    other.close()


async def test_a_change_of_one_kind_is_no_change_of_another(store):
    before = store.grants.version(), store.approvals.version()
    await store.contexts.raise_label("c", Label("secret"), "t", 1.0)
    assert (store.grants.version(), store.approvals.version()) == before


async def test_what_was_written_is_waited_for_by_the_disk(store):
    made = store._database._connection.execute("PRAGMA synchronous").fetchone()
    assert made == (2,), "FULL: a power cut must not give a used approval back"


def test_a_file_that_is_no_database_is_left_alone(folder):
    folder.mkdir(parents=True)
    rubbish = os.urandom(8192)
    (folder / "gate.db").write_bytes(rubbish)
    assert refused(folder) == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert (folder / "gate.db").read_bytes() == rubbish


def test_a_file_of_a_newer_version_is_left_alone(folder):
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "gate.db") as database:
        database.execute("PRAGMA user_version=99")
        database.execute("CREATE TABLE of_tomorrow (x)")
    database.close()
    before = (folder / "gate.db").read_bytes()
    assert refused(folder) == "SYSTEM.GATE_STORE.NEWER"
    assert (folder / "gate.db").read_bytes() == before


def test_a_folder_that_is_a_file_is_told(folder):
    folder.parent.mkdir()
    folder.write_text("mine")
    assert refused(folder) == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert refused(folder / "below") == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert folder.read_text() == "mine"


def test_a_folder_in_the_place_of_the_file_is_told(folder):
    (folder / "gate.db").mkdir(parents=True)
    assert refused(folder) == "SYSTEM.GATE_STORE.UNAVAILABLE"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_cannot_be_written_is_told(folder, what):
    SqliteGateStore(str(folder)).close()
    place = folder if what == "folder" else folder / "gate.db"
    place.chmod(0o500 if what == "folder" else 0o400)
    try:
        assert refused(folder) == "SYSTEM.GATE_STORE.UNAVAILABLE"
    finally:
        place.chmod(0o700)


async def test_a_file_that_was_damaged_while_it_was_open_is_told(folder):
    first = SqliteGateStore(str(folder))
    await first.grants.add(GRANT)
    first.close()
    file = folder / "gate.db"
    head = file.read_bytes()[:4096]
    file.write_bytes(head + os.urandom(file.stat().st_size - len(head)))
    store = SqliteGateStore(str(folder))
    with pytest.raises(AwfError) as caught:
        await store.grants.grants()
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"
    with pytest.raises(AwfError):
        store.grants.version()
    store.close()


async def test_a_full_disk_is_told_and_what_was_there_stays(folder, store):
    await store.grants.add(GRANT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(AwfError) as caught:
            await store.grants.add(CapabilityGrant(grant_id="b" * 9000, capability="x", issued_at=1.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert await store.grants.grants() == [GRANT]
    await store.grants.add(CapabilityGrant(grant_id="b", capability="x", issued_at=2.0))
    assert len(await store.grants.grants()) == 2


async def test_a_closed_store_says_so_and_can_be_closed_again(store):
    store.close()
    store.close()
    with pytest.raises(AwfError) as caught:
        await store.grants.grants()
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"
    with pytest.raises(AwfError):
        store.contexts.version()


@pytest.mark.parametrize("what", ["removed", "replaced"])
async def test_a_file_that_was_taken_away_is_not_gone_on_with(folder, store, what):
    """Others would revoke grants in a file that we do not see."""
    await store.grants.add(GRANT)
    for file in list(folder.iterdir()):
        file.unlink()
    if what == "replaced":
        SqliteGateStore(str(folder)).close()
    with pytest.raises(AwfError) as caught:
        store.grants.version()
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"


def told(caplog) -> list[str]:
    return [f"{one.levelname} {one.getMessage()}" for one in caplog.records if one.name == "awf.gate"]


async def test_that_it_is_gone_and_that_it_is_back_is_logged_once_each(folder, store, caplog):
    await store.grants.add(GRANT)
    aside = folder.with_name("aside")
    for again in range(2):
        folder.rename(aside)
        for _ in range(3):
            with pytest.raises(AwfError):
                while True:  # what was looked at just now counts for a moment
                    store.grants.version()
        (gone,) = told(caplog)[2 * again :]
        assert gone.startswith(
            f"ERROR calls are refused: The gate's store {store.path} cannot be used: it was moved"
        )
        aside.rename(folder)
        for _ in range(3):
            store.grants.version()
        assert told(caplog)[2 * again + 1 :] == [f"WARNING the gate's store {store.path} can be used again"]


async def test_that_it_cannot_be_written_and_can_be_again_is_logged_once_each(store, caplog):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        for _ in range(2):
            with pytest.raises(AwfError):
                await store.grants.add(CapabilityGrant(grant_id="b" * 9000, capability="x", issued_at=1.0))
            store.grants.version()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(told(caplog)) == 1
    await store.grants.add(GRANT)
    with pytest.raises(AwfError):  # a mistake of whoever asks
        await store.grants.add(GRANT)
    store.close()
    with pytest.raises(AwfError):
        store.grants.version()
    assert [line.split()[0] for line in told(caplog)] == ["ERROR", "WARNING"]


async def test_what_another_writer_does_is_waited_for(folder, store):
    other = sqlite3.connect(folder / "gate.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    adding = asyncio.get_running_loop().create_task(store.grants.add(GRANT))
    done, _ = await asyncio.wait({adding}, timeout=0.2)
    assert not done
    other.execute("COMMIT")
    other.close()
    await adding
    assert await store.grants.grants() == [GRANT]
