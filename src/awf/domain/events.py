"""What happened, in the order it happened. One stream feeds the terminal, the store, editors and traces.

On the wire an event is one JSON object: ``type``, ``run_id``, ``seq``, ``time``, ``path`` and its own fields.
`path` names the step: ``build``, ``build#2`` (second visit), ``loop[3]/test`` (iteration), ``fan/lint`` (branch),
``call/check`` (inside a called workflow).
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal, Union

import msgspec

__all__ = [
    "EVENT_FORMAT",
    "EVENT_TYPES",
    "AgentIsolation",
    "AgentText",
    "AgentThought",
    "AgentTool",
    "AgentUsage",
    "ApprovalRequired",
    "ApprovalResolved",
    "Event",
    "InputReceived",
    "InputRequired",
    "LogLine",
    "PluginEvent",
    "Stamped",
    "StepCompleted",
    "StepFailed",
    "StepOutput",
    "StepRetrying",
    "StepSkipped",
    "StepStarted",
    "ToolCallFinished",
    "ToolCallStarted",
    "Warned",
    "WorkflowCancelled",
    "WorkflowCompleted",
    "WorkflowFailed",
    "WorkflowResumed",
    "WorkflowStarted",
    "event_fields",
    "same_step",
    "stamped_from",
]

EVENT_FORMAT = 1
_COUNTS = re.compile(r"\[[^\]]*\]|[#@]\d+")


def same_step(path: str) -> str:
    """What all visits, iterations and attempts of a step have in common: `call/loop#2[3]/test` → `call/loop/test`."""
    return _COUNTS.sub("", path)


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    path: str = ""


class WorkflowStarted(Event, frozen=True, kw_only=True, tag="workflow.started"):
    workflow: str
    source: str = ""
    inputs: dict[str, Any] = {}
    format: int = EVENT_FORMAT
    version: str = ""
    parent: str = ""


class WorkflowResumed(Event, frozen=True, kw_only=True, tag="workflow.resumed"):
    workflow: str
    finished_steps: int = 0
    format: int = EVENT_FORMAT
    version: str = ""


class WorkflowCompleted(Event, frozen=True, kw_only=True, tag="workflow.completed"):
    workflow: str
    duration_ms: int
    message: str = ""
    outputs: dict[str, Any] = {}
    usage: dict[str, Any] | None = None


class WorkflowFailed(Event, frozen=True, kw_only=True, tag="workflow.failed"):
    workflow: str
    duration_ms: int
    code: str
    message: str
    hint: str = ""
    state: str = ""
    exit_status: int = 3
    usage: dict[str, Any] | None = None


class WorkflowCancelled(Event, frozen=True, kw_only=True, tag="workflow.cancelled"):
    workflow: str
    duration_ms: int
    reason: str = ""


class StepStarted(Event, frozen=True, kw_only=True, tag="step.started"):
    step: str
    kind: str
    attempt: int = 1
    description: str = ""
    detail: str = ""  # the command or the provider, in short
    total: int = 0  # how many branches or items lie below, where known


class StepCompleted(Event, frozen=True, kw_only=True, tag="step.completed"):
    step: str
    kind: str
    duration_ms: int
    exit_code: int = 0
    output: str = ""  # the last lines, for people
    usage: dict[str, Any] | None = None
    attempts: int = 1


class StepFailed(Event, frozen=True, kw_only=True, tag="step.failed"):
    step: str
    kind: str
    duration_ms: int
    code: str
    message: str
    exit_code: int = 0
    output: str = ""
    stderr: str = ""
    cancelled: bool = False
    handled: bool = False  # the workflow has a way on from here
    attempts: int = 1


class StepRetrying(Event, frozen=True, kw_only=True, tag="step.retrying"):
    step: str
    attempt: int  # the one that comes next
    max_attempts: int
    delay_ms: int
    code: str
    message: str


class StepSkipped(Event, frozen=True, kw_only=True, tag="step.skipped"):
    step: str
    kind: str
    reason: str


class StepOutput(Event, frozen=True, kw_only=True, tag="step.output"):
    """Live output of a command."""

    step: str
    stream: Literal["stdout", "stderr"]
    text: str


class AgentText(Event, frozen=True, kw_only=True, tag="agent.text"):
    step: str
    text: str


class AgentThought(Event, frozen=True, kw_only=True, tag="agent.thought"):
    step: str
    text: str


class AgentTool(Event, frozen=True, kw_only=True, tag="agent.tool"):
    """A tool call as the agent reports it."""

    step: str
    call_id: str
    name: str
    phase: Literal["started", "finished"]
    input: dict[str, Any] = {}
    output: str = ""
    is_error: bool = False
    bypass: bool = False  # a tool of the agent's own, although it was to have only those of the proxy


class AgentIsolation(Event, frozen=True, kw_only=True, tag="agent.isolation"):
    """Whether an agent is kept to the tools of its proxy. It is said again when more is known."""

    step: str
    provider: str
    isolation: Literal["guaranteed", "best_effort", "none"]
    version: str = ""
    tools: list[str] = []


class ToolCallStarted(Event, frozen=True, kw_only=True, tag="tool.call.started"):
    """A tool call that AWF carries out, whoever made it."""

    step: str
    call_id: str
    tool: str
    source: str  # builtin, plugin:NAME or mcp:SERVER
    input: dict[str, Any] = {}


class ToolCallFinished(Event, frozen=True, kw_only=True, tag="tool.call.finished"):
    step: str
    call_id: str
    tool: str
    source: str
    duration_ms: int
    is_error: bool = False
    error: str = ""  # a code such as TIMEOUT, where it failed
    output: str = ""  # the beginning, for people
    cancelled: bool = False


class AgentUsage(Event, frozen=True, kw_only=True, tag="agent.usage"):
    step: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    cost_source: str = "unknown"
    context_window: int | None = None  # how many tokens the model can hold, where the agent tells


class ApprovalRequired(Event, frozen=True, kw_only=True, tag="approval.required"):
    step: str
    approval_id: str
    message: str
    on_deny: str = "abort"
    tool: str = ""  # the tool that is to be called, where it is about a call
    input: dict[str, Any] = {}  # and its arguments
    rule: str = ""  # of the policy, that wants it asked

    @property
    def consent(self) -> str:
        """What a yes to more than this question is about: the step, whichever time it runs, the tool, and why it was asked."""
        return f"{same_step(self.path)}:{self.tool}:{self.rule}"


class ApprovalResolved(Event, frozen=True, kw_only=True, tag="approval.resolved"):
    step: str
    approval_id: str
    outcome: Literal["once", "run", "reject", "timeout"]
    by: str = ""


class InputRequired(Event, frozen=True, kw_only=True, tag="input.required"):
    step: str
    input_id: str
    prompt: str = ""
    said: str = ""  # what the agent said last, to be answered


class InputReceived(Event, frozen=True, kw_only=True, tag="input.received"):
    step: str
    input_id: str
    text: str = ""


class LogLine(Event, frozen=True, kw_only=True, tag="log"):
    """A line written by a `log` hook."""

    message: str


class PluginEvent(Event, frozen=True, kw_only=True, tag="plugin.event"):
    """Something a plugin had to say about an event it was told of."""

    plugin: str
    name: str
    payload: dict[str, Any] = {}


class Warned(Event, frozen=True, kw_only=True, tag="warning"):
    """Something a person should know that does not stop the run."""

    message: str
    code: str = ""


EVENT_TYPES: tuple[type[Event], ...] = (
    WorkflowStarted,
    WorkflowResumed,
    WorkflowCompleted,
    WorkflowFailed,
    WorkflowCancelled,
    StepStarted,
    StepCompleted,
    StepFailed,
    StepRetrying,
    StepSkipped,
    StepOutput,
    AgentText,
    AgentThought,
    AgentTool,
    AgentUsage,
    AgentIsolation,
    ToolCallStarted,
    ToolCallFinished,
    ApprovalRequired,
    ApprovalResolved,
    InputRequired,
    InputReceived,
    LogLine,
    PluginEvent,
    Warned,
)


class Stamped(msgspec.Struct, frozen=True):
    """An event with its place in the stream of one run."""

    run_id: str
    seq: int
    time: float
    event: Event


def event_fields(stamped: Stamped) -> dict[str, Any]:
    """The event as it goes over the wire."""
    body: dict[str, Any] = msgspec.to_builtins(stamped.event)
    head = {"type": body.pop("type"), "run_id": stamped.run_id, "seq": stamped.seq, "time": stamped.time}
    path = body.pop("path", "")
    return {**head, "path": path, **body}


@functools.cache
def _any_event() -> Any:
    return Union[EVENT_TYPES]  # noqa: UP007  built from a tuple


def stamped_from(fields: dict[str, Any]) -> Stamped | None:
    """The event that `event_fields` wrote; None for one that this version does not know."""
    try:
        event: Event = msgspec.convert(fields, _any_event())
    except msgspec.ValidationError:
        return None
    return Stamped(
        str(fields.get("run_id", "")), int(fields.get("seq", 0)), float(fields.get("time", 0)), event
    )
