"""A client that knows just enough of HTTP to look at the page's answers."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress

PATIENCE = 60


class Answer:
    def __init__(self, status, head, body):
        self.status, self.body = status, body
        fields = (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        self.headers = {name.lower(): value for name, value in fields}

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    def __init__(self, port):
        self._port = port

    async def ask(self, path, method="GET", body=b"", **headers):
        async with asyncio.timeout(PATIENCE), self.wire() as (reader, writer):
            if body:
                headers["Content-Length"] = len(body)
            writer.write(_request(method, path, {"Connection": "close", **headers}) + body)
            answer = await reader.read()
            head, _, body = answer.partition(b"\r\n\r\n")
            return Answer(int(head[9:12]), head.decode("latin-1"), body)

    @asynccontextmanager
    async def wire(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    @asynccontextmanager
    async def events(self):
        async with asyncio.timeout(PATIENCE), self.wire() as (reader, writer):
            writer.write(_request("GET", "/api/events", {}))
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            yield Events(Answer(int(head[9:12]), head, b""), reader, writer)


def _request(method, path, headers):
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class Events:
    def __init__(self, answer, reader, writer):
        self.answer, self.writer = answer, writer
        self._reader = reader
        self._text = ""

    async def message(self):
        """One message as it was sent, comments included."""
        while "\n\n" not in self._text:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            if not size:
                raise EOFError
            self._text += (await self._reader.readexactly(size)).decode()
            await self._reader.readexactly(2)
        message, self._text = self._text.split("\n\n", 1)
        return message

    async def news(self):
        while not (message := await self.message()).startswith("data: "):
            pass
        return json.loads(message.removeprefix("data: "))

    async def until_call(self, call_id, outcome):
        while True:
            for call in (await self.news())["calls"]:
                if (call["id"], call["outcome"]) == (call_id, outcome):
                    return call
