"""A process that merges: what it does, and what happens when it does not."""

from __future__ import annotations

import logging
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from awf.domain.gate_file import Audit
from awf.infrastructure.audit_store import aside as module
from awf.infrastructure.audit_store import audit as audit_module
from awf.infrastructure.audit_store.aside import AsideCommand, aside_command
from awf.infrastructure.audit_store.database import Database
from awf.infrastructure.audit_store.merging import Merger
from awf.testing.descendants import processes_below

pytestmark = pytest.mark.anyio
ASIDE = aside_command(os.environ)
HURRIED = ASIDE._replace(
    argv=(
        sys.executable,
        "-c",
        "from awf.infrastructure.audit_store import aside_worker as it; it._SOON_SECONDS = 0; it.main()",
    )
)  # it merges at once, so that many merges fall between two entries
PATIENCE = 60.0


def until(check, what="this"):
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)
    return found


def seen(bench):
    """What is in the database, for somebody who merges nothing."""
    connection = sqlite3.connect(bench.folder / "audit.db")
    try:
        rows = connection.execute("SELECT json_extract(entry, '$.reason') FROM records ORDER BY sequence")
        return [reason for (reason,) in rows]
    finally:
        connection.close()


def worker(log):
    """The process at its side, once it is there."""
    return psutil.Process(until(lambda: log._aside._running, "the process").process.pid)


def is_gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def warnings_in(caplog):
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


@pytest.fixture
def log(bench):
    return bench.open(aside=ASIDE)


def opened_hurried(bench):
    """With a process that is there already."""
    made = bench.open(aside=HURRIED)
    assert made._aside.merged([], Audit()) is not None
    return made


@pytest.fixture
def hurried(bench):
    return opened_hurried(bench)


# -- merging ---------------------------------------------------------------------------------------------------------


