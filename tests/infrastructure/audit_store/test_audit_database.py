"""What cannot be used is refused when it is opened, with a code."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from awf.domain.errors import AwfError

pytestmark = pytest.mark.anyio


def refused(bench, **options):
    with pytest.raises(AwfError) as error:
        bench.open(**options)
    assert error.value.hint
    return error.value


def test_a_database_of_a_newer_version_is_left_alone(bench):
    bench.open().close_now()
    bench.alter("PRAGMA user_version = 99")
    assert refused(bench).code == "SYSTEM.STORE.NEWER"


def test_what_is_no_database_is_refused(bench):
    bench.folder.mkdir()
    (bench.folder / "audit.db").write_text("hello " * 1000, encoding="utf-8")
    error = refused(bench)
    assert error.code == "SYSTEM.AUDIT.UNAVAILABLE"
    assert "not a database" in error.message
    assert error.hint == "Restore audit.db from a copy; or remove the whole folder, to begin a new log."
    assert (bench.folder / "audit.db").read_text(encoding="utf-8").startswith("hello")


def test_a_way_through_a_file_is_refused(bench, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert refused(bench, folder=tmp_path / "file" / "audit").code == "SYSTEM.AUDIT.UNAVAILABLE"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_folder_that_is_read_only_is_refused(bench):
    bench.folder.mkdir()
    bench.folder.chmod(0o500)
    assert "not writable" in refused(bench).message
    bench.folder.chmod(0o700)


def test_a_log_that_was_taken_away_is_not_begun_anew(bench):
    bench.open().close_now()
    (bench.folder / "audit.db").unlink()
    error = refused(bench)
    assert error.code == "SYSTEM.AUDIT.UNAVAILABLE"
    assert "gone" in error.message
    assert not (bench.folder / "audit.db").exists()


def test_a_key_that_is_damaged_is_refused(bench):
    bench.open().close_now()
    (bench.folder / "head.key").write_bytes(b"short")
    assert "key is damaged" in refused(bench).message


@pytest.mark.parametrize("name", ["head.key", "signing.key"])
def test_a_key_that_is_gone_is_not_made_anew(bench, told, name):
    log = bench.open()
    log.record(told())
    log.close_now()
    (bench.folder / name).unlink()
    assert name in refused(bench).message
    assert not (bench.folder / name).exists()
    (bench.folder / "audit.db").unlink()
    assert "keys are still there" in refused(bench).message


async def test_a_log_that_took_the_place_of_another_one_is_written_with_its_own_keys(bench, told):
    running = bench.open()
    running.record(told(reason="old"))
    await running.records(limit=1)
    for file in bench.folder.iterdir():
        if not file.name.endswith(".spill"):
            file.unlink()
    other = bench.open()
    other.record(told(reason="new"))
    await other.records(limit=1)
    running.record(told(reason="from the one that runs"))
    await running.records(limit=1)
    report = await bench.open().verify()
    assert report.is_sound, report.flaws


def test_the_folder_above_is_made_and_the_log_keeps_its_name(bench):
    first = bench.open()
    assert first.origin.startswith("awf-audit/")
    assert bench.open().origin == first.origin
    assert bench.open(folder=bench.folder / "other").origin != first.origin


OPEN = """
import sys
from awf.infrastructure.audit_store import SqliteAudit
log = SqliteAudit(sys.argv[1])
print(log.origin, log.public_key, log._database.keys.mac(1, "x"))
log.close_now()
"""


def test_processes_that_begin_a_log_at_once_begin_the_same_one(bench):
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(bench.folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=60)[0] for process in running}
    assert len(answers) == 1
    assert "awf-audit/" in answers.pop()


async def test_a_record_that_cannot_be_read_is_a_coded_error(bench, told):
    log = bench.open()
    log.record(told())
    await log.records()
    with sqlite3.connect(bench.folder / "audit.db") as connection:
        connection.execute("UPDATE records SET entry = '{}'")
    connection.close()
    with pytest.raises(AwfError) as error:
        await log.records()
    assert error.value.code == "EXECUTION.AUDIT.BROKEN"
    assert "Record 1" in error.value.message
