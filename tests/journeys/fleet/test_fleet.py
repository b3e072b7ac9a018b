"""Workers over one database: runs handed to them, watched, answered, stopped, and taken over when a worker dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from awf.testing.acp_editor import ZED, ScriptedEditor
from awf.testing.acp_wire import WireChecker

pytestmark = pytest.mark.journey

WAIT = "echo b >> trace; until test -e go; do sleep 0.02; done; echo end of b"


def submitted(fleet, *arguments):
    return fleet.awf("run", "--submit", *arguments).succeeded().stdout.strip()


def plain(events):
    """Events without what must differ: whose they are, and when."""
    changing = {"run_id", "time", "duration_ms"}
    return [{key: value for key, value in event.items() if key not in changing} for event in events]


def test_a_run_is_the_same_run_here_and_at_a_worker(fleet):
    fleet.worker()
    fleet.steps(
        "x",
        "echo out; echo err >&2",
        "exit 0",
        {"command": "echo {{ states.a.output }} {{ inputs.who }}"},
        inputs=[{"name": "who", "type": "string"}],
    )
    here = fleet.awf("run", "./x.yaml", "-i", "who=me", "-o", "ndjson").succeeded()
    there = fleet.awf("run", "./x.yaml", "-i", "who=me", "-o", "ndjson", "--submit", "--follow").succeeded()
    assert plain(there.events()) == plain(here.events())
    assert [event["seq"] for event in there.events()] == list(range(1, len(there.events()) + 1))
    quiet = fleet.awf("run", "./x.yaml", "-i", "who=me", "--submit", "--follow", "-o", "quiet").succeeded()
    assert quiet.stdout == fleet.awf("run", "./x.yaml", "-i", "who=me", "-o", "quiet").stdout


async def test_the_same_workflow_here_at_a_worker_and_from_the_editor(fleet, until):
    workflow = {
        "initial": "a",
        "a": {"type": "step", "command": "echo one; echo two >&2", "on_success": "both"},
        "both": {"type": "parallel", "parallel": ["l", "r"], "max_concurrent": 1, "on_success": "done"},
        "l": {"type": "step", "command": "echo left"},
        "r": {"type": "step", "command": "echo right of {{ states.a.output }}"},
        "done": {"type": "terminal", "message": "all done"},
    }
    fleet.workflow(".awf/workflows/x", workflow, outputs={"said": "{{ states.a.output }}"})
    fleet.worker()
    here = fleet.awf("run", "x", "-o", "ndjson").succeeded().events()
    there = fleet.awf("run", "x", "-o", "ndjson", "--submit", "--follow").succeeded().events()
    editor = await ScriptedEditor.start(
        [sys.executable, "-m", "awf", "acp-serve"],
        cwd=fleet.project,
        env=fleet.environment,
        checker=WireChecker(Path(__file__).parents[2] / "protocols" / "acp"),
        patience=200.0,
    )
    async with editor:
        await editor.initialize(ZED)
        await editor.prompt(await editor.new_session(fleet.project), "/x")
    (edited,) = {run["id"] for run in fleet.history()} - {here[0]["run_id"], there[0]["run_id"]}
    edited = fleet.awf("logs", edited, "-o", "ndjson").succeeded().events()
    assert plain(there) == plain(here)
    assert plain(edited) == plain(here)
    assert fleet.run_record(edited[0]["run_id"])["outputs"] == {"said": "one"}


def test_a_failing_run_has_its_exit_status_also_from_afar(fleet):
    fleet.worker()
    fleet.steps("x", "exit 4")
    told = fleet.awf("run", "./x.yaml", "--submit", "--follow")
    assert told.status == 3
    assert "EXECUTION.COMMAND.FAILED" in told.stderr


def test_a_submitted_run_waits_for_a_worker_and_can_be_cancelled_meanwhile(fleet):
    fleet.steps("x", "echo a >> trace")
    first, second = submitted(fleet, "./x.yaml"), submitted(fleet, "./x.yaml", "-o", "json")
    second = json.loads(second)["run_id"]
    assert [run["status"] for run in fleet.history()] == ["queued", "queued"]
    assert "queued" in fleet.awf("status", first).succeeded().stdout
    fleet.awf("cancel", first).succeeded()
    fleet.worker()
    fleet.ended(second)
    assert fleet.status_of(first) == "cancelled"
    assert fleet.trace() == ["a"]


def test_what_a_killed_worker_left_is_finished_by_another_and_nothing_finished_runs_again(fleet, until):
    fleet.steps("x", "echo a >> trace", WAIT, "echo c >> trace")
    doomed = fleet.worker("--concurrency", "10")
    runs = [submitted(fleet, "./x.yaml") for _ in range(4)]
    until(lambda: fleet.trace().count("b") == 4, "four runs at work")
    following = fleet.start("logs", "-f", runs[0], "-o", "ndjson")
    doomed.send(signal.SIGKILL)
    doomed.wait()
    until(lambda: not fleet.commands(), "the end of its commands")
    fleet.worker("--concurrency", "10")
    until(lambda: fleet.trace().count("b") == 8, "four runs taken over")
    fleet.touch("go")
    for run in runs:
        fleet.ended(run)
    assert following.wait().status == 0
    assert [event["type"] for event in following.events()].count("workflow.resumed") == 1
    assert sorted(fleet.trace()) == ["a"] * 4 + ["b"] * 8 + ["c"] * 4


def test_clocks_that_are_wrong_take_no_run_from_a_living_worker_and_show_in_no_time(fleet, until, tmp_path):
    begun = time.time()
    fleet.steps("x", "echo a >> trace", WAIT, "echo c >> trace")
    workers = []
    for skew, tag in ((-7200, "early"), (7200, "late")):
        with_wrong_clock(fleet, tmp_path / tag, skew)
        assert ("ahead of" if skew < 0 else "behind") in fleet.awf("doctor").stdout
        workers.append(fleet.worker("--concurrency", "4", "--tags", tag))
        runs = [submitted(fleet, "./x.yaml", "--tag", tag) for _ in range(2)]  # by a wrong clock, too
        until(lambda: fleet.trace().count("b") == 2 * len(workers), "runs at work")
    assert "running for 2h" not in fleet.awf("status", runs[0]).succeeded().stdout
    assert len(fleet.awf("history", "--since", "30m", "-o", "json").json()) == 4
    workers.pop(0).send(signal.SIGKILL)
    with_wrong_clock(fleet, tmp_path / "another", 90000)
    workers.append(fleet.worker("--tags", "early"))
    until(lambda: fleet.trace().count("b") == 6, "two runs taken over, and only these")
    del fleet.environment["PYTHONPATH"]
    fleet.touch("go")
    for run in fleet.history():
        fleet.ended(run["id"])
    assert sorted(fleet.trace()) == ["a"] * 4 + ["b"] * 6 + ["c"] * 4
    for run in fleet.history():
        times = [event["time"] for event in fleet.awf("logs", run["id"], "-o", "ndjson").events()]
        for moment in (run["started_at"], run["finished_at"], *map(seconds, times)):
            assert begun - 600 < moment < time.time() + 600


def with_wrong_clock(fleet, folder, skew):
    """Processes that are started from here on have it."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        f"import time\nhonest = time.time\ntime.time = lambda: honest() + {skew}\n", encoding="utf-8"
    )
    fleet.environment["PYTHONPATH"] = str(folder)


