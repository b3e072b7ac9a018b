"""A run store that cannot be used, fills up, or was written by somebody else. What had been finished stays finished."""

from __future__ import annotations

import os
import shutil
import sqlite3

import pytest

pytestmark = pytest.mark.journey

UNAVAILABLE, FULL = "SYSTEM.STORE.UNAVAILABLE", "SYSTEM.STORE.WRITE_FAILED"
COMMANDS = (
    ["run", "./x.yaml"],
    ["history"],
    ["status", "last"],
    ["show", "last"],
    ["logs", "last"],
    ["resume", "last"],
)


def everywhere(journey, code: str) -> None:
    """Every command that needs the store says the same, in words and for programs, and starts nothing."""
    journey.steps("x", "echo a >> trace")
    for command in COMMANDS:
        journey.awf(*command).one_error(code)
    assert journey.awf("history", "-o", "json").json()["error"]["code"] == code
    assert journey.awf("run", "./x.yaml", "-o", "json").json()["error"]["code"] == code
    assert journey.trace() == []


def test_a_storage_path_that_is_a_file_is_told(journey):
    journey.storage.write_text("mine")
    everywhere(journey, UNAVAILABLE)
    assert journey.storage.read_text() == "mine"


def test_a_storage_path_below_a_file_is_told(journey):
    journey.write("file", "mine")
    journey.environment["AWF_STORAGE"] = str(journey.project / "file" / "runs")
    everywhere(journey, UNAVAILABLE)


def test_a_read_only_storage_is_told(journey, small_disk):
    journey.environment["AWF_STORAGE"] = str(small_disk("1m", read_only=True))
    everywhere(journey, UNAVAILABLE)


def test_a_read_only_place_for_a_new_storage_is_told(journey, small_disk):
    journey.environment["AWF_STORAGE"] = str(small_disk("1m", read_only=True) / "runs")
    everywhere(journey, UNAVAILABLE)


def test_a_database_that_is_none_is_left_alone(journey):
    journey.storage.mkdir()
    rubbish = os.urandom(8192)
    (journey.storage / "awf.db").write_bytes(rubbish)
    everywhere(journey, UNAVAILABLE)
    assert (journey.storage / "awf.db").read_bytes() == rubbish


def test_a_damaged_database_is_told(journey):
    journey.awf("run", journey.steps("x", "true")).succeeded()
    database = journey.storage / "awf.db"
    head = database.read_bytes()[:4096]
    database.write_bytes(head + os.urandom(database.stat().st_size - len(head)))
    for command in (["history"], ["status", "last"], ["resume", "last"]):
        journey.awf(*command).one_error(UNAVAILABLE)
    journey.awf("run", "./x.yaml").one_error(FULL)


def test_a_database_of_a_newer_version_is_left_alone(journey):
    journey.storage.mkdir()
    with sqlite3.connect(journey.storage / "awf.db") as database:
        database.execute("PRAGMA user_version=99")
        database.execute("CREATE TABLE of_tomorrow (x)")
    database.close()
    before = (journey.storage / "awf.db").read_bytes()
    everywhere(journey, "SYSTEM.STORE.NEWER")
    assert (journey.storage / "awf.db").read_bytes() == before


def test_the_storage_option_wins_over_the_environment(journey):
    journey.storage.write_text("unusable")
    elsewhere = str(journey.root / "elsewhere")
    journey.awf("run", journey.steps("x", "true"), "--storage", elsewhere).succeeded()
    (run,) = journey.awf("history", "--storage", elsewhere, "-o", "json").succeeded().json()
    assert run["status"] == "completed"


# -- a full disk -------------------------------------------------------------------------------------------------------

FILL = "head -c 100m /dev/zero > $AWF_STORAGE/ballast 2>/dev/null; echo fill >> trace"


@pytest.fixture
def full_disk(journey, small_disk):
    """The run store lies on a small disk, and a workflow fills it in its second step."""
    disk = small_disk("2m")
    journey.environment["AWF_STORAGE"] = str(disk)
    fill = f"if ! test -e enough; then {FILL}; fi; echo b >> trace"
    journey.steps("x", "echo a >> trace", fill, "echo c >> trace", "echo d >> trace")
    return disk


