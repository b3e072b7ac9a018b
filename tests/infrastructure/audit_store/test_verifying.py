"""Whatever somebody does to the log afterwards is named, with its place."""

from __future__ import annotations

import base64
import json
import random
import shutil
import time

import msgspec
import pytest

from awf.domain.audit import AuditCheckpoint, AuditFilter
from awf.domain.audit_chain import record_hash, signed_bytes
from awf.domain.errors import AwfError
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import database as database_module
from awf.infrastructure.audit_store.keys import Keys, signature_holds
from awf.infrastructure.audit_store.postgres import PostgresAudit

pytestmark = pytest.mark.anyio

RECORDS = 12


@pytest.fixture
async def log(any_bench, told):
    return await filled(any_bench, told)


async def filled(bench, told):
    """Opened anew: who has recorded has a thread that may still look, and notices what is done to the log."""
    settings = Audit(witness=str(bench.folder.parent / "witness.jsonl"))
    made = bench.open(settings=settings)
    for number in range(RECORDS // 2):
        made.record(told(moment=time.time(), reason=f"number {number}"))
    await made.checkpoint()
    for number in range(RECORDS // 2, RECORDS):
        made.record(told(moment=time.time(), reason=f"number {number}"))
    made.close_now()
    again = bench.open(settings=settings)
    assert (await again.verify()).is_sound
    return again


async def flaw(log):
    report = await log.verify()
    assert not report.is_sound
    return report.flaws[0], report


async def test_a_sound_log_says_what_was_looked_at(log):
    report = await log.verify()
    assert (report.records, report.sound_until, report.checkpoints, report.witnessed) == (
        RECORDS,
        RECORDS,
        1,
        1,
    )


async def test_an_entry_that_was_changed(log, any_bench):
    any_bench.alter("UPDATE records SET entry = replace(entry, 'number 4', 'number 7') WHERE sequence = 5")
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("changed", 5, 4)
    assert len(report.flaws) == 1


async def test_an_entry_that_was_changed_together_with_its_hash(log, any_bench):
    with any_bench.sql() as connection:
        previous, entry = connection.execute(
            "SELECT previous, entry FROM records WHERE sequence = 8"
        ).fetchone()
        entry = entry.replace("number 7", "number 3")
        said = record_hash(8, previous, entry.encode())
        connection.execute("UPDATE records SET entry = ?, hash = ? WHERE sequence = 8", (entry, said))
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("order", 9, 8)


async def test_a_chain_that_was_made_anew_from_some_record_on(log, any_bench):
    log.close_now()  # or it finds out by itself meanwhile, and records that
    with any_bench.sql() as connection:
        rows = connection.execute(
            "SELECT sequence, entry FROM records WHERE sequence >= 3 ORDER BY sequence"
        ).fetchall()
        (previous,) = connection.execute("SELECT hash FROM records WHERE sequence = 2").fetchone()
        for sequence, entry in rows:
            said = record_hash(sequence, previous, entry.replace("number 2", "number x").encode())
            values = (previous, said, entry.replace("number 2", "number x"), sequence)
            connection.execute(
                "UPDATE records SET previous = ?, hash = ?, entry = ? WHERE sequence = ?", values
            )
            previous = said
    settings = Audit(witness=str(any_bench.folder.parent / "witness.jsonl"))
    report = await any_bench.open(settings=settings).verify()
    assert {one.kind for one in report.flaws} == {"head", "checkpoint", "witness"}


async def test_a_record_that_was_removed(log, any_bench):
    any_bench.alter("DELETE FROM records WHERE sequence = 4")
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("missing", 4, 3)
    assert "record 4 is missing" in found.message


async def test_several_records_that_were_removed(log, any_bench):
    any_bench.alter("DELETE FROM records WHERE sequence BETWEEN 1 AND 3")
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("missing", 1, 0)
    assert "records 1 to 3 are missing" in found.message


async def test_an_end_that_was_cut_off_since_the_last_checkpoint(log, any_bench):
    any_bench.alter("DELETE FROM records WHERE sequence > 10")
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("cut", 11, 10)


async def test_an_end_that_was_cut_off_with_the_head_set_back(log, any_bench):
    any_bench.note.unlink()
    any_bench.alter(
        "DELETE FROM records WHERE sequence > 10",
        "UPDATE head SET sequence = 10, hash = (SELECT hash FROM records WHERE sequence = 10)",
    )
    found, _ = await flaw(log)
    assert found.kind == "head"
    assert "key" in found.message


async def test_an_end_that_was_cut_off_by_somebody_with_the_key_shows_in_what_was_signed(
    log, any_bench, noted
):
    with any_bench.sql() as connection:
        connection.execute("DELETE FROM records WHERE sequence > 3")
        (said,) = connection.execute("SELECT hash FROM records WHERE sequence = 3").fetchone()
        mac = any_bench.keys.mac(3, said)
        connection.execute("UPDATE head SET sequence = 3, hash = ?, mac = ?", (said, mac))
        noted(any_bench, 3, said)
        connection.execute("DELETE FROM checkpoints")
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("cut", 4, 3)
    assert "witness" in found.message


async def test_a_database_that_was_set_back_as_a_whole(log, any_bench, told):
    any_bench.save()
    log.record(told(reason="later"))
    await log.close()
    any_bench.set_back()
    other = any_bench.open()
    found, report = await flaw(other)
    assert (found.kind, found.sequence, report.sound_until) == ("cut", RECORDS + 1, RECORDS)
    other.record(told(reason="as if nothing had been"))
    found, report = await flaw(other)
    assert (found.kind, found.sequence, report.sound_until) == ("missing", RECORDS + 1, RECORDS)


@pytest.mark.parametrize("found", [None, b"", b"half of what is being writ"])
async def test_a_head_that_is_being_noted_right_now_is_waited_for(bench, told, monkeypatch, found):
    log = bench.open()
    log.record(told())
    await log.records()
    head = bench.folder / "head"
    whole = head.read_bytes()
    head.unlink() if found is None else head.write_bytes(found)
    monkeypatch.setattr(database_module, "_LOOK_SECONDS", 0)
    read = type(log._database.noted_head).read

    def looked_at(noted):
        seen = read(noted)
        head.write_bytes(whole)
        return seen

    monkeypatch.setattr(type(log._database.noted_head), "read", looked_at)
    assert (await log.verify()).is_sound


async def test_a_head_that_somebody_removed_beside_the_database(log, any_bench):
    any_bench.note.write_text("1 x y", encoding="utf-8")
    if isinstance(log, PostgresAudit):  # not every machine that looks has written
        assert (await log.verify()).is_sound
        return
    found, _ = await flaw(log)
    assert (found.kind, found.sequence) == ("head", RECORDS)


@pytest.mark.parametrize("what", ["removed", "replaced", "longer"])
async def test_a_head_that_somebody_takes_away_while_a_process_runs_is_noted_again(
    log, any_bench, told, what
):
    log.record(told(reason="noted"))
    await log.records(limit=1)
    note = any_bench.note
    if what == "removed":
        note.unlink()
    elif what == "replaced":  # as who restores a copy does
        copy = shutil.copy(note, note.with_name("copy"))
        copy.replace(note)
    else:
        note.write_bytes(note.read_bytes() + b"more")
    for _ in range(3):
        log.record(told(reason="later"))
        await log.records(limit=1)
    last = (await log.records(newest_first=True, limit=1))[0]
    assert note.read_text(encoding="ascii").split()[:2] == [f"{last.sequence:020}", last.hash]
    gaps = [one.entry.details["cause"] for one in await log.records() if one.entry.kind == "audit_gap"]
    is_told = what != "replaced" and not isinstance(log, PostgresAudit)
    assert gaps == (["head lost"] if is_told else [])


async def test_a_log_that_goes_on_after_a_cut_does_not_hide_it(log, any_bench, told):
    any_bench.alter("DELETE FROM records WHERE sequence > 10")
    log.record(told(reason="later"))
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until) == ("missing", 11, 10)
    assert (await log.records(newest_first=True, limit=1))[0].sequence == RECORDS + 1


@pytest.mark.parametrize(
    "head",
    ["DELETE FROM head", "UPDATE head SET sequence = 8, hash = 'x', mac = 'y'", "UPDATE head SET mac = 'y'"],
)
@pytest.mark.parametrize("noted", ["", "nonsense", "1 \u00e9 \u00e9"])
async def test_a_cut_that_took_all_that_tells_of_it_along_is_told_for_good(log, any_bench, told, head, noted):
    """Whoever goes on behind it has no key missing, but no head to go on from either."""
    if isinstance(log, PostgresAudit) and head.startswith("DELETE"):
        pytest.skip("there nothing goes on without a head")
    any_bench.alter(
        "DELETE FROM records WHERE sequence > 8", head, "DELETE FROM checkpoints", "DELETE FROM open_calls"
    )
    any_bench.note.write_text(noted, encoding="utf-8")
    for _ in range(2):
        log.record(told(reason="later"))
        await log.records(limit=1)
        found, _ = await flaw(log)
        assert found.kind == "cut" or found.sequence == 9
    assert not (await any_bench.open().verify()).is_sound


EMPTY = ("DELETE FROM records", "DELETE FROM head", "DELETE FROM checkpoints", "DELETE FROM open_calls")


@pytest.mark.parametrize("opened", ["before", "afterwards"])
async def test_a_log_of_which_nothing_is_left_but_its_keys_is_no_new_one(bench, told, opened):
    log = await filled(bench, told)
    if opened == "afterwards":
        log.close_now()
    bench.alter(*EMPTY)
    bench.note.unlink()
    (bench.folder.parent / "witness.jsonl").unlink()
    log = bench.open() if opened == "afterwards" else log
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.records) == ("cut", 1, 0)
    assert "everything" in found.message
    for _ in range(2):  # and it stays so, however it goes on
        log.record(told(reason="later"))
        found, report = await flaw(log)
        assert (found.kind, found.sequence, report.sound_until) == ("cut", 1, 0)
    assert not (await bench.open().verify()).is_sound


