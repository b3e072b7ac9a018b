"""One process asks and waits, a person answers from the shell: real processes around one store."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gate.approvals import ApprovalDesk
from awf.application.gate.contexts import Contexts
from awf.application.gate.grants import Grants
from awf.domain.grant import Holder
from awf.domain.label import PLAIN, Label
from awf.infrastructure.gate_store import SqliteGateStore
from awf.infrastructure.stores.postgres.database import PostgresDatabase

pytestmark = pytest.mark.journey
PATIENCE = 60.0


@pytest.fixture(params=["sqlite", "postgres"])
async def store(journey, request):
    if request.param == "postgres":
        url = journey.environment["AWF_DATABASE_URL"] = request.getfixturevalue("database_url")
        database = PostgresDatabase(url, str(journey.storage))
        yield database.gate
        await database.leave()
    else:
        opened = SqliteGateStore(str(journey.storage / "gate"))
        yield opened
        opened.close()


async def shell(journey, *arguments: str):
    return (await asyncio.to_thread(journey.awf, *arguments)).succeeded()


async def test_a_call_that_waits_goes_on_when_somebody_says_yes_in_a_shell(journey, store):
    desk = ApprovalDesk(store.approvals)
    asked = await desk.request("mail:send", "h", "ctx", summary="to: bob")
    waiting = asyncio.get_running_loop().create_task(desk.wait(asked.approval_id, PATIENCE))
    (listed,) = (await shell(journey, "gateway", "approvals", "-o", "json")).json()
    assert listed["approvalId"] == asked.approval_id
    await shell(journey, "gateway", "approve", asked.approval_id)
    assert (await waiting).status == "granted"
    assert (await desk.take(asked)).status == "used"
    refused = await asyncio.to_thread(journey.awf, "gateway", "approve", asked.approval_id)
    refused.one_error("USER.APPROVAL.REFUSED")


async def test_a_grant_and_its_revocation_reach_a_process_that_runs(journey, store):
    grants, holder = Grants(store.grants), Holder()

    async def is_whole(wanted: bool) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = grants.covering(("file.read",), holder, None)
                if found is None:
                    await grants.refresh()
                elif found.whole is wanted:
                    return
                else:
                    await asyncio.sleep(0)

    await is_whole(False)
    added = (await shell(journey, "grant", "add", "file.*", "-o", "json")).json()
    await is_whole(True)
    await shell(journey, "grant", "revoke", added["grantId"])
    await is_whole(False)


async def test_a_reset_in_a_shell_reaches_a_process_that_runs(journey, store):
    contexts = Contexts(store.contexts)
    await contexts.raise_("ctx", Label("secret"), "kb:read")
    await shell(journey, "gateway", "context", "reset", "ctx")
    async with asyncio.timeout(PATIENCE):
        while (contexts.label("ctx") or await contexts.load("ctx")) != PLAIN:
            await asyncio.sleep(0)


def test_a_read_only_storage_is_told(journey, small_disk):
    journey.environment["AWF_STORAGE"] = str(small_disk("1m", read_only=True))
    for command in (["grant", "list"], ["grant", "add", "x"], ["gateway", "approvals"]):
        journey.awf(*command).one_error("SYSTEM.GATE_STORE.UNAVAILABLE")


def test_a_full_disk_is_told_and_what_was_granted_stays(journey, small_disk):
    disk = small_disk("1m")
    journey.environment["AWF_STORAGE"] = str(disk)
    journey.awf("grant", "add", "x").succeeded()
    ballast = disk / "ballast"
    with open(ballast, "wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"\0" * 4096)
        except OSError:
            pass
    journey.awf("grant", "add", "y").one_error("SYSTEM.GATE_STORE.UNAVAILABLE")
    ballast.unlink()
    (kept,) = journey.awf("grant", "list", "-o", "json").succeeded().json()
    assert kept["capability"] == "x"
