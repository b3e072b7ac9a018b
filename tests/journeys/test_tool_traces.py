"""A tool call of an agent that is a program of its own arrives at a collector in the trace of its run."""

from __future__ import annotations

from typing import Any

import pytest


def agent_that(*actions: dict[str, Any], process: bool) -> dict[str, Any]:
    return {
        "type": "agent",
        "provider": "scripted",
        "prompt": "work",
        "options": {"process": process, "turns": [{"do": [*actions, {"say": "finished"}]}]},
        "mcp_proxy": {"enable": True},
        "on_success": "done",
    }


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def ancestry(span: Any, spans: list[Any]) -> list[str]:
    """Its name and the names of all it stands below, the run last."""
    known = {one.span_id: one for one in spans}
    names = [span.name]
    while span.parent_span_id:
        span = known[span.parent_span_id]
        names.append(span.name)
    return names


@pytest.mark.parametrize("process", [True, False], ids=["over the relay", "in this process"])
def test_a_tool_call_is_a_span_below_its_step_in_the_one_trace_of_the_run(journey, collector, process):
    endpoint, spans = collector
    journey.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    journey.write("notes.txt", "alpha\n")
    reads = {"tool": {"name": "Read", "input": {"file_path": "notes.txt"}}}
    runs = {"tool": {"name": "Bash", "input": {"command": "echo $TRACEPARENT > trace"}}}
    misses = {"tool": {"name": "Read", "input": {"file_path": "absent.txt"}}}
    file = journey.workflow(
        "traced",
        {
            "initial": "work",
            "work": agent_that(reads, runs, misses, process=process),
            "done": {"type": "terminal"},
        },
    )
    told = journey.awf("run", file, "-o", "ndjson").succeeded()

    assert len({span.trace_id for span in spans}) == 1
    calls = sorted(
        (span for span in spans if span.name.startswith("tool.call.")), key=lambda s: s.start_time_unix_nano
    )
    assert [span.name for span in calls] == ["tool.call.Read", "tool.call.Bash", "tool.call.Read"]
    for span in calls:
        above = ancestry(span, spans)
        assert (above[-1], above[-2]) == ("workflow.run", "step.work")
        facts = attributes(span)
        assert facts["tool.source"] == "builtin"
        assert facts["tool.name"] == span.name.removeprefix("tool.call.")
        assert facts["tool.duration_ms"] >= 0
    assert [span.status.code for span in calls] == [0, 0, 2]

    # What the tool started is told where it belongs, too, and the run's own record names the same calls.
    (traceparent,) = journey.trace()
    assert traceparent.split("-")[1] == calls[1].trace_id.hex()
    finished = [event for event in told.events() if event["type"] == "tool.call.finished"]
    assert [(event["tool"], event["is_error"]) for event in finished] == [
        ("Read", False), ("Bash", False), ("Read", True)
    ]  # fmt: skip
    assert {event["step"] for event in finished} == {"work"}