def test_it_merges_although_nobody_reads(log, bench, told, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(log, "_merged_quietly", None)
        for number in range(50):
            log.record(told(reason=f"{number}"))
        until(lambda: len(seen(bench)) == 50, "the records")
        until(lambda: log._waiting == 0, "word of it")
        first = worker(log)
        log.record(told(reason="later"))
        until(lambda: seen(bench)[-1] == "later", "the last one")
        assert worker(log).pid == first.pid
    assert seen(bench) == [*map(str, range(50)), "later"]


async def test_plain_calls_and_their_effects_come_into_the_chain(hurried, bench, told):
    log = hurried
    form = log.form(told("decision", tool_id="kb:get", decision="allow", reason="r"))
    for number in range(20):
        decision = form.decision(5.25, f"tool-{number}", "ab" * 32)
        log.add([decision])
        if number == 10:
            until(lambda: "r" in seen(bench), "a decision without its effect")
        log.add([form.call(decision, 6.5, 1250, "cd" * 32)])
    assert await log.open_calls() == frozenset()
    records = await log.records()
    assert len({one.entry.request_id for one in records}) == 20
    assert (await log.verify()).is_sound


def test_full_spill_files_are_let_go_and_what_waits_is_counted_right(log, bench, told, monkeypatch):
    monkeypatch.setattr(audit_module, "_ROOMS", (500,))
    monkeypatch.setattr(log, "_limit", 4000)
    for number in range(100):
        until(lambda: log._waiting < 3000, "room")
        log.record(told(reason=f"{number}"))
    until(lambda: len(seen(bench)) == 100 and log._waiting == 0, "all of them")
    assert len(log._spills) == 1
    log.record(told(reason="last"))
    until(lambda: len(bench.spills()) == 1, "the end of merged files")


async def test_what_somebody_cuts_off_before_it_is_merged_is_told_by_its_writer(bench, told, caplog):
    log = opened_hurried(bench)
    with caplog.at_level(logging.ERROR, "awf"), bench.sql() as other:
        other.execute("BEGIN IMMEDIATE")  # nobody merges meanwhile
        log.record(told(reason="lost"))
        (name,) = bench.spills()
        os.truncate(bench.folder / name, 0)
        other.execute("ROLLBACK")
        until(lambda: seen(bench) == [None], "word of the loss")
        until(lambda: log._waiting == 0, "nothing that waits")
    (record,) = await log.records()
    assert record.entry.kind == "audit_gap"
    assert record.entry.details["cause"] == "entries lost"
    assert any("entries lost" in one and name in one for one in warnings_in(caplog))
    log.record(told(reason="goes on"))
    assert [one.entry.reason for one in await log.records()] == ["", "goes on"]
    assert [flaw.kind for flaw in (await log.verify()).flaws] == ["missing"]


async def test_a_reader_here_and_the_process_merge_the_same_files(hurried, told):
    log = hurried
    for number in range(200):
        log.record(told(reason=f"{number}"))
        if number % 10 == 0:
            assert len(await log.records()) == number + 1
            assert all(0 <= spill.merged <= spill.size for spill in log._spills)
    assert [one.entry.reason for one in await log.records()] == [f"{number}" for number in range(200)]
    assert (await log.verify()).is_sound


@pytest.mark.race
async def test_many_threads_a_reader_and_the_process_at_once(bench, told):
    log = opened_hurried(bench)

    def write(name):
        for number in range(200):
            log.record(told(reason=f"{name}-{number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await log.records(limit=1)
    assert log._aside._running is not None
    reasons = [one.entry.reason for one in await log.records()]
    assert len(reasons) == 600
    for name in "abc":
        assert [one for one in reasons if one[0] == name] == [f"{name}-{number}" for number in range(200)]
    assert (await log.verify()).is_sound
    await log.close()


# -- settings --------------------------------------------------------------------------------------------------------


def checkpoints(bench):
    with bench.sql() as connection:
        return [size for (size,) in connection.execute("SELECT size FROM checkpoints ORDER BY size")]


def test_settings_count_also_when_they_are_changed_before_and_after_it_is_started(
    log, bench, told, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    log.follow(Audit(checkpoint_records=1, checkpoint_every=3600, witness="witness"))
    log.record(told())
    until(lambda: checkpoints(bench) == [1], "a checkpoint")
    witness = tmp_path / "witness"
    until(lambda: witness.exists() and witness.read_text().count("\n") == 1, "its witness")
    until(lambda: log._waiting == 0, "the answer")
    log.follow(Audit(checkpoint_records=3, checkpoint_every=3600))
    for size in (2, 3, 4):
        assert checkpoints(bench) == [1]
        log.record(told())
        until(lambda size=size: len(seen(bench)) == size and log._waiting == 0, "a record")
    assert checkpoints(bench) == [1, 4]
    assert witness.read_text().count("\n") == 1


def test_a_checkpoint_that_is_due_is_signed_although_nothing_more_is_recorded(bench, told):
    log = bench.open(aside=ASIDE, settings=Audit(checkpoint_records=1000, checkpoint_every=0.5))
    log.record(told())
    until(lambda: checkpoints(bench) == [1], "a checkpoint")


@pytest.mark.parametrize("aside", [ASIDE, None], ids=["process", "thread"])
def test_a_time_that_never_comes_stops_nobody(bench, told, caplog, aside):
    settings = Audit(checkpoint_records=2**70, checkpoint_every=math.inf)
    log = bench.open(aside=aside, settings=settings)
    for number in (1, 2):
        log.record(told())
        until(lambda number=number: len(seen(bench)) == number and log._waiting == 0, "a record")
    assert checkpoints(bench) == []
    assert warnings_in(caplog) == []


def test_what_it_has_to_say_is_logged_here(log, bench, told, tmp_path, caplog):
    log.follow(Audit(checkpoint_records=1, witness=str(tmp_path / "nowhere" / "witness")))
    log.record(told())
    until(lambda: warnings_in(caplog), "a warning")
    log.record(told())
    until(lambda: checkpoints(bench)[-1:] == [2] and log._waiting == 0, "the next")
    (said,) = warnings_in(caplog)
    assert "witness file" in said
    assert "nowhere" in said


# -- trouble ---------------------------------------------------------------------------------------------------------


async def test_when_it_is_killed_this_process_merges_until_there_is_another(
    log, bench, told, caplog, monkeypatch
):
    log.record(told(reason="one"))
    first = worker(log)
    until(lambda: seen(bench) == ["one"], "the first")
    first.kill()
    log.record(told(reason="two"))
    until(lambda: seen(bench) == ["one", "two"], "the second")
    log.record(told(reason="three"))
    until(lambda: seen(bench) == ["one", "two", "three"], "the third")
    (said,) = warnings_in(caplog)
    assert "has ended; until it works again, this one merges" in said
    assert log._aside._running is None
    monkeypatch.setattr(log._aside, "_not_before", 0.0)
    log.record(told(reason="four"))
    second = worker(log)
    assert second.pid != first.pid
    assert [one.entry.reason for one in await log.records()] == ["one", "two", "three", "four"]
    assert (await log.verify()).is_sound


async def test_killed_again_and_again_while_it_merges_nothing_is_lost_or_doubled(
    hurried, bench, told, monkeypatch
):
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.0)
    log = hurried
    recorded = 0
    for _ in range(5):
        running = None
        while running is None:
            log.record(told(reason=f"{recorded}"))
            recorded += 1
            running = log._aside._running
        for _ in range(300):
            log.record(told(reason=f"{recorded}"))
            recorded += 1
        running.process.kill()
    until(lambda: len(seen(bench)) >= recorded, "all of it, although nobody asks")
    assert [one.entry.reason for one in await log.records(limit=10**6)] == [*map(str, range(recorded))]
    assert (await log.verify()).is_sound


def test_one_that_does_not_answer_is_killed(log, bench, told, caplog, monkeypatch):
    log.record(told(reason="one"))
    stuck = worker(log)
    until(lambda: seen(bench) == ["one"] and log._waiting == 0, "the first")
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.1)
    stuck.suspend()
    log.record(told(reason="two"))
    until(lambda: seen(bench) == ["one", "two"], "the second")
    assert is_gone(stuck)
    assert "does not answer" in warnings_in(caplog)[0]


def test_closing_does_not_wait_for_one_that_is_stuck(log, bench, told, monkeypatch):
    log.record(told(reason="one"))
    stuck = worker(log)
    until(lambda: seen(bench) == ["one"] and log._waiting == 0, "the first")
    monkeypatch.setattr(audit_module, "_GRACE_SECONDS", 0.1)
    stuck.suspend()
    log.record(told(reason="two"))
    until(lambda: log._pending == 0, "the question")
    log.close_now()
    assert is_gone(stuck)
    assert seen(bench) == ["one", "two"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("/no/such/program",), "cannot be started"),
        ((sys.executable, "-c", "raise ImportError('nothing here')"), "has ended: ImportError: nothing here"),
        ((sys.executable, "-c", "pass"), "has ended"),
    ],
    ids=["missing", "broken", "leaving"],
)
def test_where_it_does_not_work_this_process_merges_and_says_so_once(
    bench, told, caplog, monkeypatch, argv, said
):
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.0)
    log = bench.open(aside=AsideCommand(argv, {}))
    for number in range(3):
        log.record(told(reason=f"{number}"))
        until(lambda number=number: len(seen(bench)) == number + 1, "a record")
    log.close_now()
    (text,) = warnings_in(caplog)
    assert said in text