async def test_what_is_noted_of_a_log_is_kept_when_one_opens_it_without_its_records(bench, told):
    log = await filled(bench, told)
    log.close_now()
    bench.alter(*EMPTY)
    for _ in range(2):
        found, _ = await flaw(bench.open())
        assert found.kind == "cut"
    assert f"{RECORDS} records were noted" in " ".join(
        one.message for one in (await bench.open().verify()).flaws
    )


async def test_a_log_that_was_only_begun_is_sound(bench):
    for _ in range(2):
        assert (await bench.open().verify()).is_sound


async def test_a_log_from_before_keys_had_a_mark_gets_one_when_it_is_opened(bench, told):
    log = await filled(bench, told)
    log.close_now()
    key = bench.folder / "head.key"
    key.write_bytes(key.read_bytes()[:32])
    bench.open().close_now()
    bench.alter(*EMPTY)
    bench.note.unlink()
    (bench.folder.parent / "witness.jsonl").unlink()
    found, _ = await flaw(bench.open())
    assert "everything" in found.message


async def test_a_checkpoint_of_no_records_at_all_was_never_signed(log, any_bench):
    any_bench.alter("UPDATE checkpoints SET size = -1")
    found, _ = await flaw(log)
    assert found.kind == "checkpoint"


async def test_a_head_of_too_great_a_number_harms_nobody(log, any_bench, told):
    any_bench.alter("UPDATE head SET sequence = 9223372036854775807")
    log.record(told(reason="later"))
    found, _ = await flaw(log)
    assert found.kind == "cut"
    assert (await log.records(after=RECORDS))[-1].entry.reason == "later"


