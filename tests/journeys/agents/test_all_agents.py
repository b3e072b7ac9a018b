"""The same workflow with every agent: the same answer, the same calls, the same conversation."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from awf.domain.events import ToolCallFinished
from awf.testing.laboratory import ScriptedPerson

pytestmark = pytest.mark.journey
PROVIDERS = ["claude", "gemini", "codex", "opencode", "github_copilot", "openai_compatible"]
TWO_CALLS = {
    "name": "two calls",
    "prompt": "use two tools",
    "turns": [
        {"tool_calls": [{"tool": "Read", "args": {"file_path": "note.txt"}}]},
        {"tool_calls": [{"tool": "Bash", "args": {"command": "echo $((6 * 7)) > answer; cat answer"}}]},
        {"text": "Both are done."},
    ],
}
EXPECTED = [("Read", "     1\txyzzy", False), ("Bash", "42\n[exit code 0]", False)]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_agent_gives_the_same_answer_by_the_same_calls(provider, agent_lab):
    lab = agent_lab(provider, [TWO_CALLS])
    seen = await lab.step("use two tools")
    assert seen.output == "Both are done.", seen.error
    assert [(one.tool, one.output, one.is_error) for one in seen.our_results] == EXPECTED
    assert [one.source for one in seen.our_calls] == ["builtin", "builtin"]
    assert (lab.project / "answer").read_text() == "42\n"
    assert seen.isolation in {"guaranteed", ""}
    assert seen.result.usage.tool_calls == 2


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_calls_of_every_agent_are_spans_of_the_run_and_lines_in_the_log(
    provider, agent_lab, collector, caplog
):
    """AC-1."""
    endpoint, spans = collector
    caplog.set_level(logging.INFO, "awf.tools")
    lab = agent_lab(provider, [TWO_CALLS])
    lab.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    seen = await lab.step("use two tools")
    assert seen.output == "Both are done.", seen.error
    assert len({span.trace_id for span in spans}) == 1
    (step,) = [span for span in spans if span.name == "step.work"]
    calls = [span for span in spans if span.name.startswith("tool.call.")]
    assert [span.name for span in calls] == ["tool.call.Read", "tool.call.Bash"]
    assert {span.parent_span_id for span in calls} == {step.span_id}
    lines = [record.fields for record in caplog.records if record.getMessage() == "tool call"]
    assert [(line["tool"], line["source"]) for line in lines] == [("Read", "builtin"), ("Bash", "builtin")]


NUMBERS = [
    {"name": f"number {n}", "prompt": f"speak number {n}", "turns": [{"text": f"Number {n}."}]}
    for n in range(1, 6)
]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_agent_holds_a_conversation_of_five_turns(provider, agent_lab):
    lab = agent_lab(provider, NUMBERS)
    person = ScriptedPerson(lines=[*(f"speak number {n}" for n in range(2, 6)), "/end"])
    state = lab.state("speak number 1")
    seen = await lab.steps({"work": {**state, "mode": "conversation"}}, person=person)
    assert seen.result.error is None
    assert seen.output == "Number 5."
    assert seen.text.replace("\n", "") == "Number 1.Number 2.Number 3.Number 4.Number 5."
    asked_last = json.dumps(seen.requests[-1]["body"])
    assert all(f"speak number {n}" in asked_last for n in range(1, 6))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_agent_goes_on_in_the_session_of_an_earlier_step(provider, agent_lab):
    lab = agent_lab(provider, [TWO_CALLS, *NUMBERS])
    states = {
        "first": lab.state("use two tools", conversation={}),
        "second": lab.state("speak number 2", conversation={"continue_from": "first"}),
    }
    seen = await lab.steps(states)
    assert seen.ran.outcome.status == "completed", seen.ran.outcome.error
    assert seen.ran.output("second") == "Number 2."
    assert "Both are done." in json.dumps(seen.requests[-1]["body"])


async def test_twenty_agents_at_once_do_not_get_in_each_others_way(agent_lab):
    scripts = [
        {
            "name": f"worker {number}",
            "prompt": f"be worker {number} of",
            "turns": [
                {
                    "tool_calls": [
                        {
                            "tool": "Bash",
                            "args": {"command": f"echo {number} > made-{number}; echo w{number}"},
                        }
                    ]
                },
                {"text": f"Worker {number} is done."},
            ],
        }
        for number in range(20)
    ]
    claude, own = agent_lab("claude", scripts), agent_lab("openai_compatible", scripts)
    names = [f"work{number}" for number in range(20)]
    states = {
        name: (claude if number % 2 else own).state(f"be worker {number} of twenty", timeout="240s")
        for number, name in enumerate(names)
    }
    workflow = {
        "name": "many",
        "states": {
            "initial": "all",
            "all": {"type": "parallel", "parallel": names, "on_success": "done"},
            **states,
            "done": {"type": "terminal"},
        },
    }
    ran = await claude.lab.run(json.dumps(workflow))
    assert ran.outcome.status == "completed", ran.outcome.error
    for number, name in enumerate(names):
        assert ran.output(f"all/{name}") == f"Worker {number} is done."
        assert (claude.project / f"made-{number}").read_text() == f"{number}\n"
    calls = {event.step: event.output for event in ran.of(ToolCallFinished)}
    assert calls == {name: f"w{number}\n[exit code 0]" for number, name in enumerate(names)}
    assert [stamped.seq for stamped in ran.events] == list(range(1, len(ran.events) + 1))


PLUGIN = """\
from awf.plugin import Plugin

plugin = Plugin("greeter", version="1.0.0")


@plugin.operation
def greet(name: str) -> str:
    return f"Hello from the plugin, {name}."


if __name__ == "__main__":
    plugin.serve()
"""
GREETING = {
    "name": "greeting",
    "prompt": "greet somebody",
    "turns": [{"tool_calls": [{"tool": "greeter_greet", "args": {"name": "Ada"}}]}, {"text": "Greeted."}],
}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_agent_can_use_a_plugin_beside_its_own_tools(provider, agent_lab):
    """AC-2: native tools and the plugin's are both there, and a call reaches the plugin."""
    lab = agent_lab(provider, [GREETING])
    (lab.project / "greeter.py").write_text(PLUGIN)
    declared = lab.project / ".awf" / "plugins.yaml"
    declared.parent.mkdir()
    declared.write_text(json.dumps({"plugins": {"greeter": {"command": [sys.executable, "greeter.py"]}}}))
    state = lab.state("greet somebody")
    state["mcp_proxy"] = {
        "enable": True,
        "intercept_builtins": False,
        "plugin_tools": [{"plugin": "greeter", "expose": ["greet"]}],
    }
    seen = await lab.steps({"work": state}, mode="plugin")
    assert seen.output == "Greeted.", seen.error
    assert [(one.tool, one.source) for one in seen.our_calls] == [("greeter_greet", "plugin:greeter")]
    assert [one.output for one in seen.our_results] == ["Hello from the plugin, Ada."]
    ours = [name for name in seen.tools if name.endswith("greeter_greet")]
    assert len(ours) == 1
    own_tools = 0 if provider == "openai_compatible" else 3  # how many there are is the program's affair
    assert len(seen.tools) > own_tools
