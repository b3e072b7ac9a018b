"""What every journal must promise. One suite; each adapter of the port is held to it."""

from __future__ import annotations

import asyncio
import time

import pytest

from awf.domain.errors import AwfError
from awf.domain.events import LogLine, StepCompleted
from awf.domain.ports.durability import Finished, Message, RunOutcome
from awf.domain.program import Definition
from awf.domain.redaction import Masker
from awf.domain.run import RunRecord, StepResult, Usage
from awf.infrastructure.stores.database import Database
from awf.infrastructure.stores.journal import SqliteJournal
from awf.infrastructure.stores.postgres.database import PostgresDatabase
from awf.infrastructure.stores.postgres.journal import PostgresJournal
from awf.testing.memory_journal import MemoryJournal

DEFINITION = Definition(root="w.yaml", texts={"w.yaml": "name: w"})


def record(run_id="r1"):
    return RunRecord(
        id=run_id,
        workflow="w",
        source="w.yaml",
        status="running",
        started_at=time.time(),
        inputs={"a": 1, "b": "x"},
        context="of an agent",
    )


def work(output="out", counter=None, **more):
    async def done():
        if counter is not None:
            counter.append(output)
        return Finished(
            StepResult(status="success", output=output, **more),
            (StepCompleted(path="p", step="p", kind="step", duration_ms=1),),
        )

    return done


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def journal(request, tmp_path):
    if request.param == "memory":
        made = MemoryJournal()
    elif request.param == "sqlite":
        made = SqliteJournal(Database(str(tmp_path)))
    else:
        made = PostgresJournal(
            PostgresDatabase(request.getfixturevalue("database_url"), str(tmp_path / "storage"))
        )
    yield made
    await made.close()


