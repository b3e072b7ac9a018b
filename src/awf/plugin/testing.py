"""For the tests of a plugin: its functions called as AWF calls them, without a process.

Arguments and results make the same way as over the wire: to JSON and back, checked and converted by the same code.

    from awf.plugin.testing import call
    from plugin import plugin

    def test_greet():
        assert call(plugin, "greet", name="Ada").output == "hello Ada"
"""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from awf.plugin.answers import Answers
from awf.plugin.protocol import plugin_pb2 as pb
from awf.plugin.results import json_bytes
from awf.plugin.values import Event, Issue, Outcome, StepOutcome
from awf.plugin.wire import json_map, read_map

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from awf.plugin.author import Plugin

__all__ = ["call", "configure", "send_event", "step", "validate"]

T = TypeVar("T")
_SEVERITY = {pb.ValidationIssue.WARNING: "warning", pb.ValidationIssue.ERROR: "error"}


def configure(plugin: Plugin, /, **config: Any) -> None:
    """Hand over the configuration. Raises `awf.plugin.answers.RefusalError` when the plugin refuses it."""
    _finish(Answers(plugin).init(pb.InitRequest(config=json_map(config))))


def call(plugin: Plugin, operation: str, /, **inputs: Any) -> Outcome:
    """Run an operation."""
    request = pb.ExecuteRequest(operation=operation, inputs=json_map(inputs))
    answer = _finish(Answers(plugin).execute(request))
    return Outcome(answer.success, answer.output, read_map(answer.data, "result"), answer.error)


def step(
    plugin: Plugin,
    step_type: str,
    /,
    config: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    *,
    name: str = "step",
) -> StepOutcome:
    """Run a step of one of the plugin's types."""
    request = pb.ExecuteStepRequest(
        step_name=name, step_type=step_type, config=json_bytes(config or {}), inputs=json_bytes(inputs or {})
    )
    answer = _finish(Answers(plugin).execute_step(request))
    return StepOutcome(answer.output, json.loads(answer.data), answer.exit_code)


def validate(plugin: Plugin, workflow: Mapping[str, Any], /) -> list[Issue]:
    """What the validators say of a workflow."""
    request = pb.ValidateWorkflowRequest(workflow_json=json_bytes(workflow))
    answer = _finish(Answers(plugin).validate_workflow(request))
    return [Issue(i.message, _SEVERITY[i.severity], i.step, i.field) for i in answer.issues]  # type: ignore[arg-type]


def send_event(plugin: Plugin, event_type: str, /, **payload: Any) -> list[Event]:
    """Tell of an event; what the plugin answers."""
    request = pb.HandleEventRequest(type=event_type, payload=json_bytes(payload))
    answer = _finish(Answers(plugin).handle_event(request))
    return [Event(event.type, json.loads(event.payload)) for event in answer.emitted_events]


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """On a loop of its own, in a thread of its own, so that it also works inside an async test."""
    result: list[T] = []
    raised: list[BaseException] = []

    def body() -> None:
        try:
            result.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001  raised again below
            raised.append(error)

    thread = threading.Thread(target=body, name="awf-plugin-test")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return result[0]
