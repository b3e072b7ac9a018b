"""The texts of a new plugin: for each language what every plugin has, and a part for each kind of thing it can offer."""

from __future__ import annotations

__all__ = ["KINDS", "MANIFEST", "NODE", "NODE_MAIN", "NODE_TEST", "PYTHON", "PYTHON_TEST", "USES"]

KINDS = {"operation": "operations", "step_type": "step_types", "validator": "validators", "events": "events"}

MANIFEST = {
    "": """\
# What AWF knows of this plugin without starting it. All keys: docs/plugins.md
name: YAML_NAME
version: 0.1.0
description: What NAME is for
PROGRAM
capabilities: [CAPABILITIES]
""",
    "operation": """\
# Settings that a project gives in .awf/plugins.yaml: {plugins: {NAME: {config: {greeting: Hi}}}}
config:
  greeting:
    type: string
    default: Hello
    description: The word to greet with
""",
    "events": """\
# Events that it is told of, and those that it may send.
events:
  subscribe: ["workflow.*"]
  emit: [NAME.noticed]
""",
}

PYTHON = {
    "": '''\
"""The plugin NAME. How to write one: docs/plugins.md"""

from __future__ import annotations

from typing import Any

from awf.plugin import IMPORTS

plugin = Plugin("NAME", version="0.1.0", description="What NAME is for")

''',
    "operation": '''
settings: dict[str, Any] = {"greeting": "Hello"}


@plugin.configure
def configure(config: dict[str, Any]) -> None:
    settings.update(config)


# An operation is a tool for agents and a state for workflows. The type hints are its schema, the docstring tells
# agents what it is for; raise OperationError to say in your own words what went wrong.
@plugin.operation(read_only=True)
def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Whom to greet
        times: How often
    """
    if times < 1:
        raise OperationError(f"times has to be 1 or more, not {times}.")
    return "\\n".join([f"{settings['greeting']}, {name}!"] * times)

''',
    "step_type": '''
# A step type is a kind of state of its own: `type: NAME.join`. A StepOutcome with another exit code than 0 fails.
@plugin.step_type("join")
def join(config: dict[str, Any]) -> StepOutcome:
    """Join the texts of `config: {texts: [...], separator: ...}`."""
    texts = [str(text) for text in config.get("texts", [])]
    if not texts:
        return StepOutcome("config.texts is empty.", exit_code=1)
    return StepOutcome(str(config.get("separator", " ")).join(texts), {"count": len(texts)})

''',
    "validator": """
# A validator sees every workflow before it runs, and in `awf validate`.
@plugin.validator
def states_are_described(workflow: dict[str, Any]) -> Iterator[Issue]:
    for name, state in workflow.get("states", {}).items():
        if isinstance(state, dict) and state.get("type") == "agent" and not state.get("description"):
            yield Issue("This agent has no description.", severity="warning", step=name, field="description")

""",
    "events": """
# Called for every event that fits, while the run goes on. Events that it gives back have to be in plugin.yaml.
@plugin.on("workflow.*")
def notice(event: Event) -> list[Event]:
    print(f"{event.type} {event.payload.get('workflow', '')}")  # goes to the log
    return [Event("NAME.noticed", {"type": event.type})] if event.type != "workflow.started" else []

""",
    "end": """
if __name__ == "__main__":
    plugin.serve()
""",
}

PYTHON_TEST = {
    "": '''\
"""Run with: python -m pytest .awf/plugins/NAME"""

from __future__ import annotations

from awf.plugin.testing import IMPORTS
from plugin import plugin
''',
    "operation": """

def test_greet() -> None:
    assert call(plugin, "greet", name="Ada").output == "Hello, Ada!"


def test_greeting_nobody_is_refused() -> None:
    assert call(plugin, "greet").error == "greet: name is missing"
""",
    "step_type": """

def test_join() -> None:
    assert step(plugin, "join", {"texts": ["a", "b"]}).output == "a b"
    assert step(plugin, "join", {}).exit_code == 1
""",
    "validator": """

def test_an_agent_without_a_description_is_noticed() -> None:
    (issue,) = validate(plugin, {"states": {"initial": "ask", "ask": {"type": "agent"}}})
    assert (issue.severity, issue.step) == ("warning", "ask")
""",
    "events": """

def test_the_end_of_a_run_is_noticed() -> None:
    assert send_event(plugin, "workflow.started", workflow="x") == []
    assert [event.type for event in send_event(plugin, "workflow.completed", workflow="x")] == ["NAME.noticed"]
""",
}

