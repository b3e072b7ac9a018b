"""What a worker does with one run, without a queue around it."""

from __future__ import annotations

import asyncio
import shutil
import threading

import pytest

from awf.application.audit.trail import AuditTrail
from awf.bootstrap.workers import RunHost, require_database
from awf.domain.errors import AwfError
from awf.domain.redaction import Masker
from awf.testing.laboratory import Laboratory

FLOW = """
name: x
states:
  initial: a
  a: {type: step, command: "echo a >> trace", on_success: b}
  b: {type: step, command: "until test -e go; do sleep 0.01; done", on_success: done}
  done: {type: terminal}
"""
PATIENCE = 60


@pytest.fixture
def lab(tmp_path, database_url):
    return Laboratory(tmp_path, {"AWF_DATABASE_URL": database_url})


@pytest.fixture
async def host(lab):
    app = lab.app()
    made = RunHost(app)
    made.app = app
    yield made
    await app.close()


async def queued(lab, flow=FLOW):
    """A run as `--submit` leaves it."""
    app = lab.app()
    try:
        lab.write("workflow.yaml", flow)
        services = app.run_services(app.nobody())
        program = await app.execution.program(str(lab.folder / "workflow.yaml"))
        prepared = await app.execution.start(program, {}, services)
        await prepared.owned.release()
        app.database.write_now([("UPDATE awf.runs SET status='queued', queue='q', owner=''", ())])
        return prepared.run_id
    finally:
        await app.close()


def trace(lab):
    return (lab.folder / "trace").read_text().splitlines()


def test_without_a_database_there_are_no_workers(tmp_path):
    with pytest.raises(AwfError) as caught:
        require_database(Laboratory(tmp_path).app())
    assert caught.value.code == "USER.WORKER.NO_DATABASE"


async def test_a_run_is_carried_out_once(lab, host):
    run_id = await queued(lab)
    (lab.folder / "go").touch()
    assert await host.carry_out(run_id) == {"status": "completed", "exit_status": 0}
    assert await host.carry_out(run_id) == {"status": "completed"}
    assert await host.carry_out("nothing") == {"status": "gone"}
    assert trace(lab) == ["a"]
    types = [event.fields["type"] for event in host.app.store.events(run_id)]
    assert types[0] == "workflow.started"
    assert "workflow.resumed" not in types


async def test_a_run_that_somebody_else_owns_is_waited_for(lab, host):
    run_id = await queued(lab)
    other = lab.app()
    try:
        owned = await other.journal.adopt(run_id, Masker())
        carrying = asyncio.get_running_loop().create_task(host.carry_out(run_id))
        _, waiting = await asyncio.wait([carrying], timeout=0.3)
        assert waiting
        await owned.release()
        (lab.folder / "go").touch()
        assert (await asyncio.wait_for(carrying, PATIENCE))["status"] == "completed"
    finally:
        await other.close()


async def test_a_run_that_is_left_goes_back_without_an_end_and_its_processes_are_gone(lab, host):
    run_id = await queued(lab)
    carrying = asyncio.get_running_loop().create_task(host.carry_out(run_id))
    while len(host.app.store.steps(run_id)) < 1:
        await asyncio.sleep(0.01)
    host.leave()
    with pytest.raises(asyncio.CancelledError):
        await carrying
    assert host.app.store.find(run_id).status == "queued"
    with pytest.raises(asyncio.CancelledError):  # this one begins nothing any more
        await host.carry_out(run_id)
    (lab.folder / "go").touch()
    assert (await RunHost(host.app).carry_out(run_id))["status"] == "completed"
    assert trace(lab) == ["a"]


async def test_a_run_with_which_worker_after_worker_dies_is_given_up(lab, host):
    run_id = await queued(lab)
    for _ in range(10):  # each takes it and goes without a word
        owned = await host.app.journal.adopt(run_id, Masker())
        await owned.release()
    assert await host.carry_out(run_id) == {"status": "failed", "code": "EXECUTION.WORKER.DIED"}
    assert host.app.store.find(run_id).error.code == "EXECUTION.WORKER.DIED"


async def test_a_missing_folder_ends_the_run_with_a_code(lab, host, tmp_path_factory, database_url):
    away = Laboratory(tmp_path_factory.mktemp("away"), {"AWF_DATABASE_URL": database_url})
    run_id = await queued(away)
    shutil.rmtree(away.folder)
    assert await host.carry_out(run_id) == {"status": "failed", "code": "EXECUTION.WORKER.NO_FOLDER"}


async def test_a_definition_that_cannot_be_read_any_more_ends_the_run_with_a_code(lab, host):
    run_id = await queued(lab)
    import msgspec

    from awf.domain.program import Definition

    ((stored,),) = host.app.database.rows("SELECT definition FROM awf.runs")
    definition = msgspec.json.decode(stored, type=Definition)
    texts = dict.fromkeys(definition.texts, "name: x\nstates: {initial: a, a: {type: from_the_future}}\n")
    broken = msgspec.json.encode(msgspec.structs.replace(definition, texts=texts))
    host.app.database.write_now([("UPDATE awf.runs SET definition=%s", (broken,))])
    ended = await host.carry_out(run_id)
    assert ended["status"] == "failed"
    assert ended["code"].startswith("WORKFLOW.")
    assert host.app.store.find(run_id).status == "failed"


GATED = """
name: x
states:
  initial: a
  a:
    type: agent
    provider: scripted
    prompt: Go.
    options: {turns: [{do: [{tool: {name: Read, input: {file_path: note.txt}}}]}]}
    mcp_proxy: {enable: true}
    on_success: done
  done: {type: terminal}
"""


async def test_the_calls_of_all_runs_of_a_worker_are_in_the_one_audit_of_the_database(lab, host, tmp_path):
    lab.write(".awf/gateway.yaml", "audit: {}\n")
    lab.write("note.txt", "milk\n")
    runs = [await queued(lab, GATED) for _ in range(2)]
    for run_id in runs:
        assert (await host.carry_out(run_id))["status"] == "completed"
    events = await AuditTrail(host.app.audit).events()
    assert [(one.tool_id, one.context, one.outcome) for one in events] == [
        ("builtin:Read", f"run:{run_id}", "success") for run_id in runs
    ]
    assert [one.name for one in threading.enumerate()].count("awf-audit") == 1
    assert not list(tmp_path.rglob("audit.db"))
    assert (await host.app.audit.verify()).is_sound
