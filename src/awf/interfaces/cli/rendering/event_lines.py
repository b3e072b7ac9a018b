"""Events become lines of plain text. The same for a live run in a pipe and for `awf logs` afterwards."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from awf.domain import events
from awf.domain.events import stamped_from
from awf.interfaces.cli.rendering import run_lines, step_lines
from awf.interfaces.cli.rendering.cause import FailureCause
from awf.interfaces.cli.rendering.figures import counted, duration_text, usage_text
from awf.interfaces.cli.rendering.line_buffer import LineBuffer
from awf.interfaces.cli.rendering.lines import Line, Span, fields, indented, line, line_text
from awf.interfaces.cli.rendering.paths import depth
from awf.interfaces.cli.rendering.terminal_text import flat, text_lines
from awf.interfaces.cli.rendering.tool_text import tool_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TAIL_LINES", "EventLines", "failure_output", "render_log_event"]

TAIL_LINES = 20


def failure_output(event: events.StepFailed, count: int = TAIL_LINES) -> list[str]:
    """The last lines that a failed step wrote, as the event tells it."""
    return [*text_lines(event.output), *text_lines(event.stderr)][-count:]


class _Talk:
    """What a step that still runs has written, and the tools it is using."""

    def __init__(self) -> None:
        self.buffers: dict[str, LineBuffer] = {}
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.written = 0
        self.tools: dict[str, tuple[float, dict[str, Any]]] = {}

    def buffer(self, stream: str) -> LineBuffer:
        return self.buffers.setdefault(stream, LineBuffer())

    def keep(self, lines: list[str]) -> list[str]:
        self.tail.extend(lines)
        self.written += len(lines)
        return lines


class EventLines:
    """Turns one event after the other into lines. Remembers only what steps that still run have said."""

    def __init__(self, *, verbose: int = 0) -> None:
        self._verbose = verbose
        self._talks: dict[str, _Talk] = {}
        self._cause = FailureCause()
        self._say: dict[type[events.Event], Callable[[Any], list[Line]]] = {
            events.StepStarted: step_lines.started,
            events.StepCompleted: self._completed,
            events.StepFailed: self._failed,
            events.StepRetrying: self._retrying,
            events.StepSkipped: step_lines.skipped,
            events.StepOutput: self._output,
            events.AgentText: self._text,
            events.AgentThought: self._thought,
            events.AgentUsage: self._usage,
            events.ToolCallFinished: self._carried_out,
            events.PluginEvent: self._plugin,
            events.AgentIsolation: self._isolated,
            events.ApprovalResolved: run_lines.approval_resolved,
            events.InputRequired: run_lines.input_required,
            events.InputReceived: self._received,
            events.LogLine: run_lines.logged,
            events.Warned: run_lines.warned,
            events.WorkflowCompleted: run_lines.completed,
        }

    def lines(self, stamped: events.Stamped) -> list[Line]:
        event = stamped.event
        if isinstance(event, _OF_A_WORKFLOW) and event.path:
            return []  # a called workflow: its step says the same
        say = self._say.get(type(event))
        return say(event) if say else self._of_the_run(stamped)

    def _of_the_run(self, stamped: events.Stamped) -> list[Line]:
        run_id = stamped.run_id
        match stamped.event:
            case events.AgentTool() as event:
                return self._tool(event, stamped.time)
            case events.WorkflowStarted() as event:
                return run_lines.started(run_id, event)
            case events.WorkflowResumed() as event:
                return run_lines.resumed(run_id, event)
            case events.WorkflowFailed() as event:
                return run_lines.failed(run_id, event, self._cause)
            case events.WorkflowCancelled() as event:
                return run_lines.cancelled(run_id, event)
            case events.ApprovalRequired() as event:
                return run_lines.approval_required(run_id, event)
        return []

    def _talk(self, path: str) -> _Talk:
        return self._talks.setdefault(path, _Talk())

    def _completed(self, event: events.StepCompleted) -> list[Line]:
        return [
            *self._last_words(event.path, self._talks.pop(event.path, None)),
            *step_lines.completed(event),
        ]

    def _failed(self, event: events.StepFailed) -> list[Line]:
        self._cause.heard(event)
        talk = self._talks.pop(event.path, None)
        said = self._last_words(event.path, talk)
        if talk and talk.written and self._verbose:
            return [*said, *step_lines.failed(event, [])]
        output = list(talk.tail) if talk and talk.written else failure_output(event)
        first, *rest = step_lines.failed(event, output)
        left = talk.written - len(output) if talk else 0
        if left > 0 and not event.cancelled:
            note = step_lines.output_line(event.path, f"… {counted(left, 'earlier line')}")
            rest.insert(len(rest) - len(output), note)
        return [*said, first, *rest]

    def _retrying(self, event: events.StepRetrying) -> list[Line]:
        said = self._last_words(event.path, self._talks.pop(event.path, None))
        return [*said, *step_lines.retrying(event)]

    def _last_words(self, path: str, talk: _Talk | None) -> list[Line]:
        """Lines that no newline ever ended."""
        lines: list[Line] = []
        for stream, buffer in talk.buffers.items() if talk else ():
            rest = buffer.flush()
            if stream in _OUTPUTS and talk:
                lines += [step_lines.output_line(path, text) for text in talk.keep(rest)]
            else:
                lines += [step_lines.speech_line(path, text, stream) for text in rest]
        return lines if self._verbose else []

    def _output(self, event: events.StepOutput) -> list[Line]:
        talk = self._talk(event.path)
        new = talk.keep(talk.buffer(event.stream).feed(event.text))
        return [step_lines.output_line(event.path, text) for text in new] if self._verbose else []

    def _text(self, event: events.AgentText) -> list[Line]:
        return self._speech(event.path, event.text, ":") if self._verbose else []

    def _thought(self, event: events.AgentThought) -> list[Line]:
        return self._speech(event.path, event.text, " thinks:") if self._verbose > 1 else []

    def _speech(self, path: str, text: str, mark: str) -> list[Line]:
        new = self._talk(path).buffer(mark).feed(text)
        return [step_lines.speech_line(path, said, mark) for said in new if said]

    def _tool(self, event: events.AgentTool, time: float) -> list[Line]:
        tools = self._talk(event.path).tools
        if event.phase == "started":
            tools[event.call_id] = (time, event.input)
            return []
        since, arguments = tools.pop(event.call_id, (0.0, {}))
        spent = duration_text((time - since) * 1000) if since else ""
        cause = f"failed: {flat(event.output, 100)}".rstrip(": ") if event.is_error else ""
        name = Span(f"{flat(event.path)} ", "dim") if depth(event.path) else ""
        call = fields(tool_text(event.name, event.input or arguments), Span(spent, "dim"), Span(cause, "bad"))
        return [indented(2 * depth(event.path) + 2, name, Span("⚒ ", "dim")) + call]

    def _carried_out(self, event: events.ToolCallFinished) -> list[Line]:
        """What AWF did for the agent; the agent's own word for the same call is shown without asking for more."""
        if self._verbose < 2:
            return []
        cause = (
            "cancelled"
            if event.cancelled
            else f"{event.error}: {flat(event.output, 100)}"
            if event.is_error
            else ""
        )
        call = fields(
            f"{flat(event.tool)} ({flat(event.source)})",
            Span(duration_text(event.duration_ms), "dim"),
            Span(cause.rstrip(": "), "bad"),
        )
        return [indented(2 * depth(event.path) + 2, Span("⚙ ", "dim")) + call]

    def _isolated(self, event: events.AgentIsolation) -> list[Line]:
        if self._verbose < 2:
            return []
        tools = f", tools {', '.join(event.tools)}" if event.tools else ""
        text = f"{event.provider} {event.version}, isolation {event.isolation.replace('_', ' ')}{tools}"
        return [indented(2 * depth(event.path) + 2, Span(f"· {flat(text, 400)}", "dim"))]

    def _plugin(self, event: events.PluginEvent) -> list[Line]:
        if not self._verbose:
            return []
        said = ", ".join(f"{name}={value}" for name, value in event.payload.items())
        return [
            line(Span("· ", "dim"), f"{flat(event.plugin)}: {flat(event.name)}  {flat(said, 160)}".rstrip())
        ]

    def _usage(self, event: events.AgentUsage) -> list[Line]:
        text = usage_text({name: getattr(event, name) for name in _USAGE}) if self._verbose > 1 else ""
        return [step_lines.speech_line(event.path, text, " used:")] if text else []

    def _received(self, event: events.InputReceived) -> list[Line]:
        if not self._verbose:
            return []
        return [step_lines.speech_line(event.path, text, " you:") for text in text_lines(event.text)]

    def rest(self) -> list[Line]:
        """What was still unfinished when the events ended."""
        talks, self._talks = self._talks, {}
        return [said for path, talk in talks.items() for said in self._last_words(path, talk)]


_OUTPUTS = ("stdout", "stderr")
_USAGE = ("input_tokens", "output_tokens", "cost", "cost_source")
_OF_A_WORKFLOW = (
    events.WorkflowStarted, events.WorkflowResumed, events.WorkflowCompleted, events.WorkflowFailed,
    events.WorkflowCancelled,
)  # fmt: skip


def render_log_event(fields: dict[str, Any], *, verbose: int, color: bool = False) -> list[str]:
    """One stored event as lines. For a stream of pieces of text, `EventLines` joins them up."""
    stamped = stamped_from(fields)
    if stamped is None:
        unknown = line(
            Span("·", "dim"), f" {flat(str(fields.get('type', '')))}  {flat(str(fields.get('path', '')))}"
        )
        return [line_text(unknown, color=color).rstrip()] if verbose else []
    one = EventLines(verbose=verbose)
    return [line_text(said, color=color) for said in [*one.lines(stamped), *one.rest()]]