NODE = {
    "": """\
// The plugin NAME. How to write one: docs/plugins.md
BEFORE
export const plugin = {
  name: 'NAME',
  version: '0.1.0',
  description: 'What NAME is for',
""",
    "operation": """
  configure: (config) => {
    settings = { ...settings, ...config }
  },

  // An operation is a tool for agents and a state for workflows. Throw a Failure to say what went wrong.
  operations: {
    greet: {
      description: 'Greet somebody.',
      readOnly: true,
      inputs: {
        name: { type: 'string', required: true, description: 'Whom to greet' },
        times: { type: 'integer', default: 1, description: 'How often' },
      },
      run: ({ name, times }) => {
        if (times < 1) throw new Failure(`times has to be 1 or more, not ${times}.`)
        return Array(times).fill(`${settings.greeting}, ${name}!`).join('\\n')
      },
    },
  },
""",
    "step_type": """
  // A step type is a kind of state of its own: `type: NAME.join`. A Failure makes the step fail.
  stepTypes: {
    join: {
      description: 'Join the texts of `config: {texts: [...], separator: ...}`.',
      run: ({ texts = [], separator = ' ' }) => {
        if (texts.length === 0) throw new Failure('config.texts is empty.')
        return texts.join(separator)
      },
    },
  },
""",
    "validator": """
  // A validator sees every workflow before it runs, and in `awf validate`.
  validate: (workflow) =>
    Object.entries(workflow.states ?? {})
      .filter(([, state]) => state?.type === 'agent' && !state.description)
      .map(([step]) => ({ severity: 'warning', message: 'This agent has no description.', step, field: 'description' })),
""",
    "events": """
  // Called for every event of plugin.yaml, while the run goes on. Events that it gives back have to be there too.
  onEvent: (event) => {
    console.log(`${event.type} ${event.payload.workflow ?? ''}`) // goes to the log
    return event.type === 'workflow.started' ? [] : [{ type: 'NAME.noticed', payload: { type: event.type } }]
  },
""",
    "end": "}\n",
}

NODE_MAIN = """\
import { serve } from './awf_plugin.mjs'
import { plugin } from './plugin.mjs'

serve(plugin)
"""

NODE_TEST = {
    "": """\
// Run with: node --test .awf/plugins/NAME/plugin.test.mjs
import assert from 'node:assert'
import { test } from 'node:test'
IMPORT_LINEimport { plugin } from './plugin.mjs'
""",
    "operation": """
test('greets', async () => {
  assert.equal((await call(plugin, 'greet', { name: 'Ada' })).output, 'Hello, Ada!')
  assert.equal((await call(plugin, 'greet')).error, 'greet: name is missing')
})
""",
    "step_type": """
test('joins', () => {
  assert.equal(plugin.stepTypes.join.run({ texts: ['a', 'b'] }), 'a b')
  assert.throws(() => plugin.stepTypes.join.run({}))
})
""",
    "validator": """
test('notices an agent without a description', () => {
  const [issue] = plugin.validate({ states: { initial: 'ask', ask: { type: 'agent' } } })
  assert.equal(issue.step, 'ask')
})
""",
    "events": """
test('notices the end of a run', () => {
  const event = (type) => ({ type, payload: { workflow: 'x' } })
  assert.deepEqual(plugin.onEvent(event('workflow.started')), [])
  assert.equal(plugin.onEvent(event('workflow.completed'))[0].type, 'NAME.noticed')
})
""",
}

USES = {
    "operation": """
An operation in a workflow, and as a tool of an agent:

```yaml
  hello:
    type: operation
    operation: NAME.greet
    inputs: {name: Ada}
    on_success: done

  ask:
    type: agent
    mcp_proxy:
      enable: true
      plugin_tools: [{plugin: NAME, expose: [greet]}]
```
""",
    "step_type": """
Its own kind of step:

```yaml
  joined:
    type: NAME.join
    config: {texts: [one, two], separator: ", "}
    on_success: done
```
""",
    "validator": """
Its validator speaks in `awf validate` and before each run.
""",
    "events": """
It is told of the events that `plugin.yaml` names, in every run of this project.
""",
}
