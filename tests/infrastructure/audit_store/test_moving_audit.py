"""A machine's log goes into the database with everything that vouches for it, or stays where it is."""

from __future__ import annotations

import shutil

import pytest

from awf.application.audit.exporting import exported
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import SqliteAudit
from awf.infrastructure.audit_store.postgres import copy_chain

pytestmark = pytest.mark.anyio


@pytest.fixture
async def old(shared_bench, told, call):
    """Beside the keys that the new log will have."""
    log = SqliteAudit(str(shared_bench.folder), Audit(checkpoint_records=7))
    for number in range(20):
        call(log, f"r{number}")
    log.record(told("decision", request_id="open", decision="allow"))
    await log.checkpoint()
    yield log
    log.close_now()


async def lines(log):
    return [line async for line in exported(log, "jsonl", "1")]


async def test_the_copy_has_the_same_records_hashes_checkpoints_and_name(shared_bench, old):
    new = shared_bench.open()
    before = await lines(old)
    moved = await copy_chain(old, new)
    assert (moved.outcome, moved.records) == ("copied", (await old.verify()).records)
    assert new.origin == old.origin
    assert (await lines(new))[: len(before)] == before  # behind them: nobody knows what came of the open call
    report = await new.verify(public_key=old.public_key)
    assert report.is_sound, report.flaws
    assert report.checkpoints == len(await old.checkpoints())
    assert new.public_key == old.public_key
    there = await lines(new)
    assert (await copy_chain(old, new)).outcome == "known"
    assert await lines(new) == there


async def test_the_chain_goes_on_and_a_call_that_was_open_gets_its_end(shared_bench, old, told):
    new = shared_bench.open()
    moved = await copy_chain(old, new)
    await new.record(told(reason="next"))
    assert await new.open_calls() == frozenset()
    *_, following, unknown = await new.records()
    assert (following.sequence, following.entry.reason) == (moved.records + 1, "next")
    assert (unknown.entry.request_id, unknown.entry.details) == ("open", {"outcome": "unknown"})
    assert (await new.verify(public_key=old.public_key)).is_sound


async def test_a_database_with_a_log_keeps_its_own(shared_bench, old, told):
    new = shared_bench.open()
    await new.record(told(reason="already here"))
    origin = new.origin
    assert (await copy_chain(old, new)).outcome == "other"
    assert new.origin == origin
    assert [one.entry.reason for one in await new.records()] == ["already here"]


async def test_a_log_that_was_tampered_with_is_not_copied(shared_bench, old):
    await old.records()
    old.looked(lambda connection: connection.execute("COMMIT"))
    old._database.connection.execute("UPDATE records SET hash = 'x' WHERE sequence = 3")
    new = shared_bench.open()
    moved = await copy_chain(old, new)
    assert (moved.outcome, moved.flaw) == ("unsound", "record 3 was changed: it does not have its hash")
    assert await new.records() == []


async def test_an_empty_log_is_nothing_to_copy(shared_bench, tmp_path):
    empty = SqliteAudit(str(tmp_path / "empty"))
    assert (await copy_chain(empty, shared_bench.open())).outcome == "none"
    empty.close_now()
    shutil.rmtree(tmp_path / "empty")