def seconds(moment):
    return datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else moment


def test_a_worker_that_comes_back_under_its_name_takes_up_its_runs_and_tags_are_kept(fleet, until):
    fleet.steps("x", "echo a >> trace", WAIT)
    for life in range(3):
        worker = fleet.worker("--name", "one", "--tags", "gpu")
        if not life:
            run = submitted(fleet, "./x.yaml", "--tag", "gpu")
            fleet.worker("--name", "without the tag")
        until(lambda life=life: fleet.trace().count("b") == life + 1, "the second step")
        if life < 2:
            worker.send(signal.SIGKILL)
            worker.wait()
    told = [worker for worker in fleet._started if "without" in worker.err.read_text()]
    assert not any("begins" in worker.err.read_text() for worker in told)
    fleet.touch("go")
    fleet.ended(run)
    assert sorted(fleet.trace()) == ["a", "b", "b", "b"]


def test_a_question_is_answered_from_elsewhere(fleet, until):
    fleet.worker()
    fleet.steps("x", {"command": "echo yes >> trace", "approval": {"message": "Go on?"}})
    run = submitted(fleet, "./x.yaml")
    until(lambda: fleet.status_of(run) == "waiting", "a question")
    fleet.awf("approve", run).succeeded()
    fleet.ended(run)
    assert fleet.trace() == ["yes"]
    assert fleet.awf("run", "./x.yaml", "--submit", "--follow", "--yes").succeeded()
    fleet.awf("run", "./x.yaml", "--submit", "--follow", "--no-input").one_error(
        "EXECUTION.INPUT.UNAVAILABLE"
    )


