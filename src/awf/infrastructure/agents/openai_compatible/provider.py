"""The loop: ask the model, carry out the tools it calls, tell it what came of them, until it has its answer.

The tools are an argument of the call, never a field: the router is asked in this process, and the model knows no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from awf.domain.agent import AgentFailure, AgentReply, IsolationReport
from awf.domain.run import Session, add_usage
from awf.infrastructure.agents.openai_compatible import options as declared
from awf.infrastructure.agents.openai_compatible.failures import LoopGuard
from awf.infrastructure.agents.openai_compatible.messages import (
    assistant_message,
    opened,
    picture_message,
    tool_message,
    used_call_ids,
)
from awf.infrastructure.agents.openai_compatible.options import OpenAICompatibleOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from awf.domain.agent import AgentRequest, DisplayEvent
    from awf.domain.ports.http_client import HttpClient
    from awf.domain.run import Usage
    from awf.infrastructure.agents.cli.options import OptionProblem
    from awf.infrastructure.agents.openai_compatible.asking import Asking
    from awf.infrastructure.agents.openai_compatible.turn import Turn

__all__ = ["OpenAICompatibleAgent"]

_CALLING = {"tool_calls", "function_call"}
_GIVEN_UP = {"error", "abort", "cancelled", "insufficient_system_resource"}


class OpenAICompatibleAgent:
    """`http` makes a client for each call, so that none outlives it; `pause` waits between attempts."""

    name = "openai_compatible"
    isolation: Literal["guaranteed"] = "guaranteed"
    options_form = OpenAICompatibleOptions

    def __init__(
        self, http: Callable[[], HttpClient], pause: Callable[[float], Awaitable[Any]] | None = None
    ) -> None:
        self._http = http
        self._pause = pause

    def check_options(self, options: Mapping[str, Any]) -> Sequence[OptionProblem]:
        return declared.check_options(dict(options))

    async def run(self, request: AgentRequest, show: Callable[[DisplayEvent], None]) -> AgentReply:
        import asyncio  # late, with what needs it: checking options must stay light

        from awf.infrastructure.agents.openai_compatible.asking import Asking

        options = declared.read_options(request.options)
        session = _session(request)
        if request.tools is not None:
            names = tuple(tool.name for tool in request.tools.toolbox.definitions())
            show(IsolationReport("guaranteed" if request.tools.intercepts else "none", tools=names))
        http = self._http()
        try:
            asking = Asking(http, options, show, asyncio.sleep if self._pause is None else self._pause)
            conversation = _Conversation(request, options, asking, show)
            try:
                return await conversation.run(session)
            except AgentFailure as failure:
                failure.usage = conversation.usage
                raise
        finally:
            await http.close()


def _session(request: AgentRequest) -> Session:
    earlier = request.session
    if earlier is None:
        import hashlib

        fresh = hashlib.sha256(f"{request.run_id}/{request.path}".encode()).hexdigest()[:12]
        return Session(provider=OpenAICompatibleAgent.name, id=f"openai-{fresh}")
    if earlier.provider != OpenAICompatibleAgent.name:
        raise AgentFailure(
            f"The session to continue belongs to {earlier.provider}, which keeps it to itself.",
            retryable=False,
            hint="Continue it with the same provider.",
        )
    return earlier


class _Conversation:
    def __init__(
        self,
        request: AgentRequest,
        options: OpenAICompatibleOptions,
        asking: Asking,
        show: Callable[[DisplayEvent], None],
    ) -> None:
        self._request = request
        self._options = options
        self._asking = asking
        self._show = show
        self._toolbox = request.tools.toolbox if request.tools is not None else None
        self._messages: list[dict[str, Any]] = []
        self._usage: Usage | None = None

    @property
    def usage(self) -> Usage | None:
        """What was spent so far."""
        return self._usage

    async def run(self, session: Session) -> AgentReply:
        self._messages = opened(session.history, self._request.system_prompt, self._request.prompt)
        for _ in range(self._options.max_rounds):
            turn = await self._ask()
            if not turn.calls:
                return self._reply(turn, session)
            await self._use_tools(turn)
        raise AgentFailure(
            f"{self._options.model} has called tools for {self._options.max_rounds} rounds without coming to an answer.",
            retryable=False,
            hint="Raise `max_rounds`, or give it a smaller task.",
        )

    async def _ask(self) -> Turn:
        from awf.infrastructure.agents.openai_compatible.pricing import priced
        from awf.infrastructure.agents.openai_compatible.request import request_body

        tools = self._toolbox.definitions() if self._toolbox is not None else ()
        body = request_body(self._options, self._messages, tools, self._request.output_schema)
        turn = await self._asking.ask(body)
        self._usage = add_usage(self._usage, priced(turn.usage, self._options.prices))
        _check(turn, self._options.model)
        return turn

    async def _use_tools(self, turn: Turn) -> None:
        from awf.infrastructure.agents.openai_compatible.arguments import read_calls
        from awf.infrastructure.agents.openai_compatible.calling import AT_A_TIME, carry_out
        from awf.infrastructure.agents.openai_compatible.tool_content import pictures, tool_text

        calls = read_calls(turn.calls, used_call_ids(self._messages))
        at_a_time = 1 if self._options.parallel_tool_calls is False else AT_A_TIME
        results = await carry_out(calls, self._toolbox, self._show, at_a_time=at_a_time)
        self._messages.append(assistant_message(turn, calls, with_thoughts=self._options.return_thoughts))
        images = self._options.images
        for call, result in zip(calls, results, strict=True):
            self._messages.append(tool_message(call, tool_text(result, images=images)))
        seen = [part for result in results for part in pictures(result)] if images else []
        if seen:
            self._messages.append(picture_message(seen))

    def _reply(self, turn: Turn, session: Session) -> AgentReply:
        self._messages.append(assistant_message(turn, (), with_thoughts=False))
        continued = Session(
            provider=session.provider, id=session.id, turns=session.turns + 1, history=self._messages
        )
        return AgentReply(text=turn.text, session=continued, usage=self._usage)


def _check(turn: Turn, model: str) -> None:
    """Raises for a turn that leads nowhere."""
    if turn.finish in _CALLING and not turn.calls:
        raise LoopGuard(model)
    if turn.finish == "length":
        hint = "Raise `max_tokens`, or ask for less."
        raise AgentFailure(f"The answer of {model} was cut off: it is too long.", retryable=False, hint=hint)
    if turn.finish in _GIVEN_UP:
        raise AgentFailure(f"The API gave up in the middle of the answer of {model} ({turn.finish}).")
    if turn.finish == "content_filter":
        raise AgentFailure(f"The API held back the answer of {model} (content filter).", retryable=False)
    if turn.refusal and not turn.text and not turn.calls:
        raise AgentFailure(f"{model} refused: {turn.refusal}", retryable=False)
    if not turn.text and not turn.calls:
        raise AgentFailure(f"{model} ended without an answer.")
