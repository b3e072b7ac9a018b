"""MCP over HTTP as it was in 2024: one stream of events to the client, and an address to which it posts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from awf.application.gateway.origins import CONTEXT_HEADER
from awf.domain.mcp import INVALID_REQUEST, RpcError
from awf.domain.ports.http_server import HttpReply
from awf.interfaces.mcp.gateway.conversation import Conversation
from awf.interfaces.mcp.gateway.messages import refusal
from awf.interfaces.mcp.gateway.reach import STREAM_HEADERS, StandingReach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.gateway import Gateway
    from awf.domain.ports.http_server import HttpRequest

__all__ = ["OlderSse"]

MESSAGES = "/messages"
MOST = 10_000


class OlderSse:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._conversations: dict[str, tuple[Conversation, str, StandingReach]] = {}

    def __len__(self) -> int:
        return len(self._conversations)

    async def stream(
        self, request: HttpRequest, key: str, profile: str, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        if request.method != "GET":
            return HttpReply(405, (("Allow", "GET"),))
        if len(self._conversations) >= MOST:
            return HttpReply(503, (("Retry-After", "5"),), b"there are too many clients\n")
        name = self._gateway.new_name()
        reach = StandingReach(request.stream(200, (*STREAM_HEADERS, *headers)))
        conversation = Conversation(
            self._gateway,
            lambda data: reach.write(data, "message"),
            key=key,
            profile=profile,
            headers=request.headers,
        )
        over = asyncio.Event()
        reach.on_close(over.set)
        request.on_leave(over.set)
        reach.write(f"{MESSAGES}?session_id={name}".encode(), "endpoint")
        self._conversations[name] = conversation, key, reach
        try:
            await over.wait()
        finally:
            del self._conversations[name]
            await conversation.close()
        return None

    async def message(self, request: HttpRequest, key: str) -> HttpReply:
        if request.method != "POST":
            return HttpReply(405, (("Allow", "POST"),))
        found = self._conversations.get(request.query.get("session_id", ""))
        if found is None or found[1] != key:
            return refusal(404, RpcError(INVALID_REQUEST, "Session not found: its stream has ended."))
        # The context that a message names counts for it; else that of the stream.
        found[0].receive(request.body, request.headers if CONTEXT_HEADER in request.headers else None)
        return HttpReply(202, (("Content-Type", "text/plain"),), b"Accepted")

    def pulse(self) -> None:
        for _, _, reach in self._conversations.values():
            reach.pulse()

    def close(self) -> None:
        for _, _, reach in list(self._conversations.values()):
            reach.close()
