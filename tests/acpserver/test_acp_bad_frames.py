"""A table of what can go wrong on the wire: each frame has one answer, and the next one is served as if nothing was."""

from __future__ import annotations

import asyncio
import json

import pytest

LONG = 10 * 1024 * 1024
PROMPT = '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":%s}'
LIST = b'{"jsonrpc":"2.0","id":7,"method":"session/list"}'

FRAMES = {
    "garbage": (b"hello", None, -32700),
    "half an object": (b'{"jsonrpc":"2.0","id":7', None, -32700),
    "two objects": (LIST + b"{}", None, -32700),
    "not utf-8": (b'{"jsonrpc":"2.0","id":7,"method":"\xff\xfe"}', None, -32700),
    "utf-16": (LIST.decode().encode("utf-16-be"), None, -32700),
    "nul bytes": (b'{"jsonrpc":"2.0",\x00"id":7,"method":"session/list"}', None, -32700),
    "nan": (b'{"jsonrpc":"2.0","id":NaN,"method":"session/list"}', None, -32700),
    "overflow": (b'{"jsonrpc":"2.0","id":1e400,"method":"session/list"}', None, -32700),
    "deep": (b"[" * 200_000, None, -32700),
    "deep and closed": (b'{"a":' * 150_000 + b"{}" + b"}" * 150_000, None, -32700),
    "long integer": (b'{"jsonrpc":"2.0","id":' + b"7" * 5000 + b',"method":"session/list"}', None, -32700),
    "too long": (b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * LONG + b'"}', None, -32600),
    "number": (b"7", None, -32600),
    "null": (b"null", None, -32600),
    "batch": (b"[" + LIST + b"," + LIST + b"]", None, -32600),
    "empty batch": (b"[]", None, -32600),
    "old version": (b'{"jsonrpc":"1.0","id":7,"method":"session/list"}', 7, -32600),
    "true id": (b'{"jsonrpc":"2.0","id":true,"method":"session/list"}', None, -32600),
    "list id": (b'{"jsonrpc":"2.0","id":[7],"method":"session/list"}', None, -32600),
    "no method": (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
    "unknown method": (b'{"jsonrpc":"2.0","id":7,"method":"session/destroy"}', 7, -32601),
    "own method": (b'{"jsonrpc":"2.0","id":7,"method":"_kit/probe","params":{}}', 7, -32601),
    "logout": (b'{"jsonrpc":"2.0","id":7,"method":"logout"}', 7, -32601),
    "list params": (b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":[]}', 7, -32602),
    "no session": ((PROMPT % '{"prompt":[]}').encode(), 7, -32602),
    "text prompt": ((PROMPT % '{"sessionId":"s","prompt":"hi"}').encode(), 7, -32602),
    "content for prompt": ((PROMPT % '{"sessionId":"s","content":"hi"}').encode(), 7, -32602),
    "cancel with an id": (
        b'{"jsonrpc":"2.0","id":7,"method":"session/cancel","params":{"sessionId":"s"}}',
        7,
        -32600,
    ),
}


@pytest.mark.parametrize("name", FRAMES)
async def test_a_bad_frame_is_answered_once_and_the_next_is_served(peer, name):
    frame, request_id, code = FRAMES[name]
    peer.send_bytes(frame + b"\n")
    answer = await peer.receive()
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)
    await peer.alive()
    assert peer.early == []
    assert await peer.end() == []


SILENT = {
    "empty": b"",
    "blanks": b"   \t",
    "carriage return": b"\r",
    "empty object": b"{}",
    "answer": b'{"jsonrpc":"2.0","id":7,"result":{}}',
    "error": b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}',
    "notification": b'{"jsonrpc":"2.0","method":"session/unheard"}',
    "prompt without id": b'{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}',
    "cancel of nothing": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":9}}',
    "cancel of a list": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":[]}}',
    "cancel without session": b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}',
}


@pytest.mark.parametrize("name", SILENT)
async def test_what_asks_for_nothing_gets_nothing(peer, agent, name):
    peer.send_bytes(SILENT[name] + b"\n")
    await peer.alive()
    assert peer.early == []
    assert agent.order == []


@pytest.mark.parametrize(
    "request_id",
    ["", "x" * 100_000, "\ud800", "ü\u2028\n", 0, -1, 2**53, 10**4000, "1e400", "null", None, 1.0],
)
async def test_an_id_comes_back_as_it_was(peer, request_id):
    answer = await peer.ask("session/list", request_id=request_id)
    assert repr(answer["id"]) == repr(request_id)
    assert answer["result"] == {"sessions": []}


async def test_a_line_of_the_ceiling_is_served(peer):
    head = b'{"jsonrpc":"2.0","id":7,"method":"session/close","params":{"sessionId":"'
    size = LONG - len(head) - 3
    peer.send_bytes(head + b"x" * size + b'"}}\n')
    assert len((await peer.receive())["result"]["sessionId"]) == size


async def test_messages_in_pieces_and_in_heaps_are_the_same(peer):
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": "session/list"}).encode()
        for number in range(50)
    ]
    stream = b"\r\n".join(lines) + b"\n\n\n"
    for start in range(0, len(stream), 13):
        peer.send_bytes(stream[start : start + 13])
        await asyncio.sleep(0)
    assert [(await peer.receive())["id"] for _ in range(50)] == list(range(50))
