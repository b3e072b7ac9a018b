"""The context that a client names with a request, whichever way the request comes in."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.gate_file import Audit

pytestmark = pytest.mark.anyio
PATIENT = 30.0
HELLO = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "older", "version": "1"}}


class OlderClient:
    """Of 2024: it reads one stream, and posts its messages."""

    def __init__(self, doors):
        self._doors = doors

    async def open(self, **headers):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._doors.port)
        lines = ["GET /sse HTTP/1.1", f"Host: 127.0.0.1:{self._doors.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())
        self._address = await self._event()
        await self.ask("initialize", HELLO)
        return self

    async def ask(self, method, params, **headers):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        status, _, _ = await self._doors.send(
            "POST", self._address, body, {"Content-Type": "application/json", **headers}
        )
        assert status == 202
        return json.loads(await self._event())

    async def _event(self):
        async with asyncio.timeout(PATIENT):
            while not (line := await self._reader.readline()).startswith(b"data:"):
                assert line
        return line[5:].strip().decode()

    def close(self):
        self._writer.close()


def echo(text):
    return {"name": "echo", "arguments": {"text": text}}


async def test_with_the_older_sse_a_message_may_name_its_context_and_else_it_is_that_of_its_stream(gated):
    doors = await gated(audit=Audit())
    client = await OlderClient(doors).open(**{"X-AWF-Context": "of the stream"})
    await client.ask("tools/call", echo("one"), **{"X-AWF-Context": "of the message"})
    await client.ask("tools/call", echo("two"))
    client.close()
    entries = [one.entry for one in await doors.app.audit.records() if one.entry.tool_id]
    assert [entry.context for entry in entries] == ["of the message", "of the stream"]


async def test_a_request_that_names_two_contexts_is_refused(gated):
    doors = await gated(audit=Audit())
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    named = {"Content-Type": "application/json", "X-AWF-Context": "one", "x-awf-context": "other"}
    status, _, told = await doors.send("POST", "/mcp", body, named)
    assert (status, b"more than one x-awf-context" in told) == (400, True)