async def test_two_records_that_were_swapped(log, any_bench):
    any_bench.alter(
        "UPDATE records SET sequence = -1 WHERE sequence = 5",
        "UPDATE records SET sequence = 5 WHERE sequence = 6",
        "UPDATE records SET sequence = 6 WHERE sequence = -1",
    )
    report = await log.verify()
    assert [one.sequence for one in report.flaws[:2]] == [5, 6]
    assert report.sound_until == 4


async def test_a_record_that_was_added_at_the_end(log, any_bench):
    with any_bench.sql() as connection:
        (previous,) = connection.execute(f"SELECT hash FROM records WHERE sequence = {RECORDS}").fetchone()
        entry = '{"createdAt":1,"kind":"spooled"}'
        said = record_hash(RECORDS + 1, previous, entry.encode())
        connection.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (RECORDS + 1, previous, said, entry))
    found, _ = await flaw(log)
    assert (found.kind, found.sequence) == ("head", RECORDS)


async def test_a_checkpoint_that_was_forged(log, any_bench):
    any_bench.alter("UPDATE checkpoints SET head = (SELECT hash FROM records WHERE sequence = 2)")
    found, _ = await flaw(log)
    assert (found.kind, found.sequence) == ("checkpoint", RECORDS // 2)
    assert "signed" in found.message


async def test_a_checkpoint_of_another_key(log, any_bench, tmp_path):
    (tmp_path / "other").mkdir()
    made = Keys(str(tmp_path / "other"), is_new=True).signed(
        log.origin, 3, (await log.records(limit=3))[2].hash, 5.5
    )
    with any_bench.sql() as connection:
        values = (made.size, made.head, made.created_at, made.key, made.signature)
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?)", values)
    if isinstance(
        log, PostgresAudit
    ):  # each machine may have a key of its own: it is told, and strict with a key
        report = await log.verify()
        assert report.is_sound
        (note,) = report.notes
        assert note.startswith(
            f"1 checkpoint was signed with the key {made.key}, which this machine does not know"
        )
        report = await log.verify(public_key=log.public_key)
        assert [(one.kind, one.sequence) for one in report.flaws] == [("checkpoint", 3)]
        return
    found, _ = await flaw(log)
    assert (found.kind, found.sequence) == ("checkpoint", 3)


