"""An agent state whose tools come through the proxy."""

from __future__ import annotations

import json

import pytest

from awf.domain.events import (
    ApprovalRequired,
    ApprovalResolved,
    StepFailed,
    ToolCallFinished,
    ToolCallStarted,
    Warned,
)
from awf.infrastructure.agents.scripted.provider import ScriptedAgent
from awf.testing.laboratory import ScriptedPerson
from awf.testing.memory_plugins import MemoryPlugin, MemoryPlugins
from awf.testing.memory_tools import object_schema


def agent(*actions, proxy=None, **state) -> str:
    return json.dumps(
        {
            "name": "x",
            "states": {
                "initial": "work",
                "work": {
                    "type": "agent",
                    "provider": "scripted",
                    "prompt": "Go.",
                    "options": {"turns": [{"do": list(actions)}], **state.pop("options", {})},
                    "mcp_proxy": {"enable": True, **(proxy or {})},
                    "on_success": "done",
                    **state,
                },
                "done": {"type": "terminal"},
            },
        }
    )


def use(tool: str, /, **given) -> dict:
    return {"tool": {"name": tool, "input": given}}


@pytest.mark.parametrize("process", [False, True])
async def test_the_agent_works_with_the_built_in_tools(lab, process):
    lab.write("a.txt", "alpha\n")
    text = agent(
        use("Read", file_path="a.txt"),
        use("Write", file_path="b.txt", content="beta"),
        "Done.",
        options={"process": process},
    )
    ran = await lab.run(text)
    assert ran.outcome.status == "completed"
    assert (lab.folder / "b.txt").read_text() == "beta"
    assert [event.tool for event in ran.of(ToolCallStarted)] == ["Read", "Write"]
    assert "alpha" in ran.of(ToolCallFinished)[0].output
    assert ran.steps["work"].result.usage.tool_calls == 2


async def test_without_a_proxy_a_scripted_tool_is_only_shown(lab):
    ran = await lab.run(agent(use("Read", file_path="a.txt")).replace('"enable": true', '"enable": false'))
    assert ran.outcome.status == "completed"
    assert ran.of(ToolCallStarted) == []


async def test_file_tools_keep_to_the_folder_of_the_state(lab):
    (lab.folder / "inner").mkdir()
    lab.write("secret.txt", "outside")
    ran = await lab.run(agent(use("Read", file_path="../secret.txt"), dir="inner"))
    (finished,) = ran.of(ToolCallFinished)
    assert finished.error == "PERMISSION_DENIED"


async def test_an_operation_of_a_plugin_becomes_a_tool(lab):
    plugin = MemoryPlugin("greeter").operation(
        "greet", lambda name: f"hello {name}", object_schema(name="string")
    )
    lab.plugins = MemoryPlugins(plugin)
    exposed = {"intercept_builtins": False, "plugin_tools": [{"plugin": "greeter", "expose": ["greet"]}]}
    ran = await lab.run(agent(use("greeter_greet", name="Ada"), use("Read", file_path="x"), proxy=exposed))
    first, second = ran.of(ToolCallFinished)
    assert (first.source, first.output) == ("plugin:greeter", "hello Ada")
    assert (second.source, second.error) == ("unknown", "RESOURCE_NOT_FOUND")


async def test_an_operation_that_has_gone_fails_the_step_when_it_starts(lab):
    plugin = MemoryPlugin("greeter").operation("greet", lambda: "hello")
    lab.plugins = MemoryPlugins(plugin)
    proxy = {"plugin_tools": [{"plugin": "greeter", "expose": ["greet"]}]}
    first = await lab.run(agent(use("greeter_greet"), {"fail": "on purpose"}, proxy=proxy))
    assert first.outcome.status == "failed"
    del plugin.operations["greet"]
    again = await lab.resume(first.run_id)
    (failed,) = again.of(StepFailed)
    assert failed.code == "USER.MCP_PROXY.UNKNOWN_OPERATION"


