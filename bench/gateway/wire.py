"""An MCP client that costs next to nothing: what HTTP and pipes have in common.

A *peer* is one MCP endpoint. It has slots; a slot sends one request at a time and calls back with the raw answer. Over
HTTP each slot is a connection of its own, over pipes all of them share the pipe. Nothing is decoded while the clock
runs: an answer is known by the token that its request carried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

__all__ = ["CLIENT", "LEGACY", "MODERN", "Done", "NoAnswer", "Peer", "Slot", "message_in", "modern_meta"]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
CLIENT = {"name": "bench", "version": "1"}

Done = Callable[[int, bytes], None]  # the status, as of HTTP, or 0 when there is no answer; and the body

_encode = msgspec.json.encode
_decode = msgspec.json.decode


class NoAnswer(RuntimeError):  # noqa: N818  a fact about a contestant, which is reported
    """A contestant that does not answer, or not with what was asked for."""


class Slot(Protocol):
    def send(self, number: int, body: bytes, method: str, name: str, done: Done) -> None: ...


def modern_meta() -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def message_in(body: bytes, number: int) -> dict[str, Any]:
    """The answer with this number, in a JSON body or in an event stream."""
    if body.lstrip().startswith(b"{"):
        whole: dict[str, Any] = _decode(body)
        return whole
    for line in body.splitlines():
        if line.startswith(b"data:") and line[5:].strip().startswith(b"{"):
            message: dict[str, Any] = _decode(line[5:])
            if message.get("id") == number and "method" not in message:
                return message
    raise NoAnswer(f"no answer {number} in {body[:300]!r}")


class Peer:
    """Numbers, eras and the bodies of requests."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.modern = protocol == MODERN
        self._number = 0
        self._meta = b'"_meta":' + _encode(modern_meta()) if self.modern else b""

    def body(self, method: str, params: dict[str, Any]) -> tuple[int, bytes]:
        self._number += 1
        raw = _encode(params)
        if self.modern:
            raw = raw[:-1] + (b"," if len(raw) > 2 else b"") + self._meta + b"}"
        head = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}'
        return self._number, head % (self._number, method.encode(), raw)

    async def slots(self, count: int) -> list[Slot]:
        """So many, each ready to send."""
        raise NotImplementedError

    async def notify(self, method: str) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    @property
    def gone(self) -> bool:
        """Whether the program behind it has ended, as far as it can tell."""
        return False

    async def ask(self, method: str, params: dict[str, Any], timeout: float = 30.0) -> dict[str, Any]:
        """One request, decoded; an error answer is raised."""
        [slot] = await self.slots(1)
        answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()

        def done(status: int, raw: bytes) -> None:
            if not answer.done():
                answer.set_result((status, raw))

        number, body = self.body(method, params)
        slot.send(number, body, method, str(params.get("name", "")), done)
        status, raw = await asyncio.wait_for(answer, timeout)
        if status != 200:
            raise NoAnswer(f"{method}: status {status}: {raw[:300]!r}")
        message = message_in(raw, number)
        if "result" not in message:
            raise NoAnswer(f"{method}: {message.get('error')}")
        result: dict[str, Any] = message["result"]
        return result

    async def hello(self, timeout: float = 30.0) -> None:
        """The first exchange of either era."""
        if self.modern:
            await self.ask("server/discover", {}, timeout)
            return
        asked = {"protocolVersion": self.protocol, "capabilities": {}, "clientInfo": CLIENT}
        self.agreed((await self.ask("initialize", asked, timeout))["protocolVersion"])
        await self.notify("notifications/initialized")

    def agreed(self, version: str) -> None:
        self.protocol = version
