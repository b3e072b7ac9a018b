"""Runs that were recorded, and what an editor is shown of them.

`events.ndjson` is what `awf run -o ndjson` told, with the run's id, the times and the folder replaced. After a change
that is meant: AWF_WRITE_GOLDEN=1, then read the diff. AWF_RECORD=1 runs the workflows again first.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from awf.domain.events import event_fields, stamped_from
from awf.testing.laboratory import ScriptedPerson

RECORDINGS = Path(__file__).parent / "recordings"
NAMES = sorted(path.parent.name for path in RECORDINGS.glob("*/workflow.yaml"))
PEOPLE = {
    "talk": {"lines": ["calm", "/end"]},
    "checked": {"approvals": ["once", "reject"]},
    "side-by-side": {"approvals": ["once"]},
}


async def record(lab, name):
    shutil.copytree(RECORDINGS / name, lab.folder, dirs_exist_ok=True)
    (lab.folder / "notes.txt").write_text("roses\ntulips\n", encoding="utf-8")
    text = (RECORDINGS / name / "workflow.yaml").read_text(encoding="utf-8")
    ran = await lab.run(text, person=ScriptedPerson(**PEOPLE.get(name, {})))
    lines = [_neutral(stamped, number, lab.folder) for number, stamped in enumerate(ran.events)]
    (RECORDINGS / name / "events.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _neutral(stamped, number, folder):
    fields = {**event_fields(stamped), "time": 1000 + number / 10, "seq": number}
    told = {**fields, "duration_ms": 20} if "duration_ms" in fields else fields
    told = {key: value for key, value in told.items() if key != "version"}
    text = json.dumps(told, ensure_ascii=False)
    return text.replace(stamped.run_id, "run-1").replace(str(folder), "/project")


async def projected(lab, play, name, *, terminals=False):
    """Every event of the recording with what came of it; the turn ends when the run waits for a line."""
    app = lab.app()
    program = await app.execution.program(str(RECORDINGS / name / "workflow.yaml"))
    await app.close()
    run = play(workflow=program.main, terminals=terminals)
    told = []
    for line in (RECORDINGS / name / "events.ndjson").read_text(encoding="utf-8").splitlines():
        stamped = stamped_from(json.loads(line))
        updates = run.projector.event(stamped)
        run.screen.show(updates)
        told.append({"event": json.loads(line)["type"], "path": stamped.event.path, "updates": updates})
        if run.projector.waits() and not run.projector.busy():
            told.append({"turn": "ends", "updates": run.park()})
    return run, told


@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_run_is_shown_as_before(lab, play, name):
    if os.environ.get("AWF_RECORD"):
        await record(lab, name)
    _, told = await projected(lab, play, name)
    golden = RECORDINGS / name / "updates.json"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in told)
        golden.write_text(f"[\n{lines}\n]\n", encoding="utf-8")

    assert told == json.loads(golden.read_text(encoding="utf-8"))


@pytest.mark.parametrize("terminals", [False, True])
@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_run_ends_with_everything_closed(lab, play, name, terminals):
    run, _ = await projected(lab, play, name, terminals=terminals)

    assert run.screen.open() == []
    assert run.projector.ended is not None
    assert run.projector.next_tick() is None
    assert run.close() == []
    assert all(terminal["exit"] for terminal in run.screen.terminals.values())


async def test_every_call_of_the_recorded_agent_is_one_row(lab, play):
    run, _ = await projected(lab, play, "side-by-side")
    inside = [row for row_id, row in run.screen.rows.items() if row_id.startswith("run-1/review/reader/")]

    assert [row["title"] for row in inside] == [
        "Read notes.txt", "Edit notes.txt", "Bash: cat notes.txt", "Read missing.txt",
    ]  # fmt: skip
    assert [row["status"] for row in inside] == ["completed", "completed", "completed", "failed"]
    assert {row["_meta"]["awf"]["source"] for row in inside} == {"builtin"}
