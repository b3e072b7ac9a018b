"""One chain in a database: what was told to be recorded is there once, and what cannot be is told in time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import threading
import time

import psycopg
import pytest

from awf.application.audit.trail import AuditTrail
from awf.application.running.tasks import spawn
from awf.bootstrap.audits import AuditServer
from awf.domain.audit import AuditUnavailable
from awf.domain.errors import AwfError
from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store.postgres import PostgresAudit, writer
from awf.infrastructure.stores.postgres.connecting import connection_words

pytestmark = pytest.mark.anyio

SHORT = 0.6  # seconds of patience, where it is tried


class Trouble(psycopg.Connection):
    """A connection that can break at the worst moment: behind a commit, before anyone hears of it."""

    armed = 0
    then_gone = False  # and the server cannot be reached either
    gone = False

    def execute(self, query, *arguments, **more):
        self.committing = query == "COMMIT"
        return super().execute(query, *arguments, **more)

    @contextlib.contextmanager
    def pipeline(self):
        self.committing = False
        with super().pipeline() as made:
            yield made
        if self.committing and Trouble.armed:
            Trouble.armed -= 1
            Trouble.gone = Trouble.then_gone
            self.close()
            raise psycopg.OperationalError("the connection is lost")


class TroubledServer(AuditServer):
    def __init__(self, url):
        super().__init__(url)
        super().connect().close()  # brings it up to date
        self.words = connection_words(url)

    def connect(self):
        if Trouble.gone:
            raise psycopg.OperationalError("the server is gone")
        return Trouble.connect(self.words, autocommit=True)


@pytest.fixture
def troubled(tmp_path, database_url):
    Trouble.armed, Trouble.then_gone, Trouble.gone = 0, False, False
    made = []

    def opened(**options):
        given = {"key_file": str(tmp_path / "signing.key"), **options}
        made.append(PostgresAudit(TroubledServer(database_url), str(tmp_path), **given))
        return made[-1]

    yield opened
    for one in made:
        one.close_now()


async def sound(log):
    report = await log.verify()
    assert report.is_sound, report.flaws
    records = await log.records(limit=100_000)
    assert [one.sequence for one in records] == list(range(1, report.records + 1))
    return [one.entry for one in records]


async def until(condition):
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.05)


# -- one chain -------------------------------------------------------------------------------------------------------


async def test_what_many_say_at_once_goes_into_few_transactions(shared_bench, told):
    log = shared_bench.open()
    await log.record(told())
    with shared_bench.sql() as connection:
        before = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0]
    await asyncio.gather(*(log.record(told(reason=str(number))) for number in range(2000)))
    with shared_bench.sql() as connection:
        after = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0]
    assert after - before < 200
    assert len(await sound(log)) == 2001


async def test_several_logs_and_threads_and_event_loops_make_one_chain(shared_bench, told):
    logs = [shared_bench.open(), shared_bench.open(folder=shared_bench.folder / "other")]

    async def some(name):
        await asyncio.gather(
            *(logs[number % 2].record(told(reason=f"{name} {number}")) for number in range(100))
        )

    threads = [threading.Thread(target=asyncio.run, args=(some(name),)) for name in "abc"]
    for thread in threads:
        thread.start()
    await some("d")
    for thread in threads:
        await asyncio.to_thread(thread.join, 60)
    entries = await sound(logs[0])
    assert sorted(one.reason for one in entries) == sorted(
        f"{name} {n}" for name in "abcd" for n in range(100)
    )


async def test_a_decision_and_its_effect_are_one_record_where_they_come_together(shared_bench, call, told):
    log = shared_bench.open()
    await log.record(told())
    with held(shared_bench):
        log.record(told())  # it waits for the chain, the others for it
        await waits(shared_bench)
        call(log, "r1")
    assert [one.kind for one in await sound(log)] == ["configuration", "configuration", "call"]
    await log.record(told("decision", request_id="r2", decision="allow"))
    await log.record(told("effect", request_id="r2", success=True))
    assert [(one.kind, one.follows) for one in (await sound(log))[3:]] == [("decision", 0), ("effect", 4)]


async def test_an_entry_whose_owner_does_not_wait_any_more_is_recorded_all_the_same(shared_bench, told):
    log = shared_bench.open()
    log.record(told(reason="left alone")).cancel()
    assert [one.reason for one in await sound(log)] == ["left alone"]


async def test_no_more_waits_than_there_is_room_for(shared_bench, told, monkeypatch):
    monkeypatch.setattr(writer, "_ROOM", 2000)
    log = shared_bench.open()
    await log.record(told())
    with held(shared_bench):
        pending = [log.record(told(reason="x" * 500))]
        await waits(shared_bench)
        pending += [log.record(told(reason="x" * 500)) for _ in range(2)]
        with pytest.raises(AuditUnavailable, match="too much waits"):
            log.record(told(reason="x" * 1500))
    await asyncio.gather(*pending)
    assert len(await sound(log)) == 1 + len(pending)


# -- the worst moment ------------------------------------------------------------------------------------------------


async def test_a_commit_of_which_nobody_hears_is_not_made_twice(troubled, told):
    log = troubled()
    await log.record(told("decision", request_id="r", decision="allow"))
    Trouble.armed = 1
    await asyncio.gather(
        log.record(told("effect", request_id="r", success=True)),
        *(log.record(told("decision", request_id=f"r{n}", decision="allow")) for n in range(5)),
    )
    assert Trouble.armed == 0
    await log.record(told("effect", request_id="r3", success=True))
    entries = await sound(log)
    assert [(one.kind, one.request_id) for one in entries] == [
        ("decision", "r"), ("effect", "r"), *(("decision", f"r{n}") for n in range(5)), ("effect", "r3"),
    ]  # fmt: skip
    assert (entries[1].follows, entries[-1].follows) == (1, 6)
    assert len(await log.open_calls()) == 4


async def test_a_decision_that_was_told_to_have_failed_and_is_there_does_not_stay_open(troubled, told):
    log = troubled(patience=SHORT)
    await log.record(told())
    Trouble.armed, Trouble.then_gone = 1, True
    with pytest.raises(AuditUnavailable, match="gone"):
        await log.record(told("decision", request_id="r", decision="allow"))
    Trouble.gone = False

    async def is_closed():
        return not await log.open_calls() and len(await log.records()) == 3

    await until(is_closed)
    _, decision, effect = await sound(log)
    assert (decision.request_id, effect.follows, effect.details) == ("r", 2, {"outcome": "unknown"})


# -- a database that is not there ------------------------------------------------------------------------------------


@contextlib.contextmanager
def held(bench):
    """Somebody else holds the chain."""
    with psycopg.connect(bench.url) as connection:
        connection.execute("SELECT 1 FROM awf.audit_head FOR UPDATE")
        yield
        connection.rollback()


async def waits(bench):
    """Until a transaction waits for it."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

    async def is_waiting():
        with bench.sql() as connection:
            return connection.execute(sql).fetchone() == (1,)

    await until(is_waiting)


