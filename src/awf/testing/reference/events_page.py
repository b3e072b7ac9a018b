"""docs/reference/events.md"""

from __future__ import annotations

import types
import typing
from typing import Any, Literal

import msgspec

from awf.domain.events import EVENT_FORMAT, EVENT_TYPES, Event
from awf.testing.reference.markdown import GENERATED, table

__all__ = ["events_page"]

_INTRO = f"""\
# Events

What happens in a run is one ordered stream. `awf run -o ndjson` prints it while it happens, `awf logs RUN -o ndjson` later;
each event is one JSON object on one line. The first one carries the id of the run and the version of this format, which
is {EVENT_FORMAT}. Fields may be added in later versions; those that are here stay.

```json
{{"type":"step.completed","run_id":"20261115-214503-k3f9","seq":4,"time":1794865503.1,"path":"build","step":"build","kind":"step","duration_ms":812,"exit_code":0}}
```

## In every event

"""
_HEAD = [
    ["`type`", "text", "What happened."],
    ["`run_id`", "text", "The run."],
    ["`seq`", "whole number", "The place in the stream of the run, from 1."],
    ["`time`", "number", "Seconds since 1970."],
    ["`path`", "text", "The step: `build`, `build#2` (second visit), `loop[3]/test` (iteration), `fan/lint` (branch), `call/check` (called workflow); empty for the run itself."],
]  # fmt: skip
_MEANINGS = {
    "workflow.started": "A run begins. `inputs` are masked, `parent` is the run it was started from.",
    "workflow.resumed": "A run goes on; `finished_steps` are not repeated.",
    "workflow.completed": "It ended well, with its message and outputs.",
    "workflow.failed": "It ended in failure: why, where, and the exit status.",
    "workflow.cancelled": "Somebody stopped it.",
    "step.started": "A state begins, or is tried again. `detail` is the command or the provider in short, `total` the number of branches or items.",
    "step.completed": "It succeeded. `output` is the end of its output, for people.",
    "step.failed": "It failed. `handled`: the workflow has a way on from here.",
    "step.retrying": "It failed and will be tried again after a pause.",
    "step.skipped": "It did not run.",
    "agent.text": "A piece of an agent's answer.",
    "agent.thought": "A piece of what an agent thinks aloud.",
    "agent.usage": "What an agent's call used, as far as it is known.",
    "tool.call.finished": "The call has ended; `error` is a code such as `TIMEOUT` where it failed.",
    "approval.required": "A person is asked whether a state may run or a tool may be called; `awf approve` answers.",
    "approval.resolved": "The answer, and who gave it.",
    "input.required": "A conversation waits for the person.",
    "input.received": "What the person said.",
}
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any value"}


def events_page() -> str:
    parts = [GENERATED, _INTRO, table(["field", "type", "meaning"], _HEAD)]
    return "".join([*parts, *(_section(cls) for cls in EVENT_TYPES)])


def _section(cls: type[Event]) -> str:
    tag = str(cls.__struct_config__.tag)
    said = _MEANINGS.get(tag) or (cls.__doc__ or "").strip()
    if not said:
        raise LookupError(f"The event {tag} needs a sentence.")
    hints = typing.get_type_hints(cls)
    rows = [
        [f"`{field.name}`", _words(hints[field.name]), _default(field)]
        for field in msgspec.structs.fields(cls)
        if field.name != "path"
    ]
    return f"\n## {tag}\n\n{said}\n\n{table(['field', 'type', 'default'], rows)}"


def _words(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join("null" if member is type(None) else _words(member) for member in arguments)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin is list:
        return f"list: {_words(arguments[0])}"
    return "object" if origin is dict else _WORDS[annotation]


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "always there"
    value = field.default
    if value is msgspec.NODEFAULT:
        return "`{}`"
    return f"`{msgspec.json.encode(value).decode()}`"
