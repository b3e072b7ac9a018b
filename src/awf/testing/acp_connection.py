"""The editor's end of an ACP connection: who waits for what, and how the person answers questions."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from awf.testing.acp_heard import Question
from awf.testing.acp_policies import NEVER, form_reply, permission_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from awf.testing.acp_policies import FormPolicy, PermissionPolicy
    from awf.testing.acp_process import AgentProcess, Ended

__all__ = ["Answer", "EditorConnection", "RequestRefused"]

T = TypeVar("T")
_NO_METHOD = -32601
_WITHDRAWN = -32800


class Answer(NamedTuple):
    result: dict[str, Any]
    updates_before: int  # how many updates had come when it came


class RequestRefused(Exception):  # noqa: N818  an answer that a test may want
    """The agent answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.code = int(error["code"])
        self.message = str(error["message"])
        data = error.get("data")
        self.details = str(data.get("details", "")) if isinstance(data, dict) else ""


class EditorConnection:
    def __init__(self, permissions: PermissionPolicy, forms: FormPolicy, patience: float) -> None:
        self.permissions: PermissionPolicy = permissions  # both may be changed at any time
        self.forms: FormPolicy = forms
        self.patience = patience
        self.updates: list[tuple[str, dict[str, Any]]] = []  # all of them, with their sessions
        self.questions: list[Question] = []
        self.withdrawn: list[str | int] = []  # ids of questions that the agent took back
        self.opened: dict[str, dict[str, Any]] = {}  # session → the answer that opened it
        self.strays: list[dict[str, Any]] = []  # answers to what was sent by hand
        self.agent: AgentProcess
        self._waiting: dict[str, asyncio.Future[tuple[dict[str, Any], int]]] = {}
        self._open_questions: dict[str, Question] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._thinking: dict[str, asyncio.Task[None]] = {}  # open question → the policy that decides
        self._news = asyncio.Event()
        self._over = False
        self._policy_fault: BaseException | None = None
        self._last_id = 0

    # -- plain messages ------------------------------------------------------------------------------------------

    async def request(
        self, method: str, params: Mapping[str, Any], *, request_id: Any = None
    ) -> dict[str, Any]:
        """The result; an error is raised as `RequestRefused`."""
        return (await self.asked(method, params, request_id=request_id)).result

    async def asked(self, method: str, params: Mapping[str, Any], *, request_id: Any = None) -> Answer:
        request_id = self.next_id() if request_id is None else request_id
        answer = self.expect(request_id)
        await self.send_message({"id": request_id, "method": method, "params": dict(params)})
        return await self.answered(answer, f"the answer to {method}")

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        await self.send_message({"method": method, "params": dict(params)})

    async def answer(self, question_id: str | int, **body: Any) -> None:
        """Answer a question by hand: `result=…` or `error=…`. One that is answered already is left alone."""
        key = json.dumps(question_id)
        if self._open_questions.pop(key, None) is None:
            return
        thinking = self._thinking.pop(key, None)
        if thinking is not None and thinking is not asyncio.current_task():
            thinking.cancel()  # nobody waits for that any more
        await self.send_message({"id": question_id, **body})

    async def send(self, data: bytes) -> None:
        """Bytes that may be anything; what is answered to them is among the `strays`."""
        try:
            async with asyncio.timeout(self.patience):
                await self.agent.send(data)
        except TimeoutError:
            raise AssertionError(self.agent.told(f"the agent read nothing for {self.patience} s")) from None

    async def send_message(self, message: dict[str, Any]) -> None:
        await self.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def expect(self, request_id: Any) -> asyncio.Future[tuple[dict[str, Any], int]]:
        future: asyncio.Future[tuple[dict[str, Any], int]] = asyncio.get_running_loop().create_future()
        self._waiting[json.dumps(request_id)] = future
        return future

    def updates_of(self, session: str, first: int = 0, last: int | None = None) -> list[dict[str, Any]]:
        """Those of one session among a part of all `updates`."""
        return [update for one, update in self.updates[first:last] if one == session]

    # -- waiting -------------------------------------------------------------------------------------------------

    async def wait_for(
        self, fits: Callable[[dict[str, Any]], bool], *, session: str | None = None, since: int = 0
    ) -> dict[str, Any]:
        """The first update that fits, also one that came before; `since` is a length of `updates` to begin at."""

        def look() -> dict[str, Any] | None:
            found = (
                update for one, update in self.updates[since:] if session in {None, one} and fits(update)
            )
            return next(found, None)

        return await self._until(look, "an update")

    async def wait_for_question(
        self, method: str = "session/request_permission", *, since: int = 0
    ) -> Question:
        def look() -> Question | None:
            return next((each for each in self.questions[since:] if each.method == method), None)

        return await self._until(look, method)

    async def wait_for_stray(self, fits: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """An answer to something that was sent by hand; each is given out once."""
        found = await self._until(lambda: next(filter(fits, self.strays), None), "an answer")
        self.strays.remove(found)
        return found

    async def _until(self, look: Callable[[], T | None], what: str) -> T:
        try:
            async with asyncio.timeout(self.patience):
                while (found := look()) is None:
                    self._news.clear()
                    if self._over:
                        raise AssertionError(self.agent.told(f"{what} did not come: {self._reason()}"))
                    self._fail_on_fault()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(self.agent.told(f"{what} did not come within {self.patience} s")) from None
        return found

    async def answered(self, answer: asyncio.Future[tuple[dict[str, Any], int]], what: str) -> Answer:
        message, before = (await self._until(lambda: answer if answer.done() else None, what)).result()
        if "error" in message:
            raise RequestRefused(message["error"])
        return Answer(dict(message["result"]), before)

    def _reason(self) -> str:
        return str(self.agent.fault or "the agent's output has ended")

    def _fail_on_fault(self) -> None:
        fault = self._policy_fault or self.agent.fault
        if fault is not None:
            raise AssertionError(self.agent.told(f"{type(fault).__name__}: {fault}")) from fault

    # -- hearing -------------------------------------------------------------------------------------------------

    def _hear(self, message: dict[str, Any] | None) -> None:
        if message is None:
            self._over = True
        elif "method" not in message:
            self._hear_answer(message)
        elif "id" in message:
            self._hear_question(Question(message["id"], message["method"], message["params"]))
        elif message["method"] == "session/update":
            self.updates.append((message["params"]["sessionId"], message["params"]["update"]))
        elif message["method"] == "$/cancel_request":
            self.withdrawn.append(message["params"]["requestId"])
            self._reply_later(self._withdraw(message["params"]["requestId"]))
        self._news.set()

    def _hear_answer(self, message: dict[str, Any]) -> None:
        future = self._waiting.pop(json.dumps(message["id"]), None)
        if future is None:
            self.strays.append(message)
        elif not future.done():
            future.set_result((message, len(self.updates)))

    def _hear_question(self, question: Question) -> None:
        self.questions.append(question)
        self._open_questions[json.dumps(question.id)] = question
        self._thinking[json.dumps(question.id)] = self._reply_later(self._reply(question))

    def _reply_later(self, reply: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(reply)
        self._answering.add(task)
        task.add_done_callback(self._replied)
        return task

    def _replied(self, task: asyncio.Task[None]) -> None:
        self._answering.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._policy_fault = task.exception()
            self._news.set()

    async def _reply(self, question: Question) -> None:
        body = await self._reply_to(question)
        if body is not None:
            await self.answer(question.id, **body)

    async def _reply_to(self, question: Question) -> dict[str, Any] | None:
        if question.method == "session/request_permission":
            return permission_reply(await _decided(self.permissions, question.params), question.params)
        if question.method == "elicitation/create":
            return form_reply(await _decided(self.forms, question.params))
        return {"error": {"code": _NO_METHOD, "message": f"this editor has no {question.method}"}}

    async def _withdraw(self, question_id: str | int) -> None:
        question = self._open_questions.get(json.dumps(question_id))
        if question is not None:
            policy = self.permissions if question.method == "session/request_permission" else self.forms
            if policy != NEVER:
                await self.answer(question_id, error={"code": _WITHDRAWN, "message": "withdrawn"})

    # -- ending --------------------------------------------------------------------------------------------------

    async def close(self) -> Ended:
        """Go politely, and wait for the agent to go. A frame that was wrong is told now at the latest."""
        self.agent.hang_up()
        return await self.ended()

    async def ended(self) -> Ended:
        """Wait for the end of an agent that was hung up on, signalled, or ends by itself."""
        try:
            told = await self.agent.ended(self.patience)
        finally:
            await self._stop_answering()
        self._fail_on_fault()
        return told

    async def abandon(self) -> None:
        """End it now, with everything in its process group; for tests that have failed already."""
        await self.agent.kill()
        await self._stop_answering()

    async def _stop_answering(self) -> None:
        tasks = list(self._answering)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _decided(policy: Any, params: dict[str, Any]) -> Any:
    decided = policy(params) if callable(policy) else policy
    return await decided if inspect.isawaitable(decided) else decided
