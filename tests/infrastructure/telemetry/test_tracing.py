"""Spans arrive at a collector as one trace, and carry no secret."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from awf.testing.laboratory import Laboratory

otlp = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="the otel extra is not installed"
)

WORKFLOW = """
name: traced
states:
  initial: a
  a: {type: step, command: "echo $TRACEPARENT; echo $MY_TOKEN", on_success: fan}
  fan: {type: parallel, parallel: [b, c], on_success: ask}
  b: {type: step, command: "echo b"}
  c: {type: step, command: "exit 3", continue_on_error: true}
  ask: {type: agent, provider: scripted, prompt: x, options: {model: none, turns: [[{say: hi}, {usage: {input_tokens: 2, output_tokens: 3}}]]}, on_success: done}
  done: {type: terminal}
"""


@pytest.fixture
def collector():
    spans = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            request = otlp.ExportTraceServiceRequest.FromString(
                self.rfile.read(int(self.headers["Content-Length"]))
            )
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", spans
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_run_is_one_trace_from_workflow_to_shell_and_agent(tmp_path, collector):
    endpoint, spans = collector
    lab = Laboratory(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "MY_TOKEN": "very-secret-token"})
    ran = await lab.run(WORKFLOW)
    assert ran.outcome.status == "completed", ran.outcome.error
    by_name = {span.name: span for span in spans}
    assert set(by_name) == {
        "workflow.run",
        "step.a",
        "step.fan",
        "step.b",
        "step.c",
        "step.ask",
        "shell.execute",
        "agent.call",
    }
    assert len({span.trace_id for span in spans}) == 1
    parents = {span.span_id: span.name for span in spans}
    chain = {
        span.name: parents.get(span.parent_span_id, "") for span in spans if span.name != "shell.execute"
    }
    assert chain == {
        "workflow.run": "",
        "step.a": "workflow.run",
        "step.fan": "workflow.run",
        "step.b": "step.fan",
        "step.c": "step.fan",
        "step.ask": "workflow.run",
        "agent.call": "step.ask",
    }
    assert {parents[span.parent_span_id] for span in spans if span.name == "shell.execute"} == {
        "step.a",
        "step.b",
        "step.c",
    }
    assert by_name["workflow.run"].trace_id.hex() in ran.output("a")
    assert {attribute.key for attribute in by_name["agent.call"].attributes} >= {
        "provider",
        "model",
        "tokens_used",
    }
    assert b"very-secret-token" not in b"".join(span.SerializeToString() for span in spans)


async def test_a_run_joins_the_trace_it_was_started_in(tmp_path, collector):
    endpoint, spans = collector
    outer = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    lab = Laboratory(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "TRACEPARENT": outer})
    await lab.run(WORKFLOW)
    root = next(span for span in spans if span.name == "workflow.run")
    assert root.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert root.parent_span_id.hex() == "b7ad6b7169203331"


async def test_a_collector_that_is_not_there_does_not_hurt_the_run(tmp_path):
    lab = Laboratory(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    ran = await lab.run(WORKFLOW)
    assert ran.outcome.status == "completed"
