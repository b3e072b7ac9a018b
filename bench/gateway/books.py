"""Who asked what and got which answer: every call has a text of its own, and every answer is looked at."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from bench.gateway.wire import NoAnswer, message_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.gateway.http_wire import HttpPeer
    from bench.gateway.wire import Slot

__all__ = ["Books", "Failure"]

_STUCK = 60.0  # seconds without any answer after which the rest is lost
_LOOK = 0.1
_SHOWN = 5


class Failure(NamedTuple):
    """A call that was answered with an error, and when."""

    sent: float
    answered: float
    text: str


class Books:
    """Calls from many connections at once, each sending its next when its last was answered."""

    def __init__(self, peers: list[HttpPeer], tool: str, calls: int | None) -> None:
        self.sent = self.right = self.foreign = self.lost = 0
        self.failures: list[Failure] = []
        self.worst: list[str] = []  # a few of what should never be, to be shown
        self.right_tokens: set[str] = set()
        self.on_right: Callable[[float], None] = lambda _: None  # told when the call was sent
        self._peers, self._tool, self._calls = peers, tool, calls
        self._open: dict[str, float] = {}
        self._stopped = False
        self._last = time.perf_counter()

    @property
    def answered(self) -> int:
        return self.right + self.foreign + self.lost + len(self.failures)

    @property
    def unasked(self) -> int:
        return sum(peer.unasked for peer in self._peers)

    async def begin(self, width: int) -> None:
        """So many connections for each peer."""
        for peer in self._peers:
            for slot in await peer.slots(width):
                self._next(peer, slot)

    def stop(self) -> None:
        """No more calls; those on their way are waited for by `finished`."""
        self._stopped = True

    async def finished(self) -> None:
        """Until every call has its answer; what has none when nothing comes any more is lost."""
        while self._open or not self._over():
            await asyncio.sleep(_LOOK)
            if time.perf_counter() - self._last > _STUCK:
                self.lost += len(self._open)
                self._open.clear()
                self._stopped = True

    def _over(self) -> bool:
        return self._stopped or (self._calls is not None and self.sent >= self._calls)

    def _next(self, peer: HttpPeer, slot: Slot) -> None:
        if self._over():
            return
        self.sent += 1
        token = f"call-{self.sent:08d}"
        number, body = peer.body("tools/call", {"name": self._tool, "arguments": {"text": token}})
        began = self._open[token] = time.perf_counter()

        def done(status: int, raw: bytes) -> None:
            if self._open.pop(token, None) is None:
                return  # it had been given up
            self._last = time.perf_counter()
            self._enter(token, began, status, _read(status, raw, number))
            self._next(peer, slot)

        slot.send(number, body, "tools/call", self._tool, done)

    def _enter(self, token: str, began: float, status: int, answer: str) -> None:
        if answer == token:
            self.right += 1
            self.right_tokens.add(token)
            self.on_right(began)
        elif status == 0:
            self.lost += 1
            self._note(answer)
        elif answer.startswith("error:"):
            self.failures.append(Failure(began, self._last, answer))
        else:
            self.foreign += 1
            self._note(f"{token} was answered with {answer}")

    def _note(self, text: str) -> None:
        if len(self.worst) < _SHOWN:
            self.worst.append(text)


def _read(status: int, raw: bytes, number: int) -> str:
    """The text that came back, or what went wrong."""
    if status != 200:
        return f"error: status {status}: {raw[:300].decode('utf-8', 'replace')}"
    try:
        message = message_in(raw, number)
    except (NoAnswer, ValueError) as error:
        return f"unreadable: {error}"
    if message.get("id") != number:
        return f"the answer to {message.get('id')!r} instead of {number}"
    if "error" in message:
        return f"error: {message['error'].get('message')}"
    result = message["result"]
    text = str(result["content"][0].get("text", "")) if result.get("content") else ""
    return f"error: {text}" if result.get("isError") else text