async def recovered(log, told):
    async def is_recorded():
        try:
            await log.record(told(reason="back"))
        except AuditUnavailable:
            return False
        return True

    await until(is_recorded)
    assert (await sound(log))[-1].reason == "back"


async def test_a_chain_that_somebody_holds_is_told_in_time_and_then_at_once(shared_bench, told, caplog):
    log = shared_bench.open(patience=SHORT)
    await log.record(told())
    with held(shared_bench):
        with pytest.raises(AuditUnavailable):
            await log.record(told(reason="first"))
        with pytest.raises(AuditUnavailable):
            log.record(told(reason="second"))  # without waiting
    await recovered(log, told)
    assert "second" not in [one.reason for one in await sound(log)]
    assert len([one for one in caplog.records if "cannot be written" in one.message]) == 1
    assert len([one for one in caplog.records if "is back" in one.message]) == 1


async def test_a_database_that_does_not_answer_keeps_nobody_waiting(shared_bench, told):
    log = shared_bench.open(patience=SHORT)
    await log.record(told())
    sql = (
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with shared_bench.sql() as connection:
        ((process,),) = connection.execute(sql).fetchall()
    os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(AuditUnavailable):
            await log.record(told(reason="lost"))
    finally:
        os.kill(process, signal.SIGCONT)
    await recovered(log, told)


async def test_a_server_that_is_down_is_told_and_found_again(postgres, shared_bench, told):
    log = shared_bench.open(patience=SHORT)
    await log.record(told("decision", request_id="r", decision="allow"))
    postgres.halt()
    try:
        with pytest.raises(AuditUnavailable):
            await log.record(told(reason="lost"))
        with pytest.raises(AwfError):
            await log.records()
    finally:
        postgres.resume()
    await recovered(log, told)
    assert await log.open_calls() == {1}  # we live, and may still say what came of it
    await log.record(told("effect", request_id="r", success=True))
    assert await log.open_calls() == frozenset()


async def test_a_server_that_restarts_only_delays(postgres, shared_bench, told):
    log = shared_bench.open(patience=60.0)
    safe: list[str] = []
    stop = asyncio.Event()

    async def record(name):
        number = 0
        while not stop.is_set():
            await log.record(told(reason=f"{name} {number}"))
            safe.append(f"{name} {number}")
            number += 1

    tasks = [spawn(record(name), name=name) for name in "abcd"]
    for _ in range(3):
        seen = len(safe)
        await until_more(safe, seen + 20)
        await asyncio.to_thread(postgres.restart)
        await until_more(safe, len(safe) + 20)
        assert await asyncio.to_thread(postgres.cut, shared_bench.url) > 0
    stop.set()
    await asyncio.gather(*tasks)
    assert sorted(one.reason for one in await sound(log)) == sorted(safe)


async def until_more(seen, count):
    async def enough():
        return len(seen) >= count

    await until(enough)


async def test_a_database_that_refuses_is_told_at_once_and_used_again(shared_bench, told):
    log = shared_bench.open(patience=60.0)
    await log.record(told())
    with psycopg.connect(shared_bench.url, autocommit=True) as connection:
        connection.execute(
            "ALTER TABLE awf.audit_records ADD CONSTRAINT full_disk CHECK (sequence < 2) NOT VALID"
        )
        with pytest.raises(AuditUnavailable, match="full_disk"):
            await log.record(told())
        connection.execute("ALTER TABLE awf.audit_records DROP CONSTRAINT full_disk")
    await log.record(told(reason="back"))
    assert [one.reason for one in await sound(log)] == ["", "back"]


async def test_a_server_that_was_never_there_is_told_when_the_log_is_opened(tmp_path):
    server = AuditServer(f"postgresql://me@/db?host={tmp_path}")
    with pytest.raises(AwfError) as error:
        PostgresAudit(server, str(tmp_path), key_file=str(tmp_path / "signing.key"))
    assert error.value.code == "SYSTEM.STORE.UNAVAILABLE"
    assert error.value.hint


async def test_a_head_that_is_gone_stops_the_log(shared_bench, told):
    log = shared_bench.open()
    await log.record(told())
    shared_bench.alter("DELETE FROM awf.audit_head")
    with pytest.raises(AuditUnavailable, match="head"):
        await log.record(told())
    assert [one.kind for one in (await log.verify()).flaws] == ["head"]


async def test_a_closed_log_takes_nothing(shared_bench, told):
    log = shared_bench.open()
    await log.record(told())
    await log.close()
    with pytest.raises(AuditUnavailable, match="closed"):
        log.record(told())
    with pytest.raises(AwfError, match="closed"):
        await log.records()


# -- open calls ------------------------------------------------------------------------------------------------------


async def test_a_call_that_is_open_when_its_log_is_closed_is_unknown(shared_bench, told):
    first, second = shared_bench.open(), shared_bench.open()
    await first.record(told("decision", request_id="r", decision="allow"))
    assert await second.open_calls() == {1}
    await first.close()
    assert await second.open_calls() == frozenset()
    (event,) = await AuditTrail(second).events()
    assert (event.request_id, event.outcome) == ("r", "unknown")


async def test_a_writer_that_lost_its_connection_while_it_had_nothing_to_say_still_lives(
    postgres, shared_bench, told
):
    first, second = shared_bench.open(), shared_bench.open()
    await first.record(told("decision", request_id="r", decision="allow"))
    for _ in range(3):
        await asyncio.to_thread(postgres.cut, shared_bench.url)
        assert await second.open_calls() == {1}
    await first.record(told("effect", request_id="r", success=True))
    assert [(one.kind, one.follows) for one in await sound(second)] == [("decision", 0), ("effect", 1)]


# -- keys and checkpoints --------------------------------------------------------------------------------------------


async def test_checkpoints_come_after_so_many_records_whoever_writes_them(shared_bench, told):
    settings = Audit(checkpoint_records=10, checkpoint_every=3600.0)
    logs = [shared_bench.open(settings=settings) for _ in range(2)]
    for number in range(40):
        await logs[number % 2].record(told(moment=time.time()))
    assert [one.size for one in await logs[0].checkpoints()] == [10, 20, 30, 40]
    report = await logs[0].verify(public_key=logs[1].public_key)
    assert (report.is_sound, report.checkpoints) == (True, 4)


async def test_a_checkpoint_comes_after_so_long_also_when_nothing_more_is_said(shared_bench, told):
    log = shared_bench.open(settings=Audit(checkpoint_every=0.2))
    other = shared_bench.open(settings=Audit(checkpoint_every=0.2))
    await asyncio.gather(log.record(told()), other.record(told()))

    async def is_signed():
        return [one.size for one in await log.checkpoints()][-1:] == [2]

    await until(is_signed)
    assert (await log.verify()).is_sound


async def test_machines_with_keys_of_their_own_say_which_they_cannot_check(shared_bench, told, tmp_path):
    settings = Audit(checkpoint_records=1)
    first = shared_bench.open(settings=settings)
    second = shared_bench.open(settings=settings, folder=tmp_path / "second")
    await first.record(told())
    await second.record(told())
    report = await first.verify()
    assert report.is_sound
    head, checkpoint = report.notes
    assert head.startswith(
        f"the head was written with the key {second.public_key}, which this machine does not have"
    )
    assert checkpoint.startswith(f"1 checkpoint was signed with the key {second.public_key}, which this")
    assert checkpoint.endswith("--key")
    nobody = shared_bench.open(folder=tmp_path / "third")
    assert len((await nobody.verify()).notes) == 3
    assert not (tmp_path / "third" / "signing.key").exists()  # who only looks makes no key
    strict = await nobody.verify(public_key=first.public_key)
    assert [(one.kind, one.sequence) for one in strict.flaws] == [("head", 2), ("checkpoint", 2)]


async def test_who_has_the_public_keys_of_all_machines_can_check_all_that_they_signed(
    shared_bench, told, tmp_path
):
    settings = Audit(checkpoint_records=1)
    first = shared_bench.open(settings=settings)
    second = shared_bench.open(settings=settings, folder=tmp_path / "second")
    await first.record(told())
    await second.record(told())
    nobody = shared_bench.open(folder=tmp_path / "third")
    both = f"{first.public_key} {second.public_key}"
    for looker, left in ((nobody, 1), (first, 1), (second, 0)):
        report = await looker.verify(public_key=both)
        assert (report.is_sound, report.checkpoints, len(report.notes)) == (True, 2, left)
        assert all(note.startswith("the head was written with the key") for note in report.notes)
    thief = shared_bench.open(settings=settings, folder=tmp_path / "thief")
    await thief.record(told())
    flaws = (await nobody.verify(public_key=both)).flaws
    assert [(one.kind, one.sequence) for one in flaws] == [("head", 3), ("checkpoint", 3)]
    assert thief.public_key in flaws[0].message


async def test_a_log_that_somebody_wrote_anew_with_a_key_of_their_own_shows_where_a_head_was_noted(
    shared_bench, told, tmp_path
):
    log = shared_bench.open()
    for number in range(3):
        await log.record(told(reason=str(number)))
    with psycopg.connect(shared_bench.url, autocommit=True) as connection:
        connection.execute("DELETE FROM awf.audit_records")
        connection.execute("UPDATE awf.audit_head SET sequence = 0, hash = repeat('0', 64)")
    thief = shared_bench.open(folder=tmp_path / "thief")
    for number in range(4):
        await thief.record(told(reason=f"other {number}"))
    assert (await thief.verify()).is_sound
    assert [(one.kind, one.sequence) for one in (await log.verify()).flaws] == [("head", 3)]


@pytest.mark.parametrize("seed", range(4))
async def test_the_same_entries_make_the_same_chain_as_in_a_folder(shared_bench, bench, told, seed):
    """Whatever is said, in whatever order, with whatever comes together."""
    chosen = random.Random(seed)
    here, there = bench.open(folder=bench.folder.parent / "folder"), shared_bench.open()
    for _ in range(12):
        together = []
        for _ in range(chosen.randint(1, 5)):
            kind = chosen.choice(["decision", "decision", "effect", "effect", "spooled"])
            more = {"success": True, "duration_ms": 3} if kind == "effect" else {"decision": "allow"}
            details = chosen.choice([{}, {"ü": [1, 2.5, None]}, {"big": 2**70}])
            request = f"r{chosen.randint(0, 3)}"
            together.append(told(kind, chosen.random() * 1e9, request_id=request, details=details, **more))
        for entry in together:
            here.record(entry)
        here.merge()
        with held(shared_bench):  # so that they come together here, too
            first = there.record(told("configuration", reason="first"))
            await waits(shared_bench)
            pending = [there.record(entry) for entry in together]
        await asyncio.gather(first, *pending)
    said = [one.entry for one in await there.records() if one.entry.kind != "configuration"]
    for one in said:
        one.follows = min(one.follows, 1)  # numbers differ by those that came first
    kept = [one.entry for one in await here.records()]
    for one in kept:
        one.follows = min(one.follows, 1)
    assert said == kept
    assert len(await sound(there)) == len(kept) + 12