NOISY = (
    "import sys, runpy; print('odd', file=sys.stderr, flush=True); "
    "runpy.run_module('awf.infrastructure.audit_store.aside_worker', run_name='__main__')"
)


def test_what_else_it_says_is_not_lost(bench, told, caplog):
    log = bench.open(aside=AsideCommand((sys.executable, "-c", NOISY), ASIDE.environment))
    log.record(told(reason="one"))
    until(lambda: seen(bench) == ["one"] and log._waiting == 0, "the record")
    assert warnings_in(caplog) == ["The process that merges the audit says: odd"]
    assert log._aside._running is not None


async def test_a_spill_file_that_somebody_removes_is_merged_here(log, bench, told):
    log.record(told("decision", request_id="r1", decision="allow", reason="one"))
    until(lambda: seen(bench) == ["one"] and log._waiting == 0, "the first")
    (first,) = bench.spills()
    with log._writing:  # so that both are in the file that is gone
        (bench.folder / first).unlink()
        log._pending = 1
    log.record(told(reason="two"))
    log._awake()
    until(lambda: seen(bench) == ["one", "two"], "what was in it")
    log.record(told(reason="three"))
    until(lambda: seen(bench) == ["one", "two", "three"], "what came afterwards")
    assert await log.open_calls() == {1}, "the writer lives"
    assert [one.entry.reason for one in await log.records()] == ["one", "two", "three"]