def test_a_run_at_a_worker_is_cancelled_with_its_processes_and_resumed_by_a_worker(fleet, until):
    fleet.worker()
    fleet.steps("x", "echo a >> trace", WAIT)
    run = submitted(fleet, "./x.yaml")
    until(lambda: "b" in fleet.trace(), "the second step")
    fleet.awf("cancel", run).succeeded()
    assert fleet.status_of(run) == "cancelled"
    until(lambda: not fleet.commands(), "the end of its commands")
    fleet.touch("go")
    told = fleet.awf("resume", run, "--submit", "--follow", "-o", "ndjson").succeeded()
    assert "workflow.resumed" in [event["type"] for event in told.events()]
    assert sorted(fleet.trace()) == ["a", "b", "b"]


def test_a_failed_run_is_resumed_and_run_again_by_workers(fleet):
    fleet.worker()
    fleet.steps("x", "echo a >> trace", "echo b >> trace; test -e mended")
    run = submitted(fleet, "./x.yaml")
    fleet.ended(run, "failed")
    fleet.touch("mended")
    assert fleet.awf("resume", run, "--submit").succeeded().stdout.strip() == run
    fleet.ended(run)
    assert fleet.trace() == ["a", "b", "b"]
    again = fleet.awf("rerun", run, "--from", "b", "--submit").succeeded().stdout.strip()
    fleet.ended(again)
    assert fleet.trace() == ["a", "b", "b", "b"]
    assert fleet.run_record(again)["parent"] == run


def test_a_tagged_run_waits_for_a_worker_that_has_the_tag(fleet, until):
    fleet.worker("--queues", "default,night")
    fleet.steps("x", "echo $WHO >> trace")
    tagged = submitted(fleet, "./x.yaml", "--tag", "gpu")
    other = submitted(fleet, "./x.yaml", "--queue", "night")
    fleet.ended(other)
    assert fleet.status_of(tagged) == "queued"
    fleet.environment["WHO"] = "the one with the tag"
    fleet.worker("--tags", "gpu,big")
    fleet.ended(tagged)
    assert fleet.trace() == ["", "the one with the tag"]


def test_a_run_with_several_tags_waits_for_a_worker_that_has_them_all(fleet, until, database_url):
    fleet.steps("x", "echo $WHO >> trace")
    many = ",".join(f"t{number}" for number in range(12))
    fleet.environment["WHO"] = "some"
    fleet.worker("--tags", "gpu")
    fleet.worker("--tags", f"big,{many}")
    both = submitted(fleet, "./x.yaml", "--tag", "gpu", "--tag", "big")
    many_of_one = submitted(fleet, "./x.yaml", "--tag", "t11,t3", "--tag", "big,t7")
    fleet.ended(many_of_one)
    assert fleet.status_of(both) == "queued"
    waits = "waiting for a worker with all the tags big, gpu"
    assert waits in fleet.awf("status", both).succeeded().stdout
    assert waits in fleet.awf("history").succeeded().stdout
    fleet.environment["WHO"] = "the one with both"
    fleet.worker("--tags", "gpu,other,big")
    fleet.ended(both)
    assert fleet.trace() == ["some", "the one with both"]
    from dbos import DBOSClient

    client = DBOSClient(system_database_url=database_url, application_name="awf")
    try:
        asked_for = {"awf-default", "awf-default#big+gpu", "awf-default#big+t11+t3+t7"}
        assert {queue.name for queue in client.list_queues()} == asked_for
    finally:
        client.destroy()


