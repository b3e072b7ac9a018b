"""What every store of long results must promise, and what the one in files promises besides."""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import secrets
import signal
import subprocess
import sys

import msgspec
import pytest

from awf.domain.errors import AwfError
from awf.domain.label import Label
from awf.domain.ports.artifact_store import Artifact
from awf.infrastructure.artifact_files import FileArtifacts
from awf.infrastructure.stores.postgres.database import PostgresDatabase
from awf.testing.memory_artifacts import MemoryArtifacts

NEVER = float("-inf")
MUCH = 1 << 40


def artifact(body: bytes, created_at: float = 1_700_000_000.0, **more) -> Artifact:
    return Artifact(
        **{
            "artifact_id": secrets.token_hex(20),
            "tool_id": "kb:search — é",
            "request_id": "r1",
            "context": "c1",
            "label": Label("secret", "untrusted"),
            "created_at": created_at,
            "byte_size": len(body),
            "line_count": 3,
            "content_hash": hashlib.sha256(body).hexdigest(),
            **more,
        }
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "storage" / "artifacts"


@pytest.fixture(params=["memory", "files", "postgres"])
async def store(request, folder):
    if request.param == "postgres":
        database = PostgresDatabase(request.getfixturevalue("database_url"), str(folder))
        yield database.gate.artifacts
        await database.leave()
    else:
        yield MemoryArtifacts() if request.param == "memory" else FileArtifacts(str(folder))


# -- every store -----------------------------------------------------------------------------------------------------


async def test_an_empty_store_has_nothing(store):
    assert await store.artifacts() == []
    assert await store.find("a" * 40) is None
    assert await store.read("a" * 40) is None
    assert await store.sweep(before=0, max_size=0) == 0


@pytest.mark.parametrize("body", [b"", b"{}", b"a\nb\n\x00\xff" * 100, b"\n"])
async def test_what_is_kept_comes_back(store, body):
    one = artifact(body)
    await store.keep(one, body)
    assert await store.find(one.artifact_id) == one
    assert await store.read(one.artifact_id) == body
    assert await store.artifacts() == [one]


@pytest.mark.parametrize(
    "odd", ["", "../../etc/passwd", "a/b", "a\0b", "x" * 1000, "é" * 40, "a" * 39 + "\n"]
)
async def test_an_odd_id_is_only_an_id_that_nobody_has(store, odd):
    assert await store.find(odd) is None
    assert await store.read(odd) is None


async def test_they_are_told_in_the_order_in_which_they_were_made(store):
    made = [artifact(b"x", created_at=1_700_000_000.0 + at) for at in (2, 0, 1)]
    for one in made:
        await store.keep(one, b"x")
    assert await store.artifacts() == [made[1], made[2], made[0]]


async def test_a_sweep_removes_what_is_too_old(store):
    made = [artifact(b"x", created_at=1_700_000_000.0 + at) for at in range(4)]
    for one in made:
        await store.keep(one, b"x")
    assert await store.sweep(before=1_700_000_002.0, max_size=MUCH) == 2
    assert await store.artifacts() == made[2:]
    assert await store.read(made[0].artifact_id) is None


async def test_a_sweep_removes_the_oldest_beyond_a_size(store):
    body = b"x" * 10_000
    made = [artifact(body, created_at=1_700_000_000.0 + at) for at in range(4)]
    for one in made:
        await store.keep(one, body)
    assert await store.sweep(before=NEVER, max_size=25_000) == 2
    assert await store.artifacts() == made[2:]
    assert await store.sweep(before=NEVER, max_size=25_000) == 0


def test_a_store_in_memory_can_be_told_to_refuse():
    store = MemoryArtifacts()
    store.refusal = AwfError("SYSTEM.SPOOL.WRITE_FAILED", "full")
    with pytest.raises(AwfError):
        asyncio.run(store.keep(artifact(b""), b""))


# -- the one in files ------------------------------------------------------------------------------------------------


@pytest.fixture
def files(folder):
    return FileArtifacts(str(folder))


async def test_only_the_owner_can_read_them(files, folder):
    await files.keep(artifact(b"x"), b"x")
    assert folder.stat().st_mode & 0o777 == 0o700
    (one,) = folder.iterdir()
    assert one.stat().st_mode & 0o777 == 0o600


async def test_a_full_disk_is_told_and_leaves_nothing(files, folder):
    await files.keep(one := artifact(b"x"), b"x")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))  # what a full disk does, without filling one
    try:
        with pytest.raises(AwfError) as told:
            await files.keep(artifact(b"y" * 10_000), b"y" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.value.code == "SYSTEM.SPOOL.WRITE_FAILED"
    assert "free space" in told.value.hint
    assert [file.name for file in folder.iterdir()] == [f"{one.artifact_id}.artifact"]


async def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    store = FileArtifacts(str(tmp_path / "file" / "artifacts"))
    with pytest.raises(AwfError) as told:
        await store.keep(artifact(b"x"), b"x")
    assert told.value.code == "SYSTEM.SPOOL.WRITE_FAILED"
    with pytest.raises(AwfError) as told:
        await store.find("a" * 40)
    assert told.value.code == "SYSTEM.IO.READ_FAILED"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data[:-1] + b"!",
        lambda data: data + b"!",
        lambda data: b"",
        lambda data: b"torn",
        lambda data: b"{}\n",
        lambda data: b"\xff" + data[1:],
    ],
)
async def test_what_was_damaged_is_not_given(files, folder, spoil):
    await files.keep(one := artifact(b"some body"), b"some body")
    (path,) = folder.iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    assert await files.read(one.artifact_id) is None


