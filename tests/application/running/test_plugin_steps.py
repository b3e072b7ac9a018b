"""Operations and plugin step types as states."""

from __future__ import annotations

import pytest

from awf.domain.errors import AwfError
from awf.domain.events import PluginEvent
from awf.domain.ports.plugins import OperationOutcome, PluginStepOutcome
from awf.testing.memory_plugins import MemoryPlugin, MemoryPlugins
from awf.testing.memory_tools import object_schema


def workflow(state: str, head: str = "") -> str:
    return f"""
name: x
{head}
inputs: [{{name: who, default: Ada}}]
states:
  initial: work
  work:
    {state}
    on_success: done
  done: {{type: terminal, message: "{{{{ states.work.output }}}}"}}
"""


@pytest.fixture
def greeter(lab):
    plugin = MemoryPlugin("greeter")
    plugin.operation("greet", lambda name, times=1: f"hello {name}" * times, object_schema(name="string"))
    plugin.operation("stats", lambda: {"count": 3, "names": ["a"]})
    plugin.operation("refuse", lambda: OperationOutcome(success=False, error="not today", data={"why": 1}))
    plugin.step_types["query"] = lambda step, config, inputs: f"{step} {config['sql']} {inputs['who']}"
    plugin.step_types["broken"] = lambda *_: PluginStepOutcome(output="no such table\n", exit_code=7)
    lab.plugins = MemoryPlugins(plugin)
    return plugin


async def test_an_operation_gets_its_inputs_filled_in(lab, greeter):
    ran = await lab.run(
        workflow('type: operation\n    operation: greeter.greet\n    inputs: {name: "{{ inputs.who }}"}')
    )
    assert ran.outcome.message == "hello Ada"


async def test_the_older_name_of_inputs_is_understood(lab, greeter):
    ran = await lab.run(
        workflow("type: operation\n    operation: greeter.greet\n    operation_inputs: {name: Bob}")
    )
    assert ran.output("work") == "hello Bob"


async def test_what_an_operation_gives_back_can_be_used_as_data(lab, greeter):
    text = workflow("type: operation\n    operation: greeter.stats").replace(
        "states.work.output", "states.work.json.count + 1"
    )
    ran = await lab.run(text)
    assert ran.outcome.message == "4"
    assert ran.output("work") == '{"count": 3, "names": ["a"]}'


async def test_an_operation_that_does_not_succeed_fails_the_state(lab, greeter):
    ran = await lab.run(workflow("type: operation\n    operation: greeter.refuse"))
    assert ran.outcome.status == "failed"
    error = ran.steps["work"].result.error
    assert (error.code, error.message) == ("EXECUTION.PLUGIN.FAILED", "greeter.refuse: not today")
    assert ran.steps["work"].result.json == {"why": 1}


async def test_a_plugin_that_cannot_answer_fails_the_state_which_can_be_retried(lab, greeter):
    tries = []

    def flaky():
        tries.append(1)
        if len(tries) == 1:
            raise AwfError("EXECUTION.PLUGIN.CRASHED", "It died.")
        return "better"

    greeter.operation("flaky", flaky)
    ran = await lab.run(
        workflow(
            "type: operation\n    operation: greeter.flaky\n    retry: {max_attempts: 2, initial_delay: 1ms}"
        )
    )
    assert (ran.outcome.status, ran.output("work@2")) == ("completed", "better")


async def test_a_step_type_of_a_plugin_gets_config_and_inputs(lab, greeter):
    ran = await lab.run(workflow('type: greeter.query\n    config: {sql: "select {{ inputs.who }}"}'))
    assert ran.output("work") == "work select Ada Ada"


async def test_a_plugin_step_with_an_exit_code_fails(lab, greeter):
    ran = await lab.run(workflow("type: greeter.broken"))
    result = ran.steps["work"].result
    assert (result.exit_code, result.error.code) == (7, "EXECUTION.PLUGIN.FAILED")
    assert "no such table" in result.error.message


async def test_a_short_name_stands_for_a_plugin(lab, greeter):
    ran = await lab.run(
        workflow(
            "type: operation\n    operation: g.greet\n    inputs: {name: Bob}", head="plugins: {g: greeter}"
        )
    )
    assert ran.output("work") == "hello Bob"


async def test_a_resumed_run_does_not_repeat_a_finished_operation(lab, greeter):
    text = """
name: x
states:
  initial: first
  first: {type: operation, operation: greeter.stats, on_success: second}
  second: {type: step, command: test -e go, on_success: done}
  done: {type: terminal}
"""
    ran = await lab.run(text)
    assert ran.outcome.status == "failed"
    lab.write("go", "")
    again = await lab.resume(ran.run_id)
    assert again.outcome.status == "completed"
    assert [name for _, name, _ in lab.plugins.executed] == ["stats"]


async def test_plugins_hear_of_what_they_subscribed_to_and_their_answers_are_recorded(lab, greeter):
    greeter.wants = ("step.completed",)
    ran = await lab.run(workflow("type: operation\n    operation: greeter.stats"))
    assert [stamped.event.step for stamped in greeter.heard] == ["work"]
    (said,) = ran.of(PluginEvent)
    assert (said.plugin, said.name, said.payload) == ("greeter", "heard", {"type": "step.completed"})
