"""One client on one connection that carries messages both ways: standard streams, a Unix socket, the older SSE."""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import Exchange
from awf.application.running.tasks import spawn
from awf.domain.mcp import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from awf.interfaces.mcp.gateway.messages import (
    UnreadableError,
    checked_id,
    decoded,
    encode,
    failure,
    request_parts,
    success,
)
from awf.interfaces.mcp.gateway.newer_era import is_newer, modern_client
from awf.interfaces.mcp.gateway.sessions import legacy_client

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gate.passage import Passage
    from awf.application.gateway.client import Client, Work
    from awf.application.gateway.gateway import Gateway

    Headers = Mapping[str, str]

__all__ = ["Conversation"]

ENOUGH_OPEN = 500  # left, when more may come
MOST_OPEN = 1000  # requests that wait for their answers
_BEFORE_HANDSHAKE = frozenset({"ping", "server/discover"})


class Conversation:
    """A `Reach` of its own. `write` sends one message; False when nobody reads any more."""

    def __init__(
        self,
        gateway: Gateway,
        write: Callable[[bytes], bool],
        *,
        key: str = "",
        profile: str = "",
        headers: Headers | None = None,
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        self.on_enough: Callable[[], object] = lambda: None
        self._is_behind = is_behind
        self._holding_up = False
        self._listening: set[Any] = set()  # requests that last as long as the client
        self._gateway = gateway
        self._write = write
        self._key = key
        self._profile = profile
        self._headers = headers or {}
        self._client: Client | None = None  # after the handshake of the older era
        self._open: dict[Any, Work] = {}
        self._emptied: asyncio.Future[None] | None = None

    def is_full(self) -> bool:
        """As many requests as it may have wait for their answers; `on_enough` tells when there are fewer."""
        self._holding_up = len(self._open) >= MOST_OPEN
        return self._holding_up

    def send(self, message: dict[str, Any]) -> bool:
        """What is not an answer is not kept for a client that is far behind with reading."""
        return not self._is_behind() and self._write(encode(message))

    def pause(self) -> None:
        pass

    def receive(self, data: bytes, headers: Headers | None = None) -> None:
        """Take one frame. Answers go out when they are ready. `headers`: of this frame, where each has its own."""
        around = self._headers if headers is None else headers
        try:
            message = decoded(data)
        except UnreadableError as error:
            self._write(failure(error.request_id, error))
            return
        if isinstance(message, list):
            self._batch(message, around)
        else:
            self._take(message, around)

    def refuse(self, error: RpcError) -> None:
        self._write(failure(None, error))

    def _batch(self, messages: list[Any], headers: Headers) -> None:
        if self._client is None or self._client.version != "2025-03-26" or not messages:
            error = RpcError(INVALID_REQUEST, "Invalid request: there are no batches here")
            self._write(failure(None, error))
            return
        task = spawn(self._answer_all(messages, headers), "answering a batch")
        self._open[task] = task
        task.add_done_callback(lambda done: self._forget(done, done))

    async def _answer_all(self, messages: list[Any], headers: Headers) -> None:
        """In their order; a batch is cancelled as a whole, with its client."""
        answers: list[bytes] = []
        for message in messages:
            if not isinstance(message, dict) or "id" not in message or "method" not in message:
                self._take(message, headers)
                continue
            try:
                checked_id(message, self._open)
            except RpcError as error:
                answers.append(failure(None, error))
            else:
                answers.append(await self._answered(message, headers))
        if answers:
            self._write(b"[" + b",".join(answers) + b"]")

    def _take(self, message: Any, headers: Headers) -> None:
        if not isinstance(message, dict):
            self._write(failure(None, RpcError(INVALID_REQUEST, "Invalid request: not an object")))
        elif "method" not in message:
            if self._client is not None:
                self._client.answered(message)
        elif "id" not in message:
            self._notified(message)
        else:
            self._requested(message, headers)

    def _requested(self, message: dict[str, Any], headers: Headers) -> None:
        try:
            request_id = checked_id(message, self._open)
        except RpcError as error:
            self._write(failure(None, error))
            return
        if len(self._open) >= MOST_OPEN:
            text = f"Too many requests at once: {MOST_OPEN} wait for their answers."
            self._write(failure(request_id, RpcError(INTERNAL_ERROR, text)))
            return
        admitted: Passage | None = None
        if message["method"] == "tools/call":
            begun, admitted = self._begun(request_id, message, headers)
            if begun:
                return
        serving = self._serve(request_id, message, headers, admitted)
        task = self._open[request_id] = spawn(serving, "a request")
        task.add_done_callback(lambda done: self._forget(request_id, done))

    def _begun(
        self, request_id: Any, message: dict[str, Any], headers: Headers
    ) -> tuple[bool, Passage | None]:
        """A plain call is sent at once. What is not plain, or wrong, takes the usual way, and does not ask the gate again
        where that has let it pass already.
        """
        try:
            method, params, meta = request_parts(message)
            client = self._asking(method, meta)
        except RpcError:
            return False, None
        exchange = Exchange(client, request_id, self, meta=meta, headers=headers)
        quick = self._gateway.begin_call(exchange, params, partial(self._told, request_id))
        if quick is None:
            return False, exchange.admitted
        self._open[request_id] = quick
        return True, None

    def _told(self, request_id: Any, outcome: dict[str, Any] | RpcError | None) -> None:
        self._forget(request_id, None)
        if isinstance(outcome, RpcError):
            self._write(failure(request_id, outcome))
        elif outcome is not None:
            self._write(success(request_id, outcome))

    def _forget(self, request_id: Any, work: Work | None) -> None:
        """None: whatever there is under this id; only what has one of its own ends so."""
        if work is None:
            self._open.pop(request_id, None)
        elif self._open.get(request_id) is work:
            del self._open[request_id]
        self._listening.discard(request_id)
        if self._holding_up and len(self._open) <= ENOUGH_OPEN:
            self._holding_up = False
            self.on_enough()
        if self._emptied is not None and not self._open and not self._emptied.done():
            self._emptied.set_result(None)

    async def _serve(
        self, request_id: Any, message: dict[str, Any], headers: Headers, admitted: Passage | None
    ) -> None:
        answer = await self._answered(message, headers, admitted)
        task = asyncio.current_task()
        assert task is not None
        self._forget(request_id, task)  # with its answer a client may use the id again
        self._write(answer)

    async def _answered(
        self, message: dict[str, Any], headers: Headers, admitted: Passage | None = None
    ) -> bytes:
        request_id = message["id"]
        try:
            method, params, meta = request_parts(message)
            if method == "subscriptions/listen":
                self._listening.add(request_id)
            if method == "initialize":
                return success(request_id, await self._initialize(params))
            client = self._asking(method, meta)
            exchange = Exchange(client, request_id, self, meta=meta, headers=headers)
            exchange.admitted = admitted
            return success(request_id, await self._gateway.answer(exchange, method, params))
        except RpcError as error:
            return failure(request_id, error)

    def _asking(self, method: str, meta: dict[str, Any]) -> Client:
        if is_newer(meta):
            return modern_client(meta, self._key, self._profile)
        if self._client is not None:
            return self._client
        if method in _BEFORE_HANDSHAKE:
            return legacy_client({"protocolVersion": ""}, id="", key=self._key, profile=self._profile)
        # Told at once: clients of the newer era try this, and would wait for long.
        raise RpcError(METHOD_NOT_FOUND, f"Begin with initialize; there is no {method[:200]} before it.")

    async def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        client = legacy_client(params, id=secrets.token_urlsafe(24), key=self._key, profile=self._profile)
        client.standing = self
        before, self._client = self._client, client  # at once: some clients do not wait for the answer
        if before is not None:
            await self._gateway.leave(before)
        return await self._gateway.greet(client)

    def _notified(self, message: dict[str, Any]) -> None:
        try:
            method, params, _ = request_parts(message)
        except RpcError:
            return
        if method == "notifications/cancelled":
            wanted = params.get("requestId")
            task = self._open.pop(wanted, None) if isinstance(wanted, str | int) else None
            if task is not None:
                task.cancel()
        elif self._client is not None:
            self._gateway.heard(self._client, message)

    async def settled(self, patience: float) -> None:
        """The client says nothing more: until what is under way has been answered, but not for ever."""
        for request_id in self._listening & self._open.keys():
            self._open[request_id].cancel()
        if self._client is not None:
            self._client.lost()  # nobody should wait for its answers
        if self._open:
            self._emptied = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._emptied], timeout=patience)

    async def close(self) -> None:
        works = list(self._open.values())
        for work in works:
            work.cancel()
        tasks = [work for work in works if isinstance(work, asyncio.Task)]
        if tasks:
            await asyncio.wait(tasks)
        if self._client is not None:
            await self._gateway.leave(self._client)