def test_a_database_that_cannot_be_written_is_told_once_and_entries_come_in_later(
    log, bench, told, caplog, monkeypatch
):
    monkeypatch.setattr(audit_module, "_RETRY_SECONDS", 0.05)
    log.record(told(reason="one"))
    until(lambda: seen(bench) == ["one"] and log._waiting == 0, "the first")
    running = worker(log)
    copy = bench.copy("elsewhere")
    for file in bench.folder.glob("audit.db*"):
        file.unlink()
    log.record(told(reason="two"))
    until(lambda: warnings_in(caplog), "an error")
    log.record(told(reason="three"))
    (bench.folder / "audit.db").write_bytes((copy / "audit.db").read_bytes())
    until(lambda: seen(bench) == ["one", "two", "three"], "what waited")
    (said,) = warnings_in(caplog)
    assert "entries wait in the spill" in said
    assert "it is gone" in said
    assert worker(log).pid == running.pid


def test_a_log_that_was_taken_away_before_it_was_started_is_not_begun_anew(log, bench, told, caplog):
    away = bench.folder.with_name("away")
    log.record(told(reason="one"))
    os.rename(bench.folder, away)
    until(lambda: warnings_in(caplog), "an error")
    assert not bench.folder.exists()
    os.rename(away, bench.folder)
    until(lambda: seen(bench) == ["one"], "what waited")


# -- the process -----------------------------------------------------------------------------------------------------


def test_signals_of_a_terminal_are_not_for_it_and_it_leaves_in_order_when_told_to(log, bench, told, caplog):
    log.record(told(reason="one"))
    running = worker(log)
    until(lambda: seen(bench) == ["one"] and log._waiting == 0, "the first")
    assert os.getsid(running.pid) != os.getsid(0)
    for number in (signal.SIGINT, signal.SIGHUP):
        running.send_signal(number)
    log.record(told(reason="two"))
    until(lambda: seen(bench) == ["one", "two"] and log._waiting == 0, "the second")
    assert not is_gone(running)
    running.send_signal(signal.SIGTERM)
    until(lambda: is_gone(running), "its end")
    log.record(told(reason="three"))
    until(lambda: seen(bench) == ["one", "two", "three"], "the third")
    assert warnings_in(caplog) == []


def test_it_gives_way_to_calls(hurried):
    process = worker(hurried)
    assert process.nice() > psutil.Process().nice()
    group = Path(f"/proc/{process.pid}/autogroup")
    if group.exists():  # then that of its session counts
        assert not group.read_text("ascii").rstrip().endswith(" nice 0")


def test_nothing_is_left_of_it_when_the_log_is_closed(bench, told):
    before = {one.pid for one in processes_below()}
    log = bench.open(aside=ASIDE)
    log.record(told(reason="one"))
    running = worker(log)
    until(lambda: seen(bench) == ["one"], "a record")
    log.record(told(reason="two"))
    log.close_now()
    log.close_now()
    assert not running.is_running()
    assert {one.pid for one in processes_below()} <= before
    assert seen(bench) == ["one", "two"]
    assert bench.spills() == []


def test_a_log_that_is_closed_while_it_starts_leaves_nothing(bench, told):
    before = {one.pid for one in processes_below()}
    for _ in range(3):
        log = bench.open(aside=ASIDE)
        log.record(told())
        worker(log)
        log.close_now()
        assert {one.pid for one in processes_below()} <= before
    assert len(seen(bench)) == 3


