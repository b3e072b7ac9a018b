"""What was signed is held against keys and witnesses that were kept elsewhere, and is missed when it is gone."""

from __future__ import annotations

import shutil
import sqlite3
import time

import msgspec
import pytest

from awf.domain.audit import AuditCheckpoint
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import audit as module
from awf.infrastructure.audit_store.checkpoints import WitnessFile

pytestmark = pytest.mark.anyio


@pytest.fixture
def witness(tmp_path):
    return tmp_path / "witness"


@pytest.fixture
def fill(told, witness):
    async def filled(bench, *, signed=True):
        """Two checkpoints, and a record behind them."""
        log = bench.open(settings=Audit(witness=str(witness)))
        for number in range(3):
            log.record(told(moment=time.time(), reason=f"{number}"))
            if signed and number < 2:
                await log.checkpoint()
        return log

    return filled


def flaws(report):
    return [(one.kind, one.sequence) for one in report.flaws]


@pytest.mark.parametrize("records", [0, 3])
async def test_a_log_that_was_begun_in_place_of_another_does_not_pass_for_it(bench, fill, records):
    log = await fill(bench)
    kept = log.public_key
    log.close_now()
    shutil.rmtree(bench.folder)
    other = await fill(bench, signed=False) if records else bench.open()
    report = await other.verify(public_key=kept)
    assert flaws(report)[0] == ("checkpoint", 1)
    assert other.public_key in report.flaws[0].message
    assert report.sound_until == 0


async def test_a_log_that_is_young_is_sound_and_says_that_the_key_tells_nothing_yet(any_bench, fill):
    log = await fill(any_bench, signed=False)
    assert len((await log.verify()).notes) == 1  # that the witness has nothing
    report = await log.verify(public_key=log.public_key)
    assert report.is_sound
    assert [one for one in report.notes if "the log whose key was given" in one]
    await log.checkpoint()
    assert (await log.verify(public_key=log.public_key)).notes == ()


async def test_checkpoints_that_were_all_removed_are_missed(any_bench, fill, witness):
    log = await fill(any_bench)
    assert (await log.verify()).is_sound
    witness.unlink()
    any_bench.alter("DELETE FROM checkpoints")
    report = await log.verify()
    assert flaws(report) == [("checkpoint", 4)]
    assert report.sound_until == 3
    log.close_now()
    assert flaws(await any_bench.open().verify()) == [("checkpoint", 4)]


@pytest.mark.parametrize("look", ["at once", "after a record"])
async def test_checkpoints_that_were_all_removed_are_told_ever_after_however_many_are_signed_later(
    any_bench, fill, witness, told, look
):
    log = await fill(any_bench)
    log.close_now()
    any_bench.alter("DELETE FROM checkpoints")
    witness.unlink()
    for _ in range(3):
        log = any_bench.open(settings=Audit(checkpoint_records=1))
        if look == "after a record":
            log.record(told(moment=time.time()))
            await log.records()
        report = await log.verify()
        assert [one.kind for one in report.flaws] == ["checkpoint"]
        log.record(told(moment=time.time()))
        log.close_now()
    assert report.checkpoints
    (gap,) = [one for one in await any_bench.open().records() if one.entry.kind == "audit_gap"]
    assert gap.entry.details["cause"] == "checkpoints lost"
    assert report.sound_until == gap.sequence - 1


async def test_a_log_that_has_lost_its_only_checkpoint_is_signed_anew_at_once_and_says_so_before(bench, fill):
    """Or it would be said again with every transaction."""
    log = await fill(bench)
    log.close_now()
    bench.alter("DELETE FROM checkpoints")
    for _ in range(2):
        bench.open().close_now()
    log = bench.open()
    assert [one.size for one in await log.checkpoints()] == [4]
    assert len(await log.records()) == 4


async def test_a_checkpoint_of_which_something_else_was_made_is_told_and_keeps_nothing_from_the_chain(
    bench, fill, told, caplog
):
    log = await fill(bench)
    log.close_now()
    bench.alter("UPDATE checkpoints SET created_at = 'soon', signature = x'00ff' WHERE size = 2")
    for _ in range(2):
        log = bench.open()
        log.record(told(moment=time.time()))
        assert flaws(await log.verify()) == [("checkpoint", 2)]
        log.close_now()
    assert len(await bench.open().records()) == 5
    assert caplog.messages == []


async def test_a_checkpoint_that_only_the_witness_has_is_missed(any_bench, fill):
    log = await fill(any_bench)
    any_bench.alter("DELETE FROM checkpoints WHERE size = 1")
    report = await log.verify()
    assert flaws(report) == [("checkpoint", 4)]
    assert "witness" in report.flaws[0].message


async def test_a_log_from_before_keys_told_that_they_have_signed_tells_it_from_its_next_record_on(
    bench, fill, told, witness
):
    log = await fill(bench)
    log.close_now()
    key = bench.folder / "signing.key"
    key.write_bytes(key.read_bytes()[:32])
    again = bench.open()
    again.record(told(moment=time.time()))
    again.close_now()
    bench.alter("DELETE FROM checkpoints")
    witness.unlink()
    assert [kind for kind, _ in flaws(await bench.open().verify())] == ["checkpoint"]


async def test_what_was_signed_in_a_transaction_that_failed_nobody_hears_of(
    bench, told, witness, monkeypatch
):
    monkeypatch.setattr(module.SqliteAudit, "_awake", lambda self: None)
    log = bench.open(settings=Audit(checkpoint_records=2, witness=str(witness)))
    log.record(told(moment=time.time()))
    log.merge()

    def fail(connection, sequence, head):
        log._finish(connection, sequence, head)
        raise sqlite3.OperationalError("database or disk is full")

    log.record(told(moment=time.time()))
    with log._merging, pytest.raises(sqlite3.OperationalError):
        log._merger.run(fail)
    log.record(told(moment=time.time()))
    log.merge()
    sizes = [
        msgspec.json.decode(line, type=AuditCheckpoint).size for line in witness.read_bytes().splitlines()
    ]
    assert sizes == [one.size for one in await log.checkpoints()] == [3]
    assert (await log.verify()).is_sound


async def test_what_comes_to_the_witness_after_a_look_was_begun_is_not_looked_at(bench, fill, witness, told):
    log = await fill(bench)
    kept = WitnessFile(str(witness))
    log.record(told(moment=time.time()))
    await log.checkpoint()
    assert [one.size for one in kept.checkpoints()] == [1, 2]
    assert [one.size for one in WitnessFile(str(witness)).checkpoints()] == [1, 2, 4]