def make_room(journey, disk) -> None:
    (disk / "ballast").unlink()
    journey.touch("enough")


def test_a_full_disk_stops_the_run_and_keeps_what_was_finished(journey, full_disk):
    told = journey.awf("run", "./x.yaml").one_error(FULL)
    assert told.stderr.count(FULL) == 2, "once as the code, once in the command that explains it"
    assert journey.trace() == ["a", "fill", "b"], "nothing new is begun once the store is full"
    (run,) = journey.history()
    assert run["status"] == "interrupted"
    assert f"awf resume {run['id']}" in told.stderr
    assert [step["path"] for step in journey.awf("show", run["id"], "-o", "json").json()["steps"]] == ["a"]


def test_a_run_that_ran_out_of_disk_is_resumed_once_there_is_room(journey, full_disk):
    journey.awf("run", "./x.yaml").one_error(FULL)
    make_room(journey, full_disk)
    told = journey.awf("resume", "last").succeeded()
    assert told.stdout == "all done\n"
    assert journey.trace() == ["a", "fill", "b", "b", "c", "d"], (
        "the step that could not be recorded runs again, no other"
    )
    assert [run["status"] for run in journey.history()] == ["completed"]


def test_a_full_disk_is_one_json_document(journey, full_disk):
    told = journey.awf("run", "./x.yaml", "-o", "json")
    assert told.status == 4
    assert told.json()["error"]["code"] == FULL
    told = journey.awf("run", "./x.yaml", "-o", "json")
    assert told.status == 4
    assert told.json()["error"]["code"] in {FULL, UNAVAILABLE}


def test_a_run_that_cannot_even_begin_leaves_no_folder(journey, full_disk):
    journey.awf("run", "./x.yaml").one_error(FULL)
    before = sorted(path.name for path in (full_disk / "runs").iterdir())
    told = journey.awf("run", "./x.yaml")
    assert told.status == 4, told.stderr
    assert sorted(path.name for path in (full_disk / "runs").iterdir()) == before


def test_a_command_that_prints_more_than_fits_stops_and_is_tried_again(journey, small_disk):
    disk = small_disk("3m")
    journey.environment["AWF_STORAGE"] = str(disk)
    flood = "if test -e enough; then echo little; else yes 0123456789abcdef; fi; echo b >> trace"
    journey.steps("x", "echo a >> trace", flood, "echo c >> trace")
    told = journey.awf("run", "./x.yaml")
    assert told.status == 4
    assert "Traceback" not in told.stderr
    assert journey.commands() == []
    assert journey.trace() == ["a"], "the flood was ended, not read to an end that never comes"
    for file in (disk / "runs").glob("*/b.*"):
        file.unlink()
    journey.touch("enough")
    journey.awf("resume", "last").succeeded()
    assert journey.trace() == ["a", "b", "c"]


def test_a_storage_that_is_taken_away_stops_the_run(journey, until):
    journey.steps("x", "echo a >> trace; until test -e go; do sleep 0.02; done", "echo b >> trace")
    running = journey.start("run", "./x.yaml")
    until(journey.trace)
    shutil.rmtree(journey.storage)
    journey.touch("go")
    told = running.wait()
    assert "Traceback" not in told.stderr
    assert told.status in {0, 4}, told.stderr


def test_a_store_that_another_program_holds_for_a_while_is_waited_for(journey, until):
    journey.steps("x", "echo a >> trace; until test -e go; do sleep 0.02; done", "echo b >> trace")
    running = journey.start("run", "./x.yaml")
    until(journey.trace)
    holder = sqlite3.connect(journey.storage / "awf.db", isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        journey.touch("go")
        until(lambda: journey.commands() == [], "the end of the first command")
        looking = journey.awf("status", "last").succeeded()
        assert "running" in looking.stdout
        assert journey.trace() == ["a"], "nothing goes on before the first step is safe"
        holder.execute("ROLLBACK")
    finally:
        holder.close()
    assert running.wait().status == 0
    assert journey.trace() == ["a", "b"]