async def test_who_records_nothing_starts_nothing(log):
    assert await log.records() == []
    assert (await log.verify()).is_sound
    await log.close()
    assert log._aside._running is None


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_it_gets_no_secrets_and_no_descriptors(bench, told):
    read, write = os.pipe()
    os.set_inheritable(read, True)
    secretive = {**os.environ, "API_KEY": "hush", "AWF_DATABASE_URL": "postgresql://u:hush@h/d"}
    try:
        log = bench.open(aside=aside_command(secretive))
        log.record(told(reason="one"))
        running = worker(log)
        until(lambda: seen(bench) == ["one"] and log._waiting == 0, "a record")
        assert "hush" not in str(running.environ())
        assert running.cwd() == "/"
        folder = f"/proc/{running.pid}/fd"
        held = {int(one): os.readlink(f"{folder}/{one}") for one in os.listdir(folder)}
        assert os.readlink(f"/proc/self/fd/{read}") not in held.values()
        for number, target in held.items():
            assert target.startswith("pipe:" if number <= 2 else str(bench.folder))
    finally:
        os.close(read)
        os.close(write)


def test_it_starts_without_what_only_others_need():
    code = (
        "import sys, awf.infrastructure.audit_store.aside_worker;"
        "print({'asyncio', 'click', 'subprocess', 'cryptography', 'socket', 'ssl'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr


PARENT = r"""
import os, sys, signal, time
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit
from awf.infrastructure.audit_store.aside import aside_command
log = SqliteAudit(sys.argv[1], aside=aside_command(os.environ))
log.record(AuditEntry(kind="decision", created_at=1.5, request_id="r", decision="allow", reason="0"))
while log._aside._running is None or not log._spill.merged:
    time.sleep(0.01)
for number in range(1, 500):
    log.record(AuditEntry(kind="configuration", created_at=1.5, reason=str(number)))
print(log._aside._running.process.pid, flush=True)
"""
KILLED = PARENT + "os.kill(os.getpid(), signal.SIGKILL)"
FORKED = (
    PARENT
    + r"""
import warnings
warnings.simplefilter("ignore")
if os.fork() == 0:
    log._aside.close()
    assert log._aside._running is None
    os._exit(0)
assert os.wait()[1] == 0
running = log._aside._running
log.record(AuditEntry(kind="configuration", created_at=1.5, reason="500"))
while log._waiting:
    time.sleep(0.01)
assert log._aside._running is running and running.process.poll() is None
if os.fork() == 0:
    time.sleep(600)
os.kill(os.getpid(), signal.SIGKILL)
"""
)


def started(code, bench):
    with subprocess.Popen(
        [sys.executable, "-c", code, str(bench.folder)], stdout=subprocess.PIPE, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        line = parent.stdout.readline()
        return int(line), parent


async def test_when_the_writer_is_killed_it_merges_what_is_left_and_goes(bench):
    pid, parent = started(KILLED, bench)
    assert parent.returncode == -signal.SIGKILL
    until(lambda: not psutil.pid_exists(pid) or is_gone(psutil.Process(pid)), "its end")
    assert seen(bench)[:500] == [f"{number}" for number in range(500)]
    log = bench.open()
    records = await log.records()
    assert [one.entry.reason for one in records if one.entry.kind != "effect"] == [*map(str, range(500))]
    assert [one.entry.details for one in records if one.entry.kind == "effect"] == [{"outcome": "unknown"}]
    assert (await log.verify()).is_sound
    assert bench.spills() == []


ALONE = r"""
import os, sys, signal
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit
log = SqliteAudit(sys.argv[1])
log.record(AuditEntry(kind="decision", created_at=1.5, request_id="r", decision="allow"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_counts_as_one_although_it_was_named_as_one_that_writes(bench):
    """Else its call stays open for as long as nobody records anything."""
    done = subprocess.run([sys.executable, "-c", ALONE, str(bench.folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    database, held = Database(str(bench.folder), is_begun=True), bench.spills()
    merger = Merger(database, tuple, time.time, lambda: held)
    try:
        while not merger.is_idle():
            merger.run(lambda *_: None, thorough=False)
        assert database.connection.execute("SELECT count(*) FROM open_calls").fetchone() == (0,)
        assert bench.spills() == []
    finally:
        database.close()


def test_a_fork_of_the_writer_neither_ends_it_nor_keeps_it_alive(bench):
    pid, parent = started(FORKED, bench)
    try:
        assert parent.returncode == -signal.SIGKILL
        until(lambda: not psutil.pid_exists(pid) or is_gone(psutil.Process(pid)), "its end")
        assert seen(bench)[:501] == [f"{number}" for number in range(501)]
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
