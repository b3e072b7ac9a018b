"""Many agent steps at once: each hears its own program and nothing is left."""

from __future__ import annotations

import json

import psutil
import pytest

from awf.domain.events import AgentText, AgentTool

STEPS, LINES = 20, 40
BODY = f"""
name = sys.stdin.read().strip()
tools = Tools()
for number in range({LINES}):
    emit(type="text", text=f"{{name}}:{{number}} ")
said = tools.call("Bash", command=f"echo $AWF_NOTHING{{name}}-tool".replace("$AWF_NOTHING", ""))
emit(type="tool", id="c", name="ours_Bash", input={{"command": name}})
emit(type="tool_result", id="c", name="ours_Bash", output=said)
emit(type="session", id=f"session-{{name}}")
emit(type="answer", text=f"{{name}} heard {{said}}")
"""


def workflow(names):
    branches = {
        name: {
            "type": "agent",
            "provider": "stub" if number % 2 else "other",
            "prompt": name,
            "conversation": {},
            "mcp_proxy": {"enable": True, "intercept_builtins": True},
            "on_success": "done",
        }
        for number, name in enumerate(names)
    }
    all_at_once = {
        "type": "parallel",
        "parallel": names,
        "max_concurrent": STEPS,
        "strategy": "all_succeed",
        "on_success": "done",
    }
    states = {"initial": "all", "all": all_at_once, **branches, "done": {"type": "terminal"}}
    return json.dumps({"name": "crowd", "states": states})


@pytest.mark.race
async def test_twenty_steps_of_two_providers_do_not_mix_and_lose_nothing(stubs):
    for provider in ("stub", "other"):
        stubs.program(BODY, name=provider)
    stubs.environment["CROWD"] = str(stubs.folder)
    names = [f"step{number:02}" for number in range(STEPS)]

    ran = await stubs.run(workflow(names))

    assert ran.outcome.status == "completed", ran.outcome
    for name in names:
        texts = [event.text for event in ran.of(AgentText) if event.step == name]
        assert texts == [f"{name}:{number} " for number in range(LINES)]
        calls = [event for event in ran.of(AgentTool) if event.step == name]
        assert [event.phase for event in calls] == ["started", "finished"]
        result = next(row.result for row in ran.steps.values() if row.path.rpartition("/")[2] == name)
        assert f"{name} heard {name}-tool" in result.output
        assert result.session.id == f"session-{name}"
    left = []
    for process in psutil.process_iter():
        try:
            if (
                process.environ().get("CROWD") == str(stubs.folder)
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                left.append(process)
        except psutil.Error:
            continue
    assert left == []
