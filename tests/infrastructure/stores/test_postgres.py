"""PostgreSQL in trouble, and what several processes see of one run."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from awf.domain.errors import AwfError
from awf.domain.events import LogLine, StepCompleted
from awf.domain.ports.durability import Finished, Message, RunOutcome
from awf.domain.ports.run_store import RunFilter
from awf.domain.program import Definition
from awf.domain.redaction import Masker
from awf.domain.run import RunRecord, StepResult
from awf.infrastructure.stores.postgres import link
from awf.infrastructure.stores.postgres.connecting import connection_words, describe, is_passing, open_waiting
from awf.infrastructure.stores.postgres.database import PostgresDatabase, look_at
from awf.infrastructure.stores.postgres.journal import PostgresJournal
from awf.infrastructure.stores.postgres.link import Writing
from awf.infrastructure.stores.postgres.migrating import _steps
from awf.infrastructure.stores.postgres.runs import PostgresRunStore
from awf.testing.postgres_node import PostgresNode
from awf.testing.slow_line import SlowLine

DEFINITION = Definition(root="w.yaml", texts={"w.yaml": "name: w"})
PATIENCE = 60


def record(run_id="r1"):
    return RunRecord(
        id=run_id, workflow="w", source="w.yaml", status="running", started_at=time.time(), inputs={}
    )


def work(output="out", **more):
    async def done():
        event = StepCompleted(path="p", step="p", kind="step", duration_ms=1)
        return Finished(StepResult(status="success", output=output, **more), (event,))

    return done


@pytest.fixture
async def machine(database_url, tmp_path):
    """Makes journals over one database, each with a folder of its own, as on machines of their own."""
    made = []

    def another():
        made.append(PostgresJournal(PostgresDatabase(database_url, str(tmp_path / f"machine{len(made)}"))))
        return made[-1]

    yield another
    for journal in made:
        await journal.close()


# -- troubles ------------------------------------------------------------------------------------------------------------


def test_an_address_that_is_none_is_told(database_url):
    for wrong in ("mysql://x/y", "postgresql://h/db?nonsense=1", "nonsense"):
        with pytest.raises(AwfError) as caught:
            PostgresDatabase(wrong, "/nowhere")
        assert caught.value.code == "USER.INPUT.INVALID_FORMAT"


def test_a_database_that_is_down_is_told_without_its_password(tmp_path):
    url = f"postgresql://me:hush-hush@/db?host={tmp_path}"
    with pytest.raises(AwfError) as caught:
        PostgresDatabase(url, str(tmp_path))
    assert caught.value.code == "SYSTEM.STORE.UNAVAILABLE"
    assert "hush" not in caught.value.message
    assert describe("postgresql://me:hush@db.example:5433/awf") == "postgresql://db.example:5433/awf"


def test_own_connection_options_are_kept():
    words = connection_words("postgresql://h/db?connect_timeout=3&options=-c%20geqo%3Doff")
    assert "connect_timeout=3" in words
    assert "geqo=off" in words
    assert "tcp_keepalives_idle" in words


def test_several_hosts_are_told_and_only_one_that_can_be_written_is_used():
    url = "postgresql://me:hush@a:1,b:2/awf"
    assert describe(url) == "postgresql://a:1,b:2/awf"
    assert describe("postgresql://a,b/awf") == "postgresql://a,b/awf"
    assert describe("postgresql:///awf?host=/x,/y&port=1,2") == "postgresql:///x,/y/awf"
    assert "target_session_attrs=read-write" in connection_words(url)
    assert "target_session_attrs=any" in connection_words(f"{url}?target_session_attrs=any")
    assert "target_session_attrs" not in connection_words("postgresql://a/awf")


async def test_all_that_waits_for_a_database_gives_up_together(tmp_path, monkeypatch):
    monkeypatch.setattr(link, "_PATIENCE_SECONDS", 0.3)
    tried = 0

    async def refused(url):
        nonlocal tried
        tried += 1
        return await open_waiting(url)

    monkeypatch.setattr(link, "open_waiting", refused)
    one = link.Link(f"postgresql:///db?host={tmp_path}")
    waiting = [one.do(lambda connection: connection.execute("SELECT 1")) for _ in range(5)]
    await asyncio.wait(waiting[:1])
    before = tried
    assert before > 1
    failed = await asyncio.gather(*waiting, return_exceptions=True)
    assert {error.code for error in failed} == {"SYSTEM.STORE.UNAVAILABLE"}
    assert tried - before <= 4
    one._patience = 0.0
    await one.close()


async def test_a_server_that_never_answers_is_taken_for_gone(monkeypatch):
    node = PostgresNode().start()
    line = SlowLine(node.port).start()
    try:
        one = link.Link(node.url(by=line.place))
        await one.do(lambda connection: connection.execute("SELECT 1"))
        assert await one.hold("test", "lock")
        line.hush()
        monkeypatch.setattr(link, "_ANSWER_SECONDS", 0.3)
        one._patience = 0.0
        with pytest.raises(AwfError, match="does not answer") as caught:
            await one.do(lambda connection: connection.execute("SELECT 1"))
        assert caught.value.code == "SYSTEM.STORE.WRITE_FAILED"
        line.speak()
        monkeypatch.undo()
        one._patience = 60.0
        before = one.rejoined
        await one.do(lambda connection: connection.execute("SELECT 1"))
        assert one.rejoined > before
        await one.close()
    finally:
        line.stop()
        node.stop()


def test_a_layout_from_the_future_is_left_alone(postgres, database_url, tmp_path):
    PostgresDatabase(database_url, str(tmp_path)).close()
    import psycopg

    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO awf.layout VALUES (999)")
    with pytest.raises(AwfError) as caught:
        PostgresDatabase(database_url, str(tmp_path))
    assert caught.value.code == "SYSTEM.STORE.NEWER"
    with pytest.raises(AwfError):
        look_at(database_url)


async def test_many_processes_may_open_an_empty_database_at_once(database_url, tmp_path):
    opened = await asyncio.gather(
        *(asyncio.to_thread(PostgresDatabase, database_url, str(tmp_path)) for _ in range(8))
    )
    assert {database.layout for database in opened} == {max(_steps())}
    for database in opened:
        database.close()


def test_looking_at_an_empty_database_leaves_it_empty(database_url):
    assert look_at(database_url).layout == 0
    assert look_at(database_url).layout == 0


async def test_a_run_goes_on_when_every_connection_is_cut(postgres, database_url, machine):
    journal = machine()
    run = await journal.create(record(), DEFINITION, Masker())
    heard = []
    run.listen(heard.append)
    for number in range(4):
        run.emit(LogLine(message="before"))
        cut = postgres.cut(database_url)
        assert cut > 0, number
        assert (await run.step(f"s{number}", work(str(number)))).output == str(number)
    store = PostgresRunStore(PostgresDatabase(database_url, "/nowhere"))
    assert [row.path for row in store.steps("r1")] == ["s0", "s1", "s2", "s3"]
    assert [event.seq for event in store.events("r1")] == list(range(1, 9))
    assert [stamped.seq for stamped in heard] == list(range(1, 9))
    with pytest.raises(AwfError) as caught:  # the lock was taken again
        await machine().adopt("r1", Masker())
    assert caught.value.code == "USER.RUN.BUSY"
    store._database.close()


async def test_messages_are_heard_also_after_the_connection_was_cut(postgres, database_url, machine):
    run = await machine().create(record(), DEFINITION, Masker())
    store = PostgresRunStore(PostgresDatabase(database_url, "/nowhere"))
    for number in range(3):
        waiting = asyncio.get_running_loop().create_task(run.wait(f"approval:{number}", PATIENCE))
        await asyncio.sleep(0)
        postgres.cut(database_url)
        assert await asyncio.to_thread(store.tell, "r1", f"approval:{number}", Message({"n": number}, "me"))
        assert (await waiting).payload == {"n": number}
    store._database.close()


async def test_a_server_that_restarts_only_delays_a_run(postgres, database_url, machine):
    run = await machine().create(record(), DEFINITION, Masker())
    postgres.halt()
    step = asyncio.get_running_loop().create_task(run.step("a", work("late")))
    _, waiting = await asyncio.wait([step], timeout=0.5)
    assert waiting
    postgres.resume()
    assert (await asyncio.wait_for(step, PATIENCE)).output == "late"


async def test_an_owner_that_was_thought_dead_cannot_write_any_more(postgres, database_url, machine):
    first, second = machine(), machine()
    lost = await first.create(record(), DEFINITION, Masker())
    await lost.step("a", work("kept"))
    first._database.link._held.clear()  # as if its machine could not reach the database when others could
    postgres.cut(database_url)
    taken = await second.adopt("r1", Masker())
    with pytest.raises(AwfError) as caught:
        await lost.step("b", work("of the dead"))
    assert caught.value.code == "SYSTEM.STORE.LOST_RUN"
    with pytest.raises(AwfError):
        await lost.finish(RunOutcome(status="failed"), ())
    assert taken.recorded("a").output == "kept"
    assert (await taken.step("b", work("of the living"))).output == "of the living"
    assert taken.record.status == "running"


async def test_a_statement_that_the_server_refuses_stops_that_run_only(machine):
    journal = machine()
    broken = await journal.create(record("r1"), DEFINITION, Masker())
    sound = await journal.create(record("r2"), DEFINITION, Masker())
    link = journal._database.link
    refused = link.commit(broken.claim, Writing(others=[("INSERT INTO awf.no_such_table VALUES (1)", ())]))
    assert (await sound.step("a", work("fine"))).output == "fine"
    for failing in (refused, broken.step("b", work())):
        with pytest.raises(AwfError) as caught:
            await failing
        assert caught.value.code == "SYSTEM.STORE.WRITE_FAILED"


def test_what_passes_by_itself_is_told_from_what_does_not():
    import psycopg

    assert is_passing(psycopg.errors.AdminShutdown())
    assert is_passing(psycopg.errors.SerializationFailure())
    assert is_passing(psycopg.errors.ReadOnlySqlTransaction())
    assert is_passing(psycopg.OperationalError("the connection is lost"))
    assert not is_passing(psycopg.errors.DiskFull())
    assert not is_passing(psycopg.errors.SyntaxError())
    assert not is_passing(ValueError())


# -- several machines ----------------------------------------------------------------------------------------------------


async def test_big_output_is_found_on_every_machine(database_url, machine, tmp_path):
    run = await machine().create(record(), DEFINITION, Masker())
    file = run.output_path("a", "stdout")
    whole = os.urandom(2_500_000)
    with open(file, "wb") as stream:
        stream.write(whole)
    await run.step("a", work("head", truncated=True, output_file=file))
    await run.release()
    os.remove(file)
    elsewhere = await machine().adopt("r1", Masker())
    again = elsewhere.recorded("a").output_file
    assert again != file
    with open(again, "rb") as stream:
        assert stream.read() == whole
    store = PostgresRunStore(PostgresDatabase(database_url, str(tmp_path / "third")))
    with open(store.output_path("r1", "a", "stdout"), "rb") as stream:
        assert stream.read() == whole
    store._database.close()


async def test_a_run_is_seen_as_it_stands_from_elsewhere(database_url, machine):
    journal = machine()
    store = PostgresRunStore(PostgresDatabase(database_url, "/nowhere"))
    run = await journal.create(record("20260101-000000-aaaa"), DEFINITION, Masker())
    assert store.find("2026").status == "running"
    assert store.find("aaaa").id == store.find("last").id == run.run_id
    assert store.goes_on(run.run_id)
    await run.release()
    assert store.find("last").status == "interrupted"
    assert not store.goes_on(run.run_id)
    assert [one.status for one in store.runs(RunFilter(status="interrupted"))] == ["interrupted"]
    assert store.runs(RunFilter(status="completed")) == []
    with pytest.raises(AwfError):
        store.find("nothing%")
    assert store.cancel(run.run_id, Message({"reason": "no"}, "me"))
    assert store.find("last").status == "cancelled"
    store._database.close()


async def test_cancelling_an_owned_run_asks_its_owner(database_url, machine):
    run = await machine().create(record(), DEFINITION, Masker())
    store = PostgresRunStore(PostgresDatabase(database_url, "/nowhere"))
    listening = asyncio.get_running_loop().create_task(run.cancelled())
    assert not await asyncio.to_thread(store.cancel, "r1", Message({"reason": "enough"}, "me"))
    assert await asyncio.wait_for(listening, PATIENCE) == "enough"
    store._database.close()


async def test_secrets_of_inputs_are_kept_until_the_run_completes_and_variables_never(machine, database_url):
    masker = Masker()
    masker.add("inputs.token", "s3cr3t-value")
    masker.add("env.API_TOKEN", "from-the-environment")
    database = PostgresDatabase(database_url, "/nowhere")
    run = await machine().create(record(), DEFINITION, masker)
    assert database.rows("SELECT name FROM awf.secrets") == [("inputs.token",)]
    await run.finish(RunOutcome(status="completed"), ())
    assert database.rows("SELECT name FROM awf.secrets") == []
    database.close()


async def test_news_reach_a_follower(machine, database_url):
    run = await machine().create(record(), DEFINITION, Masker())
    store = PostgresRunStore(PostgresDatabase(database_url, "/nowhere"))
    store.wait_for_news("r1")  # the first call only begins to listen
    following = asyncio.get_running_loop().create_task(asyncio.to_thread(store.wait_for_news, "r1"))
    run.emit(LogLine(message="hello"))
    await following
    while not store.events("r1"):
        await asyncio.sleep(0.01)
    store.stop_following()
    store._database.close()


def test_the_database_sets_the_clock(database_url, tmp_path, monkeypatch):
    honest = time.time
    monkeypatch.setattr(time, "time", lambda: honest() - 3600)
    database = PostgresDatabase(database_url, str(tmp_path))
    assert 3500 < database.skew < 3700
    assert abs(database.clock() - honest()) < 100
    database.close()


async def test_who_hurries_while_a_silent_server_is_being_given_up_goes_on(database_url, monkeypatch):
    one = link.Link(database_url)
    await one.do(lambda connection: connection.execute("SELECT 1"))
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow_to_let_go(_connection):
        """As long as psycopg tries to cancel what it has asked."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            begun.set()
            await may_end.wait()
            raise

    monkeypatch.setattr(link, "_ANSWER_SECONDS", 0.01)
    asked = one.do(slow_to_let_go)
    await begun.wait()
    one.hurry()
    one._patience = 0.0
    may_end.set()
    with pytest.raises(AwfError, match="does not answer"):
        await asked
    await one.close()
