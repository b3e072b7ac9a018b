"""Workflows to start from, one for each way of working. NAME stands for the name that was chosen."""

from __future__ import annotations

__all__ = ["PATTERNS"]

_STEPS = """\
#
# Shell commands one after the other. Each names the one that comes next.
#
name: NAME_IN_YAML
description: Say in one line what this workflow is for

inputs:
  - name: target
    description: What to work on
    default: world

states:
  initial: prepare

  prepare:
    type: step
    command: echo preparing {{ inputs.target | shellquote }}
    on_success: work

  work:
    type: step
    command: echo hello {{ inputs.target | shellquote }}
    capture: {stdout: result}
    timeout: 5m
    retry: {max_attempts: 3, initial_delay: 1s}
    on_success: done
    on_failure: failed

  done:
    type: terminal
    message: "{{ vars.result | trim }}"
  failed:
    type: terminal
    status: failure
    message: "{{ error.state }} failed: {{ error.message }}"
"""

_AGENT = """\
#
# A command collects facts, an agent judges them, a condition decides.
#
name: NAME_IN_YAML
description: Say in one line what this workflow is for

states:
  initial: collect

  collect:
    type: step
    command: ls
    on_success: review

  review:
    type: agent
    provider: scripted            # plays the turns below; put your agent here
    prompt: |
      These are the files of the project:
      {{ states.collect.output }}
      Is anything missing that a newcomer would look for?
    options:
      turns:
        - '{"complete": false, "missing": ["a licence"]}'
    # The answer must be JSON of this form; {{ states.review.json }} is the data.
    output_schema:
      type: object
      required: [complete, missing]
      properties:
        complete: {type: boolean}
        missing: {type: array, items: {type: string}}
    transitions:
      - when: states.review.json.complete
        goto: complete
    on_success: incomplete

  complete:
    type: terminal
    message: Nothing is missing.
  incomplete:
    type: terminal
    message: "Missing: {{ states.review.json.missing | join(', ') }}."
"""

_PARALLEL = """\
#
# Several states at the same time; one of them waits for another.
#
name: NAME_IN_YAML
description: Say in one line what this workflow is for

states:
  initial: checks

  checks:
    type: parallel
    parallel: [lint, unit, package]
    strategy: all_succeed         # any_succeed: one is enough; best_effort: none has to
    max_concurrent: 2
    on_success: done
    on_failure: failed

  lint:
    type: step
    command: echo "no findings"
  unit:
    type: step
    command: echo "12 tests passed"
  package:
    type: step
    command: echo "package built"
    depends_on: [unit]

  done:
    type: terminal
    message: |
      lint: {{ states.lint.output | trim }}
      unit: {{ states.unit.output | trim }}
      package: {{ states.package.output | trim }}
  failed:
    type: terminal
    status: failure
    message: "{{ error.message }}"
"""

_LOOP = """\
#
# The same states once for every item, then again as long as a condition holds.
#
name: NAME_IN_YAML
description: Say in one line what this workflow is for

inputs:
  - name: items
    type: array
    description: What to go through
    default: [one, two, three]

states:
  initial: each

  each:
    type: for_each
    items: "{{ inputs.items }}"
    body: [handle]
    on_complete: until

  handle:
    type: step
    command: echo {{ loop.index1 }} of {{ loop.length }} is {{ loop.item | shellquote }}

  until:
    type: while
    while: states.poll.output.trim() != 'ready'
    body: [poll]
    max_iterations: 5
    on_complete: done

  poll:
    type: step
    command: '[ {{ loop.index }} -lt 2 ] && echo waiting || echo ready'

  done:
    type: terminal
    message: Went through {{ inputs.items | length }} items, then asked {{ states.until.iterations | length }} times.
"""

_APPROVAL = """\
#
# A person is asked before the state that matters runs. Away from a terminal the question waits:
#   awf approve RUN        (RUN is the id that `awf run` shows; `awf run --yes` says yes to all)
#
name: NAME_IN_YAML
description: Say in one line what this workflow is for

inputs:
  - name: target
    description: Where to deploy to
    enum: [staging, production]
    default: staging

states:
  initial: build

  build:
    type: step
    command: echo "build 42"
    capture: {stdout: build}
    on_success: deploy

  deploy:
    type: step
    approval:
      message: Deploy {{ vars.build | trim }} to {{ inputs.target }}?
      on_deny: error              # abort: end the run; skip: go on without the state
      timeout: 1h
    command: echo deployed {{ vars.build | trim | shellquote }} to {{ inputs.target }}
    on_success: done
    on_failure: kept

  done:
    type: terminal
    message: "{{ states.deploy.output | trim }}"
  kept:
    type: terminal
    status: failure
    message: "Not deployed: {{ error.message }}"
"""

_CONVERSATION = """\
#
# Talk with an agent; /end finishes. A later step goes on in the same session.
#
name: NAME_IN_YAML
description: Say in one line what this workflow is for

states:
  initial: talk

  talk:
    type: agent
    provider: scripted            # plays the turns below; put your agent here
    mode: conversation
    conversation: {}              # keep the session
    prompt: Help me to find a name for the project.
    options:
      turns: &turns
        - What is it for?
        - Then call it "lantern".
        - The name is lantern.
    on_success: summary

  summary:
    type: agent
    provider: scripted
    conversation: {continue_from: talk}
    prompt: Which name did we agree on?
    options:
      turns: *turns
    on_success: done

  done:
    type: terminal
    message: "{{ states.summary.output }}"
"""

PATTERNS = {
    "steps": _STEPS,
    "agent": _AGENT,
    "parallel": _PARALLEL,
    "loop": _LOOP,
    "approval": _APPROVAL,
    "conversation": _CONVERSATION,
}