async def test_a_call_that_needs_approval_waits_for_the_person(lab):
    person = ScriptedPerson(approvals=["once", "reject"])
    ran = await lab.run(
        agent(
            use("Bash", command="echo one > made"),
            use("Bash", command="echo two > made"),
            use("Glob", pattern="made"),
            proxy={"approve": ["Bash", "Wri*"]},
        ),
        person=person,
    )
    assert (lab.folder / "made").read_text() == "one\n"
    assert [event.error for event in ran.of(ToolCallFinished)] == ["", "PERMISSION_DENIED", ""]
    assert len(ran.of(ApprovalRequired)) == 2
    assert [event.outcome for event in ran.of(ApprovalResolved)] == ["once", "reject"]
    assert "echo one" in person.asked[0]


async def test_a_person_is_shown_the_end_of_a_long_command_and_what_it_hides(lab):
    person = ScriptedPerson(approvals=["reject"])
    command = "echo \u202e" + "x" * 5000 + "; touch made"
    await lab.run(agent(use("Bash", command=command), proxy={"approve": ["Bash"]}), person=person)
    assert "echo \\u202exxx" in person.asked[0]
    assert "xxx; touch made" in person.asked[0]


async def test_an_approval_for_the_run_holds_for_later_calls_of_that_tool(lab):
    person = ScriptedPerson(approvals=["run"])
    ran = await lab.run(
        agent(use("Bash", command="true"), use("Bash", command="true"), proxy={"approve": ["Bash"]}),
        person=person,
    )
    assert [event.is_error for event in ran.of(ToolCallFinished)] == [False, False]
    assert len(person.asked) == 1


async def test_an_approval_that_nobody_answers_in_time_refuses_the_call(lab):
    ran = await lab.run(
        agent(use("Bash", command="touch made"), proxy={"approve": ["*"], "approve_timeout": "50ms"})
    )
    (finished,) = ran.of(ToolCallFinished)
    assert (finished.error, (lab.folder / "made").exists()) == ("PERMISSION_DENIED", False)
    assert "Nobody answered" in finished.output


async def test_with_yes_everything_is_approved(lab):
    ran = await lab.run(agent(use("Bash", command="true"), proxy={"approve": ["Bash"]}), approve_all=True)
    assert [event.is_error for event in ran.of(ToolCallFinished)] == [False]


async def test_tool_calls_count_towards_the_limit(lab):
    ran = await lab.run(agent(*[use("Glob", pattern="*")] * 3, limits={"tool_calls": 2}))
    result = ran.steps["work"].result
    assert (result.usage.tool_calls, result.over_limit.code) == (3, "EXECUTION.LIMIT.EXCEEDED")


async def test_secrets_are_masked_in_the_record_of_a_call(lab):
    lab.environment["API_TOKEN"] = "tok-123456789"
    ran = await lab.run(agent(use("Bash", command="echo $API_TOKEN")))
    (finished,) = ran.of(ToolCallFinished)
    assert "tok-123456789" not in str(ran.events)
    assert not finished.is_error


async def test_an_agent_that_may_bypass_the_proxy_is_warned_about_when_it_starts(lab, monkeypatch):
    class Coexisting(ScriptedAgent):
        isolation = "best_effort"

    monkeypatch.setattr("awf.infrastructure.agents.scripted.provider.ScriptedAgent", Coexisting)
    ran = await lab.run(agent(use("Glob", pattern="*")))
    (warned,) = ran.of(Warned)
    assert warned.code == "USER.MCP_PROXY.UNSUPPORTED_PROVIDER"


async def test_a_conversation_has_its_tools_in_every_turn(lab):
    lab.write("a.txt", "alpha\n")
    text = agent(use("Read", file_path="a.txt"), mode="conversation")
    turns = json.loads(text)
    turns["states"]["work"]["options"]["turns"] *= 2
    ran = await lab.run(json.dumps(turns), person=ScriptedPerson(lines=["again", "/end"]))
    assert [event.is_error for event in ran.of(ToolCallFinished)] == [False, False]


async def test_what_a_failing_agent_spent_still_counts(lab):
    spent = {"usage": {"input_tokens": 100, "output_tokens": 20, "cost": 0.5}}
    text = agent(use("Glob", pattern="*"), spent, {"fail": "no"}, options={"process": True})
    ran = await lab.run(text)
    result = ran.steps["work"].result
    assert result.error.code == "EXECUTION.AGENT.FAILED"
    assert result.usage.tool_calls == 1
