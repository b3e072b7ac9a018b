"""The examples, run for real and shown: sound updates, nothing left open, the answer that `awf run` prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from awf.application.history.answer import answer_lines
from awf.domain.events import WorkflowCompleted
from awf.testing.laboratory import ScriptedPerson

EXAMPLES = Path(__file__).parents[4] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/workflow.yaml") if path.parent.name != "plugins")


@pytest.mark.parametrize("name", NAMES)
async def test_an_example_is_shown_soundly_to_its_end(lab, play, name):
    shutil.copytree(EXAMPLES / name, lab.folder, dirs_exist_ok=True)
    text = (EXAMPLES / name / "workflow.yaml").read_text(encoding="utf-8")
    person = ScriptedPerson(approvals=["once", "reject"], lines=["calm", "/end"])
    ran = await lab.run(text, person=person)
    app = lab.app()
    program = await app.execution.program(str(lab.folder / "workflow.yaml"))
    await app.close()
    run = play(workflow=program.main)
    for stamped in ran.events:
        run.screen.show(run.projector.event(stamped))

    assert run.screen.open() == []
    assert run.close() == []
    ended = run.projector.ended
    assert ended is not None
    if isinstance(ended, WorkflowCompleted):
        answer = "\n".join(answer_lines(ended.message, ended.outputs)).strip()
        assert answer in "\n".join(run.screen.said())
        assert {status for _, status in run.screen.entries()} == {"completed"}