async def test_a_log_whose_keys_were_replaced_is_held_against_the_key_that_was_kept_elsewhere(log, any_bench):
    report = await log.verify(public_key=base64.b64encode(bytes(32)).decode())
    head = {"head"} if isinstance(log, PostgresAudit) else set()  # there it names its key
    assert {one.kind for one in report.flaws} == {"checkpoint", "witness", *head}
    assert (await log.verify(public_key=log.public_key)).is_sound
    assert (any_bench.folder / "signing.pub").read_text(encoding="ascii").strip() == log.public_key


async def test_a_witness_that_disagrees(log, any_bench):
    witness = any_bench.folder.parent / "witness.jsonl"
    said = msgspec.json.decode(witness.read_bytes(), type=AuditCheckpoint)
    other = any_bench.keys.signed(log.origin, said.size, "0" * 64, said.created_at)
    witness.write_bytes(msgspec.json.encode(other) + b"\n")
    found, _ = await flaw(log)
    assert (found.kind, found.sequence) == ("witness", RECORDS // 2)
    assert "another hash" in found.message


async def test_a_witness_file_without_checkpoints_is_told(log, any_bench):
    (any_bench.folder.parent / "witness.jsonl").write_bytes(b"")
    report = await log.verify()
    assert (report.is_sound, report.witnessed) == (True, 0)
    assert "has no checkpoint" in report.notes[0]


async def test_a_witness_file_that_is_none(log, any_bench):
    (any_bench.folder.parent / "witness.jsonl").write_text("{}\n", encoding="utf-8")
    found, _ = await flaw(log)
    assert found.kind == "witness"


async def test_a_call_that_somebody_hides_among_the_open_ones(log, any_bench, told):
    log.record(told("decision", request_id="r", decision="allow"))
    assert (await log.verify()).is_sound
    any_bench.alter("DELETE FROM open_calls")
    found, _ = await flaw(log)
    assert (found.kind, found.sequence) == ("database", RECORDS + 1)


async def test_no_more_than_the_first_flaws_are_told(log, any_bench, told):
    for _ in range(50):
        log.record(told())
    await log.records()
    any_bench.alter("UPDATE records SET hash = 'x'")
    report = await log.verify()
    assert len(report.flaws) == 20
    assert report.sound_until == 0


async def test_an_entry_that_is_nested_too_deeply_is_named_and_others_are_still_found(log, any_bench):
    deep = '{"createdAt":1,"details":{"x":' + "[" * 100_000 + "]" * 100_000 + '},"kind":"configuration"}'
    is_shared = isinstance(log, PostgresAudit)
    value = "convert_to(?, 'UTF8')" if is_shared else "?"
    with any_bench.sql() as connection:
        connection.execute(f"UPDATE records SET entry = {value} WHERE sequence = 5", (deep,))
    found, report = await flaw(log)
    assert (found.kind, found.sequence, report.sound_until, report.records) == ("changed", 5, 4, RECORDS)
    assert len(await log.records(where=AuditFilter(kinds=("configuration",)))) == RECORDS - 1


async def outcome(bench, folder):
    """What a look at the folder comes to: the records, or what is wrong."""
    try:
        log = bench.open(folder=folder)
    except AwfError as error:
        return error.code
    try:
        report = await log.verify()
        if not report.is_sound:
            return report.flaws[0].kind
        return [(one.sequence, one.hash, one.previous, one.entry) for one in await log.records()]
    finally:
        await log.close()


async def test_one_byte_changed_anywhere_is_named_or_changes_nothing_that_is_told(bench, told):
    log = await filled(bench, told)
    await log.close()
    folder = bench.copy("copy")
    before = await outcome(bench, folder)
    assert isinstance(before, list)
    assert len(before) == RECORDS
    original = (folder / "audit.db").read_bytes()
    chosen = random.Random(7)
    named = 0
    for place in sorted(chosen.sample(range(len(original)), 250)):
        damaged = bytearray(original)
        damaged[place] ^= chosen.randint(1, 255)
        broken = bench.folder.parent / "broken"
        shutil.copytree(folder, broken)
        (broken / "audit.db").write_bytes(damaged)
        found = await outcome(bench, broken)
        shutil.rmtree(broken)
        if isinstance(found, str):
            named += 1
        else:
            assert found == before, place
    assert named


async def test_every_byte_of_the_records_counts(log, any_bench):
    """All texts of one record, byte by byte."""
    with any_bench.sql() as connection:
        row = connection.execute("SELECT previous, hash, entry FROM records WHERE sequence = 7").fetchone()
    for column, text in zip(("previous", "hash", "entry"), row, strict=True):
        for place in range(0, len(text), 3):
            other = "0" if text[place] != "0" else "1"
            with any_bench.sql() as connection:
                changed = text[:place] + other + text[place + 1 :]
                connection.execute(f"UPDATE records SET {column} = ? WHERE sequence = 7", (changed,))
            found, _ = await flaw(log)
            assert found.sequence == 7
        with any_bench.sql() as connection:
            connection.execute(f"UPDATE records SET {column} = ? WHERE sequence = 7", (text,))
    assert (await log.verify()).is_sound


# -- signatures ------------------------------------------------------------------------------------------------------


async def test_a_signature_is_over_every_field(log):
    (made,) = await log.checkpoints()
    assert signature_holds(made, log.public_key)
    changes = {"origin": "x", "size": 7, "head": "0" * 64, "created_at": 1.5, "signature": "AAAA"}
    for name, value in changes.items():
        assert not signature_holds(msgspec.structs.replace(made, **{name: value}), log.public_key), name
    assert not signature_holds(made, base64.b64encode(bytes(32)).decode())
    assert not signature_holds(msgspec.structs.replace(made, key="?"), "?")
    assert json.loads(signed_bytes(made)).keys() == {"origin", "size", "head", "createdAt", "key"}


async def test_a_checkpoint_comes_after_so_many_records_and_after_so_long(bench, told):
    now = [1000.5]
    log = bench.open(settings=Audit(checkpoint_records=10, checkpoint_every=60.0), clock=lambda: now[0])
    for _ in range(9):
        log.record(told())
    log.merge()
    assert await log.checkpoints() == []
    log.record(told())
    log.merge()
    assert [one.size for one in await log.checkpoints()] == [10]
    log.record(told())
    log.merge()
    now[0] += 59
    log.merge()
    assert len(await log.checkpoints()) == 1
    now[0] += 2
    log.merge()
    assert [(one.size, one.created_at) for one in await log.checkpoints()] == [(10, 1000.5), (11, 1061.5)]
    now[0] += 1000
    log.merge()
    assert len(await log.checkpoints()) == 2
    log.follow(Audit(checkpoint_records=1))
    log.record(told())
    log.merge()
    assert len(await log.checkpoints(after=11)) == 1


async def test_a_checkpoint_comes_after_so_long_although_no_process_lives_so_long(any_bench, told):
    now = [1000.5]
    for _ in range(3):
        log = any_bench.open(settings=Audit(checkpoint_every=60.0), clock=lambda: now[0])
        log.record(told(moment=now[0]))
        signed = [one.size for one in await log.checkpoints()]
        log.close_now()
        now[0] += 40
    assert signed == [3]


async def test_a_witness_that_cannot_be_reached_now_is_told_later(bench, told, caplog, tmp_path):
    witness = tmp_path / "far" / "witness"
    log = bench.open(settings=Audit(checkpoint_records=1, witness=str(witness)))
    for _ in range(3):
        log.record(told())
        log.merge()
    assert len([one for one in caplog.records if "witness" in one.message]) == 1
    witness.parent.mkdir()
    log.record(told())
    log.merge()
    assert len(witness.read_bytes().splitlines()) == 4
    assert (await log.verify()).witnessed == 4
