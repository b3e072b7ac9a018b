"""What the gateway tells of its requests: spans with the names of the protocol, the trace handed on, secrets masked."""

from __future__ import annotations

import contextlib
import logging

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp import RpcError
from awf.testing.memory_upstreams import MemoryServer


class Span:
    def __init__(self, name, attributes, below):
        self.name, self.attributes, self.below, self.failure = name, dict(attributes or {}), below, ""

    def set(self, name, value):
        self.attributes[name] = value

    def fail(self, message):
        self.failure = message


class Trace:
    """A `Tracer` that keeps its spans."""

    idle = False

    def __init__(self):
        self.spans = []

    @contextlib.contextmanager
    def span(self, name, attributes=None, *, below=None):
        self.spans.append(Span(name, attributes, below))
        yield self.spans[-1]

    def place(self, carrier=None):
        return carrier

    def carrier(self):
        return {"TRACEPARENT": f"00-{len(self.spans)}"}

    def close(self):
        pass

    def of(self, method):
        return [span for span in self.spans if span.attributes.get("mcp.method.name") == method]


@pytest.fixture
def trace():
    return Trace()


def librarian():
    server = MemoryServer(capabilities={"tools": {}, "prompts": {}, "resources": {}}).tool("x")
    server.lists["prompts"] = [{"name": "p"}]
    return server.on("prompts/get", {"messages": []}).on("resources/read", {"contents": []})


async def test_each_request_has_a_span_that_says_what_it_is(house, trace):
    one = await house(a=librarian(), tracer=trace)
    visitor = await one.visitor()
    await visitor.ask("resources/read", {"uri": "u:1"})
    await visitor.ask("prompts/get", {"name": "p"})
    read, got = trace.of("resources/read")[0], trace.of("prompts/get")[0]
    assert read.name == "resources/read"
    assert read.attributes["mcp.resource.uri"] == "u:1"
    assert read.attributes["mcp.session.id"] == visitor.client.id
    assert read.attributes["mcp.protocol.version"] == "2025-11-25"
    assert got.attributes["gen_ai.prompt.name"] == "p"


async def test_a_client_without_a_session_has_none_in_its_span_and_one_with_a_trace_is_below_it(house, trace):
    one = await house(a=librarian(), tracer=trace)
    visitor = await one.modern()
    await visitor.ask("resources/read", {"uri": "u:1"}, meta={"traceparent": "00-theirs"})
    await visitor.call("x", meta={"traceparent": "00-theirs"})
    for span in (trace.of("resources/read")[0], trace.of("tools/call")[0]):
        assert "mcp.session.id" not in span.attributes
        assert span.below == {"traceparent": "00-theirs"}


async def test_servers_are_handed_the_trace(house, trace):
    server = librarian()
    visitor = await (await house(a=server, tracer=trace)).visitor()
    await visitor.ask("resources/read", {"uri": "u:1"}, meta={"own": 1})
    await visitor.call("x", meta={"own": 1})
    for method in ("resources/read", "tools/call"):
        meta = server.seen(method)[0]["_meta"]
        assert meta["own"] == 1
        assert meta["traceparent"].startswith("00-")


async def test_a_request_that_fails_says_so_in_its_span_without_secrets(house, trace):
    server = librarian().on(
        "prompts/get", AwfError("EXECUTION.MCP_SERVER.DENIED", "token sesame-street is no good")
    )
    one = await house(a=server, tracer=trace)
    one.masker.add("TOKEN", "sesame-street")
    visitor = await one.visitor()
    with pytest.raises(RpcError) as caught:
        await visitor.ask("prompts/get", {"name": "p"})
    span = trace.of("prompts/get")[0]
    assert span.attributes["error.type"] == "EXECUTION.MCP_SERVER.DENIED"
    assert "sesame" not in span.failure + caught.value.message


async def test_why_a_server_failed_is_told_without_secrets(house, monkeypatch, caplog, until):
    from awf.application.gateway import server as server_module

    monkeypatch.setattr(server_module, "PAUSES", (30.0,))
    server = librarian()
    one = await house(a=server)
    one.masker.add("TOKEN", "sesame-street")
    server.refusal = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "it said: sesame-street")
    with caplog.at_level(logging.WARNING, "awf.gateway"):
        server.die()
        await until(lambda: one.server("a").state == "failed")
    assert "sesame" not in one.server("a").detail
    assert "sesame" not in caplog.text


async def test_a_fault_of_ours_is_told_as_one_and_nothing_more(house, monkeypatch, caplog):
    one = await house(a=librarian())
    visitor = await one.visitor()
    monkeypatch.setattr(one.gateway, "_of", None)
    with (
        caplog.at_level(logging.ERROR, "awf.gateway"),
        pytest.raises(RpcError, match="Internal error") as caught,
    ):
        await visitor.ask("prompts/list")
    assert caught.value.code == -32603
    assert "prompts/list failed" in caplog.text


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "n" * 5000}),
        ("prompts/get", {"name": "n" * 5000}),
        ("resources/subscribe", {"uri": "u" * 5000}),
        ("m" * 5000, {}),
    ],
)
async def test_names_that_clients_make_up_are_not_repeated_at_length(house, method, params):
    visitor = await (await house(a=librarian(), b=librarian())).visitor()
    with pytest.raises(RpcError) as caught:
        await visitor.ask(method, params)
    assert len(caught.value.message) < 400
