"""What the gate remembers moves from one machine's files into the database."""

from __future__ import annotations

import asyncio
import hashlib
import os

import pytest

from awf.bootstrap.moving import MovedGate, copy_gate_to_database
from awf.bootstrap.workers import copy_runs_to_database
from awf.domain.approval import Approval
from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant
from awf.domain.label import PLAIN, Label
from awf.domain.ports.artifact_store import Artifact
from awf.domain.security_context import SecurityContext
from awf.infrastructure.artifact_files import FileArtifacts
from awf.infrastructure.gate_store import SqliteGateStore
from awf.infrastructure.stores.postgres.database import PostgresDatabase
from awf.testing.laboratory import Laboratory

BODY = b"long " * 500_000
SECRET = Label("secret", "trusted")


@pytest.fixture
def lab(tmp_path, database_url):
    return Laboratory(tmp_path, {"AWF_DATABASE_URL": database_url})


@pytest.fixture
def storage(lab):
    app = lab.app()
    return os.path.join(app.cwd, app.settings.storage.value)


def question(approval_id, **more) -> Approval:
    about = {"tool_id": "mail:send", "arguments_hash": approval_id, "context": "c"}
    return Approval(approval_id=approval_id, asked_at=1.0, expires_at=1e12, **{**about, **more})


def artifact() -> Artifact:
    return Artifact(
        artifact_id="a" * 40, tool_id="kb:read", request_id="r", context="c", label=SECRET, created_at=5.0,
        byte_size=len(BODY), line_count=1, content_hash=hashlib.sha256(BODY).hexdigest(),
    )  # fmt: skip


def copied(lab) -> MovedGate:
    return asyncio.run(copy_gate_to_database(lab.app()))


def on_files(storage, work):
    async def do():
        store = SqliteGateStore(os.path.join(storage, "gate"))
        try:
            return await work(store)
        finally:
            store.close()

    return asyncio.run(do())


def in_database(url, work):
    async def do():
        database = PostgresDatabase(url, "")
        try:
            return await work(database.gate)
        finally:
            await database.leave()

    return asyncio.run(do())


async def fill(store):
    await store.grants.add(CapabilityGrant(grant_id="g", capability="file.*", issued_at=1.0))
    for name in ("open", "granted", "used"):
        await store.approvals.ask(question(name))
    for name in ("granted", "used"):
        await store.approvals.decide(name, granted=True, by="me", now=2.0)
    await store.approvals.use("used", 3.0)
    await store.contexts.add(SecurityContext(context_id="c", created_at=1.0, minted=True))
    await store.contexts.raise_label("c", SECRET, "kb:read", 2.0)
    return await everything(store)


async def everything(store):
    approvals = [await store.approvals.find(name) for name in ("open", "granted", "used")]
    return await store.grants.grants(), approvals, await store.contexts.contexts()


def test_all_of_it_is_there_as_it_was(lab, storage, database_url):
    before = on_files(storage, fill)
    asyncio.run(FileArtifacts(os.path.join(storage, "artifacts")).keep(artifact(), BODY))
    assert copied(lab) == MovedGate(grants=1, approvals=3, contexts=1, results=1)
    assert copy_runs_to_database(lab.app()).copied == 0
    assert in_database(database_url, everything) == before

    async def look(store):
        return await store.artifacts.find("a" * 40), await store.artifacts.read("a" * 40)

    assert in_database(database_url, look) == (artifact(), BODY)
    assert copied(lab) == MovedGate()


def test_what_has_ended_or_got_worse_since_is_so_there_too_and_nothing_gets_better(
    lab, storage, database_url
):
    on_files(storage, fill)
    copied(lab)

    async def go_on(store):
        await store.grants.revoke("g", 9.0)
        await store.approvals.use("granted", 9.0)
        await store.contexts.reset("c")
        await store.contexts.raise_label("c", Label("public", "untrusted"), "web:get", 10.0)

    on_files(storage, go_on)
    assert copied(lab) == MovedGate(grants=1, approvals=1, contexts=1)
    grants, approvals, contexts = in_database(database_url, everything)
    assert grants[0].revoked_at == 9.0
    assert [one.status for one in approvals] == ["pending", "used", "used"]
    assert contexts[0].label == Label("secret", "untrusted")


def test_what_was_decided_there_stays(lab, storage, database_url):
    on_files(storage, fill)
    copied(lab)

    async def decide(store):
        await store.grants.revoke("g", 9.0)
        await store.approvals.decide("open", granted=False, by="you", now=9.0)
        await store.contexts.reset("c")

    in_database(database_url, decide)
    assert copied(lab).contexts == 1, "what the files know is mixed in"
    grants, approvals, contexts = in_database(database_url, everything)
    assert grants[0].revoked_at == 9.0
    assert approvals[0].decided_by == "you"
    assert contexts[0].label != PLAIN


def test_a_machine_without_a_store_is_told(lab):
    with pytest.raises(AwfError) as caught:
        copy_runs_to_database(lab.app())
    assert caught.value.code == "USER.INPUT.MISSING_FILE"
