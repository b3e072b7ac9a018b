"""A table of what can go wrong on the wire: each frame has one answer, and the next one is served as if nothing was."""

from __future__ import annotations

import asyncio
import json

import pytest

LONG = 10 * 1024 * 1024
CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":%s}'

FRAMES = {
    "garbage": (b"hello", None, -32700),
    "half an object": (b'{"jsonrpc":"2.0","id":7', None, -32700),
    "two objects": (b'{"jsonrpc":"2.0","id":7,"method":"ping"}{}', None, -32700),
    "not utf-8": (b'{"jsonrpc":"2.0","id":7,"method":"\xff\xfe"}', None, -32700),
    "utf-16": ('{"jsonrpc":"2.0","id":7,"method":"ping"}'.encode("utf-16-be"), None, -32700),
    "nul bytes": (b'{"jsonrpc":"2.0",\x00"id":7,"method":"ping"}', None, -32700),
    "only nul": (b"\x00\x00\x00", None, -32700),
    "nan": (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', None, -32700),
    "infinity": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":-Infinity}}', None, -32700),
    "deep": (b"[" * 200_000, None, -32700),
    "deep and closed": (b'{"a":' * 150_000 + b"{}" + b"}" * 150_000, None, -32700),
    "long integer": (b'{"jsonrpc":"2.0","id":' + b"7" * 5000 + b',"method":"ping"}', None, -32700),
    "too long": (b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * LONG + b'"}', None, -32600),
    "number": (b"7", None, -32600),
    "string": (b'"ping"', None, -32600),
    "null": (b"null", None, -32600),
    "batch": (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None, -32600),
    "empty object": (b"{}", None, -32600),
    "old version": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
    "no version": (b'{"id":7,"method":"ping"}', 7, -32600),
    "null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    "true id": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
    "broken id": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
    "infinite id": (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', None, -32600),
    "list id": (b'{"jsonrpc":"2.0","id":[7],"method":"ping"}', None, -32600),
    "number method": (b'{"jsonrpc":"2.0","id":7,"method":1}', 7, -32600),
    "no method": (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
    "unknown method": (b'{"jsonrpc":"2.0","id":7,"method":"tools/destroy"}', 7, -32601),
    "list params": (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["echo"]}', 7, -32602),
    "no name": ((CALL % "{}").encode(), 7, -32602),
    "number name": ((CALL % '{"name":1}').encode(), 7, -32602),
    "list arguments": ((CALL % '{"name":"echo","arguments":[]}').encode(), 7, -32602),
    "text meta": ((CALL % '{"name":"echo","_meta":"x"}').encode(), 7, -32602),
    "unknown tool": ((CALL % '{"name":"nope"}').encode(), 7, -32602),
    "surrogate tool": ((CALL % '{"name":"\\ud800"}').encode(), 7, -32602),
    "bad cursor": (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}', 7, -32602),
}


@pytest.mark.parametrize("name", FRAMES)
async def test_a_bad_frame_is_answered_once_and_the_next_is_served(peer, name):
    frame, request_id, code = FRAMES[name]
    peer.send_bytes(frame + b"\n")
    answer = await peer.receive()
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)
    assert (await peer.ask("ping", request_id="next"))["result"] == {}
    assert peer.early == []
    assert await peer.end() == []


SILENT = {
    "empty": b"",
    "blanks": b"   \t",
    "carriage return": b"\r",
    "answer": b'{"jsonrpc":"2.0","id":7,"result":{}}',
    "error": b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}',
    "notification": b'{"jsonrpc":"2.0","method":"notifications/unheard"}',
    "call without id": b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}',
    "cancel of nothing": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}',
    "cancel of a list": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
}


@pytest.mark.parametrize("name", SILENT)
async def test_what_asks_for_nothing_gets_nothing(peer, name):
    peer.send_bytes(SILENT[name] + b"\n")
    assert (await peer.ask("ping", request_id="next"))["result"] == {}
    assert peer.early == []


@pytest.mark.parametrize(
    "request_id", ["", "x" * 100_000, "\ud800", "ü\u2028\n", 0, -1, 2**53, 10**4000, "1e400", "null"]
)
async def test_an_id_comes_back_as_it_was(peer, request_id):
    assert (await peer.ask("ping", request_id=request_id))["id"] == request_id


async def test_a_line_of_the_ceiling_is_served(peer):
    head, tail = (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"',
        b'"}}}',
    )
    peer.send_bytes(head + b"x" * (LONG - len(head) - len(tail)) + tail + b"\n")
    answer = await peer.receive()
    assert len(answer["result"]["content"][0]["text"]) == LONG - len(head) - len(tail)


async def test_messages_in_pieces_and_in_heaps_are_the_same(peer):
    pings = [json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode() for number in range(50)]
    stream = b"\r\n".join(pings) + b"\n\n\n"
    for line in pings:
        peer.wire.client_sent(line)
    for start in range(0, len(stream), 13):
        peer.writer.write(stream[start : start + 13])
        await asyncio.sleep(0)
    assert [(await peer.receive())["id"] for _ in range(50)] == list(range(50))
