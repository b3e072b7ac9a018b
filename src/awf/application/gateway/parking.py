"""Calls of the newer era whose server, of the older one, asks something in the middle.

The newer era has no questions from servers: the answer to the request is "input required", and the client asks again
with what was wanted. Meanwhile the server's call stays open here, for a while.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import Exchange
from awf.application.gateway.origins import CONTEXT_HEADER
from awf.application.running.tasks import spawn
from awf.domain.mcp import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = ["Parking", "new_name", "state_name"]

SECONDS = 600.0
PLACES = 1000
MARK = "awf-parked-"


def new_name() -> str:
    return secrets.token_urlsafe(24)


def state_name(params: Mapping[str, Any]) -> str:
    """The name of the call that waits, if a request comes back to one; else empty."""
    state = params.get("requestState")
    return state[len(MARK) :] if isinstance(state, str) and state.startswith(MARK) else ""


def _bound(exchange: Exchange, about: object) -> object:
    """Who asks, in which context, for what: others do not take it up, and it is not taken up for anything else."""
    return exchange.client.key, exchange.headers.get(CONTEXT_HEADER, ""), about


class _Parked(Exchange):
    """The request as the server knows it: it outlives the client's requests."""

    __slots__ = ("bound_to", "expiry", "news", "questions", "task")

    def __init__(self, exchange: Exchange, bound_to: object) -> None:
        super().__init__(
            exchange.client, exchange.id, exchange.reach, meta=exchange.meta, headers=exchange.headers
        )
        self.bound_to = _bound(exchange, bound_to)
        self.questions: dict[str, tuple[dict[str, Any], asyncio.Future[dict[str, Any]]]] = {}
        self.news = asyncio.Event()
        self.task: asyncio.Task[dict[str, Any]] | None = None
        self.expiry: asyncio.TimerHandle | None = None

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        if not self.client.can_answer(method):
            raise RpcError(METHOD_NOT_FOUND, f"The client cannot answer {method}.")
        key = f"question-{secrets.token_hex(4)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        asked = {"method": method, **({} if params is None else {"params": params})}
        self.questions[key] = asked, answer
        self.news.set()
        try:
            return await answer
        finally:
            self.questions.pop(key, None)


class Parking:
    """`name`: makes one for a call that waits, by which it is found again."""

    def __init__(self, name: Callable[[], str] = new_name) -> None:
        self._name = name
        self._parked: dict[str, _Parked] = {}

    async def begin(
        self, exchange: Exchange, work: Callable[[Exchange], Awaitable[dict[str, Any]]], *, bound_to: object
    ) -> dict[str, Any]:
        """The result of the work, or what its server wants to know before it goes on."""
        parked = _Parked(exchange, bound_to)

        async def run() -> dict[str, Any]:
            return await work(parked)

        parked.task = spawn(run(), "a call that may have questions", awaited=True)
        return await self._next(parked)

    def is_ours(self, params: Mapping[str, Any]) -> bool:
        state = params.get("requestState")
        return isinstance(state, str) and state.startswith(MARK)

    async def again(
        self, exchange: Exchange, params: Mapping[str, Any], *, bound_to: object
    ) -> dict[str, Any]:
        """The client has come back with answers. Raises `RpcError` when it is not the one, or too late."""
        parked = self._parked.get(params["requestState"])
        if parked is None or parked.bound_to != _bound(exchange, bound_to):
            message = "This request is not waiting for input, or no longer. Begin again without requestState."
            raise RpcError(INVALID_PARAMS, message)
        del self._parked[params["requestState"]]
        if parked.expiry is not None:
            parked.expiry.cancel()
        parked.reach, parked.id = exchange.reach, exchange.id
        parked.news.clear()
        answers = params.get("inputResponses")
        for key, (_, answer) in list(parked.questions.items()):
            given = answers.get(key) if isinstance(answers, dict) else None
            if isinstance(given, dict) and not answer.done():
                answer.set_result(given)
            else:
                parked.news.set()
        return await self._next(parked)

    async def _next(self, parked: _Parked) -> dict[str, Any]:
        task = parked.task
        assert task is not None
        waiting = spawn(parked.news.wait(), "waiting for a question", awaited=True)
        try:
            await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            waiting.cancel()
        return await task if task.done() else self._park(parked)

    def _park(self, parked: _Parked) -> dict[str, Any]:
        if len(self._parked) >= PLACES:
            self._abandon(next(iter(self._parked)))
        state = f"{MARK}{self._name()}"
        self._parked[state] = parked
        parked.expiry = asyncio.get_running_loop().call_later(SECONDS, self._abandon, state)
        open_questions = {
            key: asked for key, (asked, answer) in parked.questions.items() if not answer.done()
        }
        return {"resultType": "input_required", "inputRequests": open_questions, "requestState": state}

    def _abandon(self, state: str) -> None:
        parked = self._parked.pop(state, None)
        if parked is not None and parked.task is not None:
            parked.task.cancel()
            if parked.task.done() and not parked.task.cancelled():
                parked.task.exception()  # nobody comes for it any more

    async def close(self) -> None:
        tasks = [parked.task for parked in self._parked.values() if parked.task is not None]
        for state in list(self._parked):
            self._abandon(state)
        if tasks:
            await asyncio.wait(tasks)