def test_a_worker_that_is_asked_to_stop_lets_runs_end_and_hands_back_the_rest(fleet, until):
    fleet.steps("x", "echo a >> trace", WAIT)
    patient = fleet.worker("--drain", "60")
    run = submitted(fleet, "./x.yaml")
    until(lambda: "b" in fleet.trace(), "the second step")
    patient.send(signal.SIGTERM)
    fleet.touch("go")
    assert patient.wait().status == 0
    assert fleet.status_of(run) == "completed"

    (fleet.project / "go").unlink()
    hasty = fleet.worker("--drain", "0")
    run = submitted(fleet, "./x.yaml")
    until(lambda: fleet.trace().count("b") == 2, "the second step")
    hasty.send(signal.SIGTERM)
    assert hasty.wait().status == 0
    assert fleet.status_of(run) == "queued"
    assert not fleet.commands()
    fleet.touch("go")
    fleet.worker()
    fleet.ended(run)
    assert fleet.trace() == ["a", "b", "a", "b", "b"]


def test_the_engine_may_be_told_to_cancel_too_and_leaves_runs_of_another_version_alone(
    fleet, until, database_url
):
    fleet.worker()
    fleet.steps("x", WAIT)
    run = submitted(fleet, "./x.yaml")
    until(lambda: "b" in fleet.trace(), "the first step")
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    client = DBOSClient(
        system_database_url=database_url, serializer=DBOSPortableJSONSerializer(), application_name="awf"
    )
    try:
        client.cancel_workflow(f"{run}.1")
        fleet.ended(run, "cancelled")
        until(lambda: not fleet.commands(), "the end of its commands")
        options = {"workflow_name": "awf.run", "queue_name": "awf-default", "app_version": "runs-0"}
        of_another = client.enqueue(options, run)
        fleet.touch("go")
        fleet.ended(submitted(fleet, "./x.yaml"))
        assert of_another.get_status().status == "ENQUEUED"
    finally:
        client.destroy()


def test_the_runs_of_one_machine_move_into_the_database(fleet, until):
    url = fleet.environment.pop("AWF_DATABASE_URL")
    fleet.steps(
        "x",
        {"command": "echo a >> trace; head -c 3000000 /dev/zero | tr '\\0' x"},
        {"command": "echo {{ inputs.api_key }} > key; echo b >> trace; test -e mended"},
        inputs=[{"name": "api_key"}],
    )
    fleet.awf("run", "./x.yaml", "-i", "api_key=hush-hush").one_error("EXECUTION.COMMAND.FAILED")
    shown = [fleet.awf(*words).stdout for words in (("logs", "last"), ("show", "last", "-o", "json"))]
    whole = fleet.awf("show", "last", "--step", "a", "--full").out
    fleet.steps("y", WAIT)
    living = fleet.start("run", "./y.yaml", "-o", "ndjson")
    until(lambda: fleet.trace().count("b") == 2, "a run under way")
    fleet.awf("store", "migrate", "--from", "sqlite", "--to", "postgres").one_error("USER.WORKER.NO_DATABASE")
    fleet.environment["AWF_DATABASE_URL"] = url
    told = fleet.awf("store", "migrate", "--from", "sqlite", "--to", "postgres", "-o", "json").succeeded()
    none = dict.fromkeys(("grants", "approvals", "contexts", "results"), 0)
    audit = {"outcome": "none", "records": 0, "place": str(fleet.storage / "audit"), "flaw": ""}
    assert told.json() == {"copied": 1, "known": 0, "running": [living.run_id], "gate": none, "audit": audit}
    fleet.touch("go")
    living.wait()
    told = fleet.awf("store", "migrate", "--from", "sqlite", "--to", "postgres").succeeded()
    assert told.stdout.startswith("1 runs copied, 1 were there already\n")
    failed = next(run["id"] for run in fleet.history() if run["status"] == "failed")
    fleet.environment["AWF_STORAGE"] = str(fleet.root / "another machine")
    assert [fleet.awf(*words).stdout for words in (("logs", failed), ("show", failed, "-o", "json"))] == shown
    assert fleet.awf("show", failed, "--step", "a", "--full").out == whole
    assert len(whole) == 3_000_000
    fleet.touch("mended")
    fleet.awf("resume", failed).succeeded()
    assert (fleet.project / "key").read_text() == "hush-hush\n"
    assert fleet.trace() == ["a", "b", "b", "b"]


