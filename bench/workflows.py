"""The workflow files that are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "SMALL",
    "WITH_CONDITION",
    "WITH_JINJA",
    "branches",
    "chain",
    "for_each",
    "large",
    "one_output",
    "pipeline",
]

SMALL = """\
name: release
version: "1.0"
description: Test, tag and publish
inputs:
  - {name: version, type: string, required: true}
  - {name: remote, default: origin}
states:
  initial: test
  test:
    type: step
    command: make test VERSION={{ inputs.version }}
    timeout: 10m
    retry: {max_attempts: 2, initial_delay: 2s}
    on_success: tag
    on_failure: failed
  tag:
    type: step
    command: git tag v{{ inputs.version }} && git push {{ inputs.remote }} v{{ inputs.version }}
    on_success: done
    on_failure: failed
  done: {type: terminal, message: "Released {{ inputs.version }}: {{ states.tag.output }}"}
  failed: {type: terminal, status: failure, message: "{{ error.message }}"}
"""

WITH_CONDITION = SMALL.replace(
    "    on_success: tag\n",
    "    transitions:\n      - when: states.test.exit_code == 0 && inputs.version != ''\n        goto: tag\n",
)

WITH_JINJA = SMALL.replace("v{{ inputs.version }} &&", "v{{ inputs.version | default('1.0') | lower }} &&")


def _file(name: str, initial: str, states: Iterable[str], last: str = "done") -> str:
    head = f"name: {name}\nstates:\n  initial: {initial}\n"
    return f"{head}{''.join(states)}  {last}: {{type: terminal}}\n"


def chain(steps: int, command: str = "true") -> str:
    """States that lead from one to the next."""
    return _file(
        "chain",
        "s0",
        (
            f"  s{n}: {{type: step, command: '{command}', on_success: {f's{n + 1}' if n + 1 < steps else 'done'}}}\n"
            for n in range(steps)
        ),
    )


def for_each(items: int, command: str = "true") -> str:
    listed = ", ".join(map(str, range(items)))
    loop = f"  all: {{type: for_each, items: [{listed}], body: [one], on_complete: done}}\n"
    return _file("loop", "all", [loop, f"  one: {{type: step, command: '{command}'}}\n"])


def branches(count: int, at_once: int, command: str = "true") -> str:
    names = [f"b{n}" for n in range(count)]
    fan = f"  fan: {{type: parallel, parallel: [{', '.join(names)}], max_concurrent: {at_once}, on_success: done}}\n"
    return _file(
        "fan", "fan", [fan, *(f"  {name}: {{type: step, command: '{command}'}}\n" for name in names)]
    )


def one_output(megabytes: int) -> str:
    """One step that prints this much, in lines."""
    command = f"yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c {megabytes}000000"
    return _file("output", "print", [f"  print: {{type: step, command: '{command}', on_success: done}}\n"])


def pipeline(number: int, following: str) -> str:
    """Thirteen states of the kinds people write: build, review, fan out, loop, decide."""
    n = f"{number:03}"
    return f"""\
  # -- component {n} -------------------------------------------------------------
  build_{n}:
    type: step
    description: Build component {n}
    command: |
      set -eu
      cd {{{{ inputs.workspace }}}}/components/c{n}
      make build VERSION={{{{ inputs.version }}}} TARGET="{{{{ inputs.target }}}}"
      echo "built c{n}"
    env:
      COMPONENT: c{n}
      BUILD_ID: "{{{{ workflow.id }}}}-{n}"
    timeout: 15m
    retry: {{max_attempts: 3, initial_delay: 2s, backoff: exponential}}
    capture:
      stdout: build_log_{n}
      max_size: 64KiB
    on_success: checks_{n}
    on_failure: diagnose_{n}
  checks_{n}:
    type: parallel
    parallel: [lint_{n}, types_{n}, unit_{n}]
    strategy: all_succeed
    max_concurrent: 2
    on_success: decide_{n}
    on_failure: diagnose_{n}
  lint_{n}:
    type: step
    command: make -C components/c{n} lint
    timeout: 5m
  types_{n}:
    type: step
    command: make -C components/c{n} types
    timeout: 5m
  unit_{n}:
    type: step
    command: make -C components/c{n} test REPORT={{{{ awf.data_dir }}}}/unit-{n}.json
    timeout: 20m
    depends_on: [lint_{n}]
  decide_{n}:
    type: step
    command: git diff --stat {{{{ inputs.base }}}} -- components/c{n}
    transitions:
      - when: states.decide_{n}.output.contains("no changes")
        goto: each_{n}
      - when: states.checks_{n}.exit_code == 0 && inputs.review == true
        goto: review_{n}
      - goto: each_{n}
  diagnose_{n}:
    type: agent
    provider: scripted
    prompt: |
      The build of c{n} failed with {{{{ error.message }}}}.
      Standard error:
      {{{{ states.build_{n}.stderr | default('') | truncate(2000) }}}}
      Find the cause and propose a fix.
    options:
      turns: [{{do: [{{say: Fixed.}}]}}]
    timeout: 10m
    on_success: decide_{n}
    on_failure: failed
  review_{n}:
    type: agent
    provider: scripted
    system_prompt: You review changes with care. Answer in {{{{ inputs.language }}}}.
    prompt: |
      Review component c{n} at version {{{{ inputs.version }}}}.
      The change:
      {{{{ states.decide_{n}.output }}}}
    options:
      turns: [{{do: [{{say: Looks good.}}]}}]
    approval: {{message: "Review c{n}?", on_deny: skip}}
    on_success: each_{n}
    on_failure: {{message: "The review of c{n} failed: {{{{ error.message }}}}", status: 3}}
  each_{n}:
    type: for_each
    items: "{{{{ inputs.regions }}}}"
    body: [deploy_{n}, verify_{n}]
    max_iterations: 20
    break_when: states.verify_{n}.exit_code != 0
    on_complete: settle_{n}
    on_failure: failed
  deploy_{n}:
    type: step
    command: ./deploy.sh --component c{n} --region {{{{ loop.item }}}} --version {{{{ inputs.version }}}}
  verify_{n}:
    type: step
    command: ./verify.sh c{n} "{{{{ loop.item }}}}" {{{{ loop.index1 }}}} of {{{{ loop.length }}}}
    retry: {{max_attempts: 5, initial_delay: 1s}}
  settle_{n}:
    type: while
    while: states.probe_{n}.output != "settled"
    body: [probe_{n}]
    max_iterations: 30
    on_complete: {following}
    on_failure: failed
  probe_{n}:
    type: step
    command: ./probe.sh c{n} {{{{ vars.build_log_{n} | default('none') | length }}}}
"""


_LARGE_HEAD = """\
name: everything
version: "3.2"
description: Builds, reviews and deploys every component
inputs:
  - {name: workspace, default: .}
  - {name: version, required: true, validation: {pattern: "^[0-9]+[.][0-9]+$"}}
  - {name: target, default: release, enum: [debug, release]}
  - {name: base, default: main}
  - {name: language, default: English}
  - {name: review, type: boolean, default: true}
  - {name: regions, type: array, default: [north, south]}
states:
  initial: build_000
"""

_LARGE_TAIL = """\
  done: {type: terminal, message: "Everything is out: {{ inputs.version }}"}
  failed: {type: terminal, status: failure, message: "{{ error.state }}: {{ error.message }}"}
"""


def large(components: int = 101) -> str:
    """About a hundred lines per component."""
    following = [f"build_{n + 1:03}" for n in range(components - 1)] + ["done"]
    return _LARGE_HEAD + "".join(pipeline(n, target) for n, target in enumerate(following)) + _LARGE_TAIL