async def test_a_step_is_done_once_and_remembered_whole(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    counter: list[str] = []
    rich = {
        "json": {"k": [1, 2.5, None, True]},
        "usage": Usage(1, 2, 0.5, "reported", 3),
        "stderr": "é\u0000x",
        "branches": {"b": StepResult(status="failed")},
    }
    first = await run.step("a/b[3]/c#2@4", work("one", counter, **rich))
    second = await run.step("a/b[3]/c#2@4", work("two", counter))
    assert first == second
    assert counter == ["one"]
    assert run.recorded("a/b[3]/c#2@4") == first
    assert run.recorded("a/b[3]/c#2") is None
    assert run.finished_steps == 1


async def test_failed_and_cancelled_work_is_not_remembered(journal):
    run = await journal.create(record(), DEFINITION, Masker())

    async def broken():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await run.step("a", broken)
    started = asyncio.Event()

    async def endless():
        started.set()
        await asyncio.Event().wait()

    task = asyncio.get_running_loop().create_task(run.step("a", endless))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.recorded("a") is None
    assert (await run.step("a", work("now"))).output == "now"


async def test_an_adopted_run_has_everything_and_nobody_else_can_have_it(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    await run.step("a", work("kept"))
    with pytest.raises(AwfError) as caught:
        await journal.adopt("r1", Masker())
    assert caught.value.code == "USER.RUN.BUSY"
    await run.release()
    again = await journal.adopt("r1", Masker())
    assert again.resumed
    assert again.record.context == "of an agent"
    assert not run.resumed
    assert again.finished_steps == 1
    assert again.recorded("a").output == "kept"
    assert again.definition == DEFINITION
    assert again.record.inputs == {"a": 1, "b": "x"}


async def test_an_id_that_is_taken_is_refused_and_the_run_that_has_it_stays_as_it_is(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    await run.step("a", work("kept"))
    await run.release()
    with pytest.raises(AwfError) as caught:
        await journal.create(record(), Definition(root="other.yaml", texts={}), Masker())
    assert caught.value.code == "USER.RUN.BUSY"
    again = await journal.adopt("r1", Masker())
    assert (again.definition, again.recorded("a").output) == (DEFINITION, "kept")


async def test_events_are_numbered_without_gaps_also_after_a_resume(journal):
    heard = []
    run = await journal.create(record(), DEFINITION, Masker())
    run.listen(heard.append)
    run.emit(LogLine(message="1"))
    await run.step("a", work())
    run.emit(LogLine(message="2"), once="x")
    await run.release()
    again = await journal.adopt("r1", Masker())
    again.listen(heard.append)
    again.emit(LogLine(message="2"), once="x")
    again.emit(LogLine(message="3"), once="y")
    assert [s.seq for s in heard] == [1, 2, 3, 4]
    assert [getattr(s.event, "message", "done") for s in heard] == ["1", "done", "2", "3"]


async def test_a_topic_is_answered_once_and_the_answer_stays(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    waiting = asyncio.get_running_loop().create_task(run.wait("approval:a", None))
    await asyncio.sleep(0)
    assert not run.answered("approval:a")
    assert await run.deliver("approval:a", Message({"outcome": "once"}, "me"))
    assert not await run.deliver("approval:a", Message({"outcome": "reject"}, "you"))
    assert (await waiting).payload == {"outcome": "once"}
    assert run.answered("approval:a")
    await run.release()
    again = await journal.adopt("r1", Masker())
    assert (await again.wait("approval:a", 5)).sender == "me"


async def test_running_out_of_time_is_remembered_too(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    assert await run.wait("timer:a@2", 0.01) is None
    assert run.answered("timer:a@2")
    assert await run.wait("timer:a@2", None) is None


async def test_forgetting_takes_the_attempts_timers_and_hooks_of_one_visit_only(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    for path in ("a", "a@2", "a/hooks/pre/0", "a#2", "ab", "a/inner", "x/a"):
        await run.step(path, work(path))
    await run.wait("timer:a@2", 0.001)
    await run.wait("timer:ab@2", 0.001)
    await run.deliver("approval:a", Message({"outcome": "reject"}))
    await run.forget("a")
    assert [p for p in ("a", "a@2", "a/hooks/pre/0", "a#2", "ab", "a/inner", "x/a") if run.recorded(p)] == [
        "a#2",
        "ab",
        "a/inner",
        "x/a",
    ]
    assert not run.answered("timer:a@2")
    assert run.answered("timer:ab@2")
    assert not run.answered("approval:a")


async def test_a_request_to_stop_is_heard_and_gone_after_the_end(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    listening = asyncio.get_running_loop().create_task(run.cancelled())
    await run.deliver("control:cancel", Message({"reason": "enough"}))
    assert await listening == "enough"
    await run.finish(RunOutcome(status="cancelled", exit_status=130), (LogLine(message="end"),))
    await run.release()
    again = await journal.adopt("r1", Masker())
    assert not again.answered("control:cancel")


async def test_copied_steps_are_found_in_the_new_run_only_where_kept(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    for path in ("a", "b", "c"):
        await run.step(path, work(path))
    await run.deliver("approval:a", Message({"outcome": "once"}))
    await run.deliver("approval:c", Message({"outcome": "once"}))
    fresh = await journal.create(record("r2"), DEFINITION, Masker())
    assert await journal.copy_steps("r1", fresh, lambda path: path < "c") == 2
    assert fresh.recorded("a").output == "a"
    assert fresh.recorded("c") is None
    assert fresh.answered("approval:a")
    assert not fresh.answered("approval:c")
    assert await journal.definition("r1") == DEFINITION
    assert await journal.inputs("r1", Masker()) == {"a": 1, "b": "x"}


async def test_secrets_survive_in_values_but_events_are_masked(journal):
    masker = Masker()
    masker.add("inputs.token", "s3cr3t-value")
    heard = []
    run = await journal.create(record(), DEFINITION, masker)
    run.listen(heard.append)
    run.emit(LogLine(message="it is s3cr3t-value"))
    await run.step("a", work("it is s3cr3t-value"))
    await run.release()
    assert heard[0].event.message == "it is ***"
    again = await journal.adopt("r1", masker)
    assert again.recorded("a").output == "it is s3cr3t-value"


@pytest.mark.race
async def test_many_steps_at_once_are_all_kept(journal):
    run = await journal.create(record(), DEFINITION, Masker())
    heard = []
    run.listen(heard.append)
    await asyncio.gather(*(run.step(f"p/{n}", work(str(n))) for n in range(300)))
    assert [s.seq for s in heard] == list(range(1, 301))
    assert all(run.recorded(f"p/{n}").output == str(n) for n in range(300))
