"""Going on with a run, and starting one again."""

from __future__ import annotations

import asyncio

import pytest

from awf.domain.errors import AwfError
from awf.domain.events import StepStarted, Warned, WorkflowResumed
from awf.testing.laboratory import ScriptedPerson

CHAIN = """
name: chain
states:
  initial: a
  a: {type: step, command: "echo a >> trail; echo one", on_success: b}
  b: {type: step, command: "echo b >> trail; [ -e go ]", on_success: c, retry: {max_attempts: 2, initial_delay: 1ms}}
  c: {type: step, command: "echo c >> trail; echo {{ states.a.output }}", on_success: done}
  done: {type: terminal, message: end}
"""


def trail(lab) -> str:
    return "".join((lab.folder / "trail").read_text().split())


async def test_a_failed_run_resumes_at_the_failure_and_tries_it_anew(lab):
    ran = await lab.run(CHAIN)
    assert ran.outcome.status == "failed"
    assert trail(lab) == "abb"
    lab.write("go", "")
    again = await lab.resume(ran.run_id)
    assert again.outcome.status == "completed"
    assert trail(lab) == "abbbc"
    assert again.output("c") == "one"
    assert again.of(WorkflowResumed)[0].finished_steps == 3
    assert [e.path for e in again.of(StepStarted)] == ["b", "c"]
    assert again.events[0].seq == ran.events[-1].seq + 1


async def test_resuming_while_nothing_is_mended_fails_again_and_can_be_resumed_again(lab):
    ran = await lab.run(CHAIN)
    assert (await lab.resume(ran.run_id)).outcome.status == "failed"
    lab.write("go", "")
    assert (await lab.resume(ran.run_id)).outcome.status == "completed"


async def test_a_completed_run_cannot_be_resumed(lab):
    lab.write("go", "")
    ran = await lab.run(CHAIN)
    with pytest.raises(AwfError) as caught:
        await lab.resume(ran.run_id)
    assert caught.value.code == "USER.RUN.NOT_RESUMABLE"


async def test_a_handled_failure_stays_handled_when_the_run_is_resumed(lab):
    ran = await lab.run("""
name: handled
states:
  initial: a
  a: {type: step, command: "echo a >> trail; exit 1", on_success: b, on_failure: b}
  b: {type: step, command: "echo b >> trail; [ -e go ]", on_success: done, on_failure: failed}
  failed: {type: terminal, status: failure}
  done: {type: terminal}
""")
    lab.write("go", "")
    assert (await lab.resume(ran.run_id)).outcome.status == "completed"
    assert trail(lab) == "abb"


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("{type: for_each, items: [1, 2, 3], body: [x, y], on_complete: done}", "x1y1x2y2", "x1y1x2y2y2x3y3"),
        ("{type: parallel, parallel: [x, y], strategy: all_succeed, on_success: done}", "xy", "xyy"),
        ("{type: call_workflow, workflow: ./child.yaml, on_success: done}", "xy", "xyy"),
    ],
)
async def test_inside_composites_only_what_failed_is_tried_again(lab, kind, first, second):
    number = "{{ loop.index1 }}" if "for_each" in kind else ""
    x = f'{{type: step, command: "echo x{number} >> trail"}}'
    y = f"{{type: step, command: \"echo y{number} >> trail; [ -e go ] || [ '{number}' = 1 ]\""
    lab.write(
        "child.yaml",
        f"""
name: child
states:
  initial: x
  x: {x[:-1]}, on_success: y}}
  y: {y}, on_success: done}}
  done: {{type: terminal}}
""",
    )
    own = (
        ""
        if "call_workflow" in kind
        else f"  x: {x}\n  y: {y}{', depends_on: [x]' if 'parallel' in kind else ''}}}\n"
    )
    ran = await lab.run(f"name: w\nstates:\n  initial: all\n  all: {kind}\n{own}  done: {{type: terminal}}\n")
    assert (ran.outcome.status, trail(lab)) == ("failed", first)
    lab.write("go", "")
    again = await lab.resume(ran.run_id)
    assert (again.outcome.status, trail(lab)) == ("completed", second), again.outcome.error


async def test_a_cancelled_run_goes_on_where_it_was(lab):
    text = """
name: slow
states:
  initial: a
  a: {type: step, command: "echo a >> trail", on_success: b}
  b: {type: step, command: "echo b >> trail; [ -e go ] || sleep 60", on_success: done}
  done: {type: terminal}
"""
    started = asyncio.Event()

    def listen(stamped):
        if isinstance(stamped.event, StepStarted) and stamped.event.path == "b":
            started.set()

    task = asyncio.get_running_loop().create_task(lab.run(text, listener=listen))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    ran = await task
    assert (ran.outcome.status, ran.outcome.exit_status) == ("cancelled", 130)
    lab.write("go", "")
    again = await lab.resume(ran.run_id)
    assert again.outcome.status == "completed"
    assert trail(lab).startswith("ab")
    assert trail(lab).count("a") == 1