def test_a_worker_that_is_older_than_the_database_does_not_start(fleet, database_url):
    fleet.steps("x", "true")
    fleet.awf("history").succeeded()
    import psycopg

    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO awf.layout VALUES (999)")
    for command in (("worker",), ("run", "./x.yaml", "--submit"), ("run", "./x.yaml"), ("history",)):
        fleet.awf(*command).one_error("SYSTEM.STORE.NEWER")
    assert "999" in fleet.awf("doctor").stdout
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM awf.layout WHERE number = 999")
    fleet.worker()
    fleet.ended(submitted(fleet, "./x.yaml"))


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_what_workers_need_is_told(fleet, tmp_path):
    fleet.steps("x", "true")
    fleet.awf("run", "./x.yaml", "--follow").one_error("USER.INPUT.USAGE")
    fleet.awf("run", "./x.yaml", "--submit", "--queue", "Bad Name").one_error("USER.INPUT.INVALID_FORMAT")
    fleet.awf("worker", "--tags", "a/b").one_error("USER.INPUT.INVALID_FORMAT")
    fleet.awf("worker", "--queues", ",").one_error("USER.INPUT.INVALID_FORMAT")
    fleet.awf("run", "./x.yaml", "--submit", "--tag", "a,b,c,d,e").one_error("USER.INPUT.INVALID_FORMAT")
    assert fleet.history() == []
    fleet.worker("--name", "one")
    fleet.awf("worker", "--name", "one").one_error("USER.WORKER.NAME_TAKEN")
    url = fleet.environment.pop("AWF_DATABASE_URL")
    fleet.awf("worker").one_error("USER.WORKER.NO_DATABASE")
    fleet.awf("run", "./x.yaml", "--submit").one_error("USER.WORKER.NO_DATABASE")
    fleet.environment["AWF_DATABASE_URL"] = f"postgresql://me:hush-hush@/db?host={tmp_path}"
    for command in (("worker",), ("run", "./x.yaml"), ("history",), ("run", "./x.yaml", "--submit")):
        told = fleet.awf(*command).one_error("SYSTEM.STORE.UNAVAILABLE")
        assert "hush" not in told.stdout + told.stderr
    doctor = fleet.awf("doctor")
    assert doctor.status == 4
    assert "cannot be used" in doctor.stdout
    fleet.environment["AWF_DATABASE_URL"] = url
    assert "layout " in fleet.awf("doctor").stdout
    shown = fleet.awf("config", "show").succeeded().stdout
    assert "database.url" in shown


def test_a_folder_that_the_worker_does_not_have_is_told(fleet):
    fleet.worker()
    elsewhere = fleet.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.yaml").write_text(
        json.dumps({
            "name": "x",
            "states": {
                "initial": "a",
                "a": {"type": "step", "command": "sleep 60", "on_success": "done"},
                "done": {"type": "terminal"},
            },
        }),
        encoding="utf-8",
    )  # fmt: skip
    run = fleet.awf("run", "x.yaml", "--submit", "--tag", "later", cwd=elsewhere).succeeded().stdout.strip()
    subprocess.run(["rm", "-r", str(elsewhere)], check=True)
    fleet.worker("--tags", "later")
    fleet.ended(run, "failed")
    assert fleet.run_record(run)["error"]["code"] == "EXECUTION.WORKER.NO_FOLDER"
    assert fleet.awf("show", run).status == 0


def test_a_program_that_the_worker_does_not_have_fails_with_a_code(fleet):
    fleet.worker()
    fleet.workflow(
        "x",
        {
            "initial": "a",
            "a": {"type": "agent", "provider": "claude", "prompt": "hi", "on_success": "done"},
            "done": {"type": "terminal"},
        },
    )
    fleet.environment["PATH"] = "/usr/bin:/bin"
    told = fleet.awf("run", "./x.yaml", "--submit", "--follow", "-o", "json")
    assert told.status in {1, 3, 4}, told.stderr
    assert told.json()["error"]["code"].startswith("EXECUTION.AGENT")


def test_a_database_that_goes_away_only_delays_workers_and_their_runs(fleet, postgres, database_url, until):
    fleet.worker()
    fleet.steps("x", "echo a >> trace", WAIT, "echo c >> trace")
    run = submitted(fleet, "./x.yaml")
    until(lambda: "b" in fleet.trace(), "the second step")
    for _ in range(3):
        assert postgres.cut(database_url) > 0
    postgres.halt()
    fleet.touch("go")
    until(lambda: not fleet.commands(), "the end of the step while nobody can record it")
    postgres.resume()
    fleet.ended(run)
    assert fleet.trace() == ["a", "b", "c"]
    fleet.ended(submitted(fleet, "./x.yaml"))
