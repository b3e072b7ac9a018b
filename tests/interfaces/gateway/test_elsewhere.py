"""Requests that another gateway has to answer: what becomes of them when that dies, freezes, or cannot be found."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.application.gateway.replicas import Replicas
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.gateway_file import Listen
from awf.domain.ports.replicas import Replica
from awf.testing.memory_replicas import MemoryReplicas

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
STREAM = {**JSON, "Accept": "application/json, text/event-stream"}
INIT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


def message(method, number=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


class Two:
    """Two gateways in this process, and a session that lives in the first."""

    def __init__(self, doors):
        self.register = MemoryReplicas()
        self.replicas = [Replicas(self.register), Replicas(self.register)]
        self.doors = [
            doors(replicas=one, listen=Listen(allowed_hosts=["gateway.example"])) for one in self.replicas
        ]

    async def open(self):
        for doors, one in zip(self.doors, self.replicas, strict=True):
            await doors.open()
            await one.enter(f"http://127.0.0.1:{doors.port}")
        _, headers, _ = await self.send(0, message("initialize", **INIT), JSON)
        self.session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        return self

    async def send(self, number, body, headers, method="POST"):
        return await self.doors[number].send(method, "/mcp", body, {"Host": "gateway.example", **headers})

    async def echo(self, text="hello"):
        """A call that comes to the other gateway."""
        body = message("tools/call", name="echo", arguments={"text": text})
        return await self.send(1, body, {**JSON, **self.session})

    @property
    def listening(self):
        """What a client sends that wants to hear the news."""
        fields = {"Host": "gateway.example", "Accept": "text/event-stream", **self.session}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"GET /mcp HTTP/1.1\r\n{lines}\r\n".encode()

    async def close(self):
        for doors in self.doors:
            await doors.close()


@pytest.fixture
async def two(make_doors):
    made = await Two(make_doors).open()
    yield made
    await made.close()


async def test_the_owner_answers_what_comes_to_the_other(two):
    status, headers, body = await two.echo()
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body)["result"]["content"][0]["text"] == "hello"
    assert len(two.doors[0].http.sessions) == 1
    assert len(two.doors[1].http.sessions) == 0


async def test_a_register_that_is_gone_is_no_reason_to_end_a_session(two):
    await two.doors[1].elsewhere._replicas._look()
    two.register.trouble = AwfError("SYSTEM.STORE.UNAVAILABLE", "the database is gone")
    assert (await two.echo())[0] == 200  # the other is still known
    two.replicas[1]._known.clear()
    status, headers, body = await two.echo()
    assert (status, headers["retry-after"]) == (503, "1")
    assert b"the database is gone" in body


async def test_a_frozen_owner_is_not_waited_for_longer_than_it_takes_to_be_missed(two):
    gate = two.doors[0].server.hold("echo")
    call = spawn(two.echo(), "a call", awaited=True)
    await gate.reached()
    two.doors[1].elsewhere._gone(two.replicas[0].id)
    status, _, body = await call
    assert status == 502
    assert b"Whether it was carried out is in the audit" in body
    gate.open()


async def test_a_stream_of_a_frozen_owner_breaks_off(two):
    reader, writer = await asyncio.open_connection("127.0.0.1", two.doors[1].port)
    writer.write(two.listening)
    async with asyncio.timeout(30):
        await reader.readuntil(b": \n\n")
        two.doors[1].elsewhere._gone(two.replicas[0].id)
        rest = await reader.read()
    assert b"0\r\n\r\n" not in rest
    writer.close()


async def test_a_client_that_leaves_its_stream_leaves_it_at_the_owner(two):
    reader, writer = await asyncio.open_connection("127.0.0.1", two.doors[1].port)
    writer.write(two.listening)
    async with asyncio.timeout(30):
        await reader.readuntil(b": \n\n")
        assert two.doors[0].http.streams == 1
        writer.close()
        while two.doors[0].http.streams:
            await asyncio.sleep(0.01)
        while two.doors[1].elsewhere._carried:
            await asyncio.sleep(0.01)


async def test_a_client_of_the_older_era_that_sends_no_more_still_gets_its_answer(two):
    gate = two.doors[0].server.hold("echo")
    body = message("tools/call", name="echo", arguments={"text": "late"})
    reader, writer = await asyncio.open_connection("127.0.0.1", two.doors[1].port)
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: gateway.example\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
        f"Mcp-Session-Id: {two.session['Mcp-Session-Id']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    writer.write_eof()
    async with asyncio.timeout(30):
        await gate.reached()
        gate.open()
        assert b"late" in await reader.read()
    writer.close()


async def test_somebody_else_at_the_address_of_a_gateway_is_noticed(two):
    elsewhere, port = two.doors[1].elsewhere, two.doors[0].port
    own = f"127.0.0.1:{port}"
    assert await elsewhere.trouble_with(Replica(two.replicas[0].id, f"http://{own}"), own) == ""
    assert "somebody else" in await elsewhere.trouble_with(Replica("g1", f"http://{own}"), own)
    assert await elsewhere.trouble_with(Replica("g1", "http://127.0.0.1:1")) != ""


async def test_headers_arrive_at_the_owner_byte_by_byte(two):
    seen = []
    handle = two.doors[0].http.handle

    async def noting(request):
        seen.append(request.headers.get("x-awf-context"))
        return await handle(request)

    two.doors[0]._web.handler, two.doors[0]._web.quick = noting, None
    named = "gr\u00fcn \u4e16".encode().decode("latin-1")  # as bytes on a wire
    for number in (0, 1):
        status, _, _ = await two.send(
            number, message("ping"), {**JSON, **two.session, "X-AWF-Context": named}
        )
        assert status == 200
    assert seen == [named, named]
    status, _, body = await two.send(1, message("ping"), {**JSON, **two.session, "X-AWF-Context": "\xff"})
    assert (status, b"not UTF-8" in body) == (400, True)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT"])
async def test_only_what_a_session_knows_is_handed_on(two, method):
    status, _, _ = await two.send(1, b"", two.session, method)
    assert status == 405
    assert two.doors[1].elsewhere._carried == {}