async def test_a_changed_file_is_reported_and_the_old_definition_used(lab):
    ran = await lab.run(CHAIN)
    lab.write("go", "")
    lab.write("workflow.yaml", CHAIN.replace("echo c >> trail", "echo CHANGED >> trail"))
    again = await lab.resume(ran.run_id)
    assert "has changed since the run started" in again.of(Warned)[0].message
    assert trail(lab) == "abbbc"
    (lab.folder / "workflow.yaml").unlink()
    (lab.folder / "go").unlink()


async def test_an_approval_for_the_run_holds_after_a_resume(lab):
    text = """
name: approved
states:
  initial: each
  each: {type: for_each, items: [1, 2, 3], body: [a, b], on_complete: done}
  a: {type: step, command: "true", approval: true}
  b: {type: step, command: "[ {{ loop.item }} != 2 ] || [ -e go ]"}
  done: {type: terminal}
"""
    ran = await lab.run(text, person=ScriptedPerson(approvals=["run"]))
    assert ran.outcome.status == "failed"
    lab.write("go", "")
    person = ScriptedPerson()
    again = await lab.resume(ran.run_id, person=person)
    assert again.outcome.status == "completed"
    assert person.asked == []


async def test_a_conversation_goes_on_after_a_crash_without_repeating_turns(lab):
    text = """
name: talk
states:
  initial: talk
  talk: {type: agent, provider: scripted, mode: conversation, prompt: hi, options: {turns: [one, two, three]}, on_success: done}
  done: {type: terminal, message: "{{ states.talk.output }}"}
"""

    class Leaving(ScriptedPerson):
        async def read(self, request):
            if not self._lines:
                raise asyncio.CancelledError
            return await super().read(request)

    waiting = asyncio.Event()

    class Quiet(ScriptedPerson):
        async def read(self, request):
            if self._lines:
                return self._lines.pop(0)
            waiting.set()
            return None

    task = asyncio.get_running_loop().create_task(lab.run(text, person=Quiet(lines=["next"])))
    await asyncio.wait_for(waiting.wait(), 30)
    task.cancel()
    ran = await task
    assert ran.outcome.status == "cancelled"
    again = await lab.resume(ran.run_id, person=ScriptedPerson(lines=["more", "/end"]))
    assert again.outcome.message == "three"
    assert sorted(path for path in again.steps if "turn" in path) == [
        "talk/turn-1",
        "talk/turn-2",
        "talk/turn-3",
    ]


async def test_rerun_starts_a_new_run_and_from_a_step_keeps_what_came_before(lab):
    lab.write("go", "")
    ran = await lab.run(CHAIN)
    assert trail(lab) == "abc"
    again = await lab.rerun(ran.run_id)
    assert trail(lab) == "abcabc"
    assert again.run_id != ran.run_id
    third = await lab.rerun(ran.run_id, start_at="c")
    assert trail(lab) == "abcabcc"
    assert third.output("c") == "one"
    with pytest.raises(AwfError) as caught:
        await lab.rerun(ran.run_id, start_at="nowhere")
    assert caught.value.code == "USER.RUN.UNKNOWN_STEP"


async def test_rerun_takes_changed_inputs_and_the_current_file_when_told(lab):
    text = """
name: w
inputs: [{name: n, type: integer, default: 1}, {name: token, default: secret-token-1}]
states:
  initial: a
  a: {type: step, command: "echo {{ inputs.n }} {{ inputs.token }} | tr e E", on_success: done}
  done: {type: terminal}
"""
    ran = await lab.run(text)
    again = await lab.rerun(ran.run_id, given={"n": "5"})
    assert again.output("a") == "5 sEcrEt-tokEn-1"
    lab.write("workflow.yaml", text.replace("echo {{", "echo new {{"))
    assert (await lab.rerun(ran.run_id)).output("a").startswith("1 ")
    assert (await lab.rerun(ran.run_id, current=True)).output("a").startswith("nEw 1 ")


async def test_two_runs_that_come_to_the_same_id_get_two(lab, monkeypatch):
    from awf.application.running import service

    text = "name: x\nstates: {initial: a, a: {type: step, command: 'true', on_success: done}, done: {type: terminal}}\n"
    first = await lab.run(text)
    ids = iter([first.run_id, first.run_id, "another"])
    monkeypatch.setattr(service, "new_run_id", lambda _now: next(ids))
    assert (await lab.run(text)).run_id == "another"