async def test_strange_files_in_the_folder_do_no_harm(files, folder):
    await files.keep(one := artifact(b"x"), b"x")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / f"{'b' * 40}.artifact").write_text("not ours", encoding="utf-8")
    assert await files.artifacts() == [one]
    await files.sweep(before=NEVER, max_size=MUCH)
    assert (folder / "notes.txt").exists()


WRITER = """
import asyncio, os, sys, msgspec, hashlib
from awf.domain.ports.artifact_store import Artifact
from awf.infrastructure.artifact_files import FileArtifacts
from awf.infrastructure.stores.postgres.database import PostgresDatabase
def stop(handle):
    print("here", flush=True)
    sys.stdin.read()
os.fsync = stop
one = msgspec.json.decode(sys.argv[2], type=Artifact)
asyncio.run(FileArtifacts(sys.argv[1]).keep(one, b"z" * one.byte_size))
"""


async def test_a_process_that_is_killed_while_it_writes_leaves_nothing_to_be_seen(files, folder):
    body = b"z" * 100_000
    one = artifact(body)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), msgspec.json.encode(one)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with writer:
        assert writer.stdout.readline() == b"here\n"
        assert await files.artifacts() == []
        assert await files.read(one.artifact_id) is None
        writer.send_signal(signal.SIGKILL)
    assert await files.artifacts() == []
    assert await files.find(one.artifact_id) is None
    (part,) = folder.iterdir()
    assert await files.sweep(before=NEVER, max_size=MUCH) == 0
    assert part.exists()  # somebody may still be at it
    os.utime(part, (1, 1))
    await files.sweep(before=NEVER, max_size=MUCH)
    assert list(folder.iterdir()) == []


@pytest.mark.race
async def test_many_may_keep_read_and_sweep_at_once(folder):
    stores = [FileArtifacts(str(folder)) for _ in range(3)]
    body = b"x" * 1000
    removed: list[int] = []

    async def keeping(store, first):
        for at in range(20):
            one = artifact(body, created_at=1_700_000_000.0 + first + at)
            await store.keep(one, body)
            assert await store.read(one.artifact_id) in (body, None)

    async def sweeping(store):
        for _ in range(20):
            removed.append(await store.sweep(before=NEVER, max_size=10_000))
            assert all(one.byte_size == 1000 for one in await store.artifacts())

    await asyncio.gather(
        *(keeping(store, at * 100) for at, store in enumerate(stores)), *map(sweeping, stores)
    )
    removed.append(await stores[0].sweep(before=NEVER, max_size=10_000))
    left = await stores[0].artifacts()
    assert sum(removed) + len(left) == 60
    assert sum(one.byte_size for one in left) <= 10_000
