"""A small example for each type of state. The tests put a workflow around them and validate it."""

from __future__ import annotations

import textwrap

__all__ = ["CALLED", "PLUGINS", "STATE_EXAMPLES", "whole_workflow"]

PLUGINS = "plugins: {kubernetes: {command: [kubernetes]}, database: {command: [database]}}\n"

CALLED = """\
name: build
inputs: [{name: version, required: true}]
states:
  initial: compile
  compile: {type: step, command: "echo {{ inputs.version }}", on_success: done}
  done: {type: terminal}
"""

STATE_EXAMPLES = {
    "step": """\
test:
  type: step
  command: make test
  timeout: 10m
  retry: {max_attempts: 2}
  capture: {stdout: report}
  transitions:
    - when: states.test.exit_code == 0 && inputs.release
      goto: release
  on_success: done
  on_failure: {message: "The tests fail.", status: 3}
release:
  type: step
  command: make release
  on_success: done
""",
    "agent": """\
diff:
  type: step
  command: git diff
  on_success: review
review:
  type: agent
  provider: scripted
  system_prompt: You are a careful reviewer.
  prompt: |
    Review this change to {{ inputs.target }} and answer with JSON:
    {{ states.diff.output }}
  options:
    turns: ['{"good": true}']
  output_schema:
    type: object
    required: [good]
  transitions:
    - {when: states.review.json.good, goto: done}
  on_success: refused
refused:
  type: terminal
  status: failure
  message: The reviewer is not content.
""",
    "parallel": """\
checks:
  type: parallel
  parallel: [lint, unit, package]
  strategy: all_succeed
  max_concurrent: 2
  on_success: done
lint: {type: step, command: make lint}
unit: {type: step, command: make unit}
package: {type: step, command: make package, depends_on: [unit]}
""",
    "for_each": """\
each:
  type: for_each
  items: [north, south, "{{ inputs.target }}"]
  body: [visit]
  break_when: states.visit.output.contains('stop')
  on_complete: done
visit:
  type: step
  command: echo {{ loop.index1 }} {{ loop.item | shellquote }}
""",
    "while": """\
wait:
  type: while
  while: states.ask.output.trim() != 'ready'
  body: [ask]
  max_iterations: 20
  on_complete: done
ask:
  type: step
  command: ./is-it-ready.sh
  continue_on_error: true
""",
    "call_workflow": """\
build:
  type: call_workflow
  workflow: ./build.yaml
  inputs: {version: "{{ inputs.target }}"}
  outputs: {compile: artifact}
  on_success: tell
tell:
  type: step
  command: echo {{ states.build.outputs.artifact | shellquote }}
  on_success: done
""",
    "operation": """\
pods:
  type: operation
  operation: kubernetes.kubectl_get
  inputs: {resource: pods, namespace: "{{ inputs.target }}"}
  timeout: 30s
  on_success: done
""",
    "plugin": """\
rows:
  type: database.query
  config: {sql: "select * from {{ inputs.target }}"}
  on_success: done
""",
    "terminal": """\
decide:
  type: step
  command: ./decide.sh
  on_success: done
  on_failure: refused
refused:
  type: terminal
  status: failure
  message: "Refused: {{ error.message }}"
  exit_code: 7
""",
}


def whole_workflow(states: str) -> str:
    """The states in a workflow of their own; the first one begins."""
    first = states.split(":", 1)[0]
    head = "name: example\ninputs:\n  - {name: target, default: here}\n  - {name: release, type: boolean, default: false}\n"
    body = textwrap.indent(states, "  ")
    return f"{head}states:\n  initial: {first}\n{body}  done: {{type: terminal}}\n"
