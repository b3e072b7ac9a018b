"""docs/reference/workflow.md"""

from __future__ import annotations

from awf.application.authoring.file_format import keys_of
from awf.domain.step_template import StepTemplate
from awf.domain.workflow import (
    STATE_CLASSES,
    STATE_TYPES,
    PluginState,
    Runnable,
    State,
    StateCommon,
    Workflow,
)
from awf.testing.reference.markdown import GENERATED, key_table, record_section, records_in, table
from awf.testing.reference.names import names_section
from awf.testing.reference.state_examples import STATE_EXAMPLES

__all__ = ["workflow_page"]

_INTRO = """\
# Workflow files

A workflow is a YAML file: what it is given, its states, and what it gives back. `awf run NAME` finds it as
`.awf/workflows/NAME.yaml`; a path works too. `awf init` and `awf new` write files to start from.

Keys are checked strictly. An unknown key, a value of the wrong type or a name that does not exist is an error with its
place, found by `awf validate` and before every run. Only `true` and `false` are truth values: `yes`, `no`, `on` and `off`
are text. Where text is wanted, a number is taken as it is written.

Editors check and complete with [workflow.schema.json](workflow.schema.json), which `awf schema` prints. The first line of
a file tells them where it is: `# yaml-language-server: $schema=…`.

## The file

```yaml
name: hello
description: Greet somebody
inputs:
  - {name: who, default: world}
states:
  initial: greet
  greet:
    type: step
    command: echo Hello, {{ inputs.who | shellquote }}!
    on_success: done
  done:
    type: terminal
    message: "{{ states.greet.output }}"
```

"""
_STATES = """\
`initial` stands under `states` and names the state to begin with:

```yaml
states:
  initial: build
  build: {type: step, command: make, on_success: done}
  done: {type: terminal}
```

## States

`type` decides what a state does. It may be written in upper or lower case.

"""
_EVERY = """\

Names of states are letters, digits, `_` and `-`, beginning with a letter or `_`.

### Keys of every state that does something

After a state, `transitions` are tried in order; the first whose condition holds is taken. Otherwise `on_success` or
`on_failure` is. A failure that nothing handles ends the run. Branches of a parallel state and states of a loop's body may
leave out `on_success`.

"""
_AGENT_BLOCK = """\
Keys of an agent may stand in a block of their own; then `type` may also be `step`:

```yaml
review:
  type: step
  agent:
    provider: scripted
    prompt: Review the change.
    options: {turns: [Good.]}
  on_success: done
```

"""
_TEMPLATES = """\
## Step templates

A state that is written once and used with different parameters: a file in `.awf/templates`.

```yaml
# .awf/templates/greet.yaml
parameters:
  - {name: who, required: true}
  - {name: seconds, default: 5}
states:
  greet:
    type: step
    command: echo Hello {{ parameters.who }}
    timeout: "{{ parameters.seconds }}"
```

```yaml
# in a workflow
hello:
  use_template: greet
  parameters: {who: Ada}
  on_success: done
```

The state takes over the keys of the template; its own keys win. `{{ parameters.NAME }}` is filled in when the file is
read, and keeps its type where it is alone in a value. A template may use another one.

"""
_NOTATION = """\
## Durations and sizes

A duration is a number of seconds, or numbers with units put together: `500ms`, `30s`, `5m`, `1h30m`, `2d`. Units are
`ns`, `us`, `ms`, `s`, `m`, `h` and `d`.

A size is a number of bytes, or a number with a unit: `64KiB`, `1MiB`, `10MB`. `KiB`, `MiB` and `GiB` count in 1024s, `KB`,
`MB` and `GB` in 1000s.
"""


def workflow_page() -> str:
    frame = [key for key in keys_of(Workflow) if key.key != "initial"]
    parts = [
        GENERATED,
        _INTRO,
        _frame_table(),
        "\n",
        _STATES,
        _types_table(),
        _EVERY,
        key_table(keys_of(Runnable)),
        "\n",
    ]
    parts += [_state_section(cls) for cls in STATE_CLASSES]
    annotations = [key.annotation for key in frame if key.key != "states"]
    annotations += [key.annotation for cls in STATE_CLASSES for key in keys_of(cls)]
    parts += ["## Parts\n\n", *(record_section(cls) for cls in records_in(annotations))]
    parts += [_TEMPLATES, key_table(keys_of(StepTemplate)), "\n"]
    parts += [record_section(cls) for cls in records_in(key.annotation for key in keys_of(StepTemplate))]
    return "".join([*parts, names_section(), "\n", _NOTATION])


def _frame_table() -> str:
    keys = [key for key in keys_of(Workflow) if key.key not in {"initial", "states"}]
    text = key_table(keys)
    states = next(key for key in keys_of(Workflow) if key.key == "states")
    return text + f"| `states` | mapping: name → [state](#states) | **required** | {states.description} |\n"


def _types_table() -> str:
    rows = [[f"[`{name}`](#{cls.kind})", (cls.__doc__ or "").strip()] for name, cls in STATE_TYPES.items()]
    rows.append([f"[`PLUGIN.TYPE`](#{PluginState.kind})", (PluginState.__doc__ or "").strip()])
    return table(["type", "what it does"], rows)


def _state_section(cls: type[State]) -> str:
    shared = {key.key for key in keys_of(Runnable if issubclass(cls, Runnable) else StateCommon)}
    own = [key for key in keys_of(cls) if key.key not in shared]
    names = [name for name, known in STATE_TYPES.items() if known is cls]
    also = f" `type: {names[1]}` means the same." if len(names) > 1 else ""
    beside = (
        "Beside the keys of every state:"
        if issubclass(cls, Runnable)
        else "It has no other keys but these and `description`:"
    )
    block = _AGENT_BLOCK if cls.kind == "agent" else ""
    example = f"```yaml\n{STATE_EXAMPLES[cls.kind]}```\n"
    return f"### {cls.kind}\n\n{cls.__doc__}{also}\n\n{example}\n{block}{beside}\n\n{key_table(own)}\n"
