"""A conversation between an agent and the person: each turn is a durable step, each line a durable wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from awf.application.running.asking import first_answer
from awf.application.running.context import EndOfRecord, StepContext, failed
from awf.application.running.steps.agent import AgentCall
from awf.application.running.steps.tools import step_tools
from awf.domain.agent import AgentFailure
from awf.domain.events import InputReceived, InputRequired
from awf.domain.ports.durability import Finished, Message
from awf.domain.run import StepResult, Usage, add_usage

if TYPE_CHECKING:
    from awf.domain.run import Session
    from awf.domain.workflow import AgentState

__all__ = ["END_WORDS", "run_conversation"]

END_WORDS = {"", "/end", "/exit", "/quit"}


async def run_conversation(step: StepContext, state: AgentState) -> StepResult:
    prompt: str | None = None  # the first one is made inside the first turn
    session: Session | None = None
    usage: Usage | None = None
    turn = 0
    while True:
        turn += 1
        result = await _turn(step, state, turn, prompt, session)
        usage = add_usage(usage, result.usage)
        if result.error is not None:
            return StepResult(
                status="failed", exit_code=1, error=result.error, usage=usage, session=result.session
            )
        session = result.session
        line = await _next_line(step, turn, result.output)
        if line.strip().lower() in END_WORDS:
            return StepResult(
                status="success", output=result.output, response=result.output, usage=usage, session=session
            )
        prompt = line


async def _turn(
    step: StepContext, state: AgentState, turn: int, prompt: str | None, session: Session | None
) -> StepResult:
    key = f"{step.key}/turn-{turn}"
    if step.frame.replay_only and step.durable.recorded(key) is None:
        raise EndOfRecord

    async def work() -> Finished:
        started = step.services.clock()
        try:
            async with asyncio.timeout(state.timeout), step_tools(step, state) as tools:
                call = AgentCall(step, state, tools)
                continued = session if prompt is not None else call.earlier_session()
                reply = await call.ask(prompt if prompt is not None else call.prompt(), continued)
        except TimeoutError:
            return Finished(
                failed("EXECUTION.STEP.TIMEOUT", f"A turn took longer than {state.timeout or 0:g} s.")
            )
        except AgentFailure as failure:
            result = failed(failure.code, failure.message, failure.hint, permanent=not failure.retryable)
            return Finished(msgspec.structs.replace(result, usage=failure.usage))
        finished = step.services.clock()
        return Finished(
            StepResult(
                status="success",
                output=reply.text,
                response=reply.text,
                usage=call.usage,
                session=reply.session,
                started_at=started,
                finished_at=finished,
            )
        )

    return await step.durable.step(key, work)


async def _next_line(step: StepContext, turn: int, said: str) -> str:
    topic = f"input:{step.key}/turn-{turn}"
    if step.durable.answered(topic):
        answer = await step.durable.wait(topic, None)
        return str(answer.payload.get("text", "")) if answer else ""
    if step.frame.replay_only:
        raise EndOfRecord
    if step.services.unattended:
        raise AgentFailure(
            "The conversation needs an answer, and nobody can be asked.",
            code="EXECUTION.INPUT.UNAVAILABLE",
            retryable=False,
        )
    request = InputRequired(
        path=step.path, step=step.name, input_id=topic, prompt=f"{step.name} (/end to finish)", said=said
    )
    step.emit(request)
    answer = await first_answer(step.durable, topic, None, _ask(step, request))
    line = str(answer.payload.get("text", "")) if answer else ""
    step.emit(
        InputReceived(path=step.path, step=step.name, input_id=topic, text=line), once=f"{topic}:received"
    )
    return line


async def _ask(step: StepContext, request: InputRequired) -> None:
    line = await step.services.person.read(request)
    if line is not None:
        await step.durable.deliver(request.input_id, Message({"text": line}, "terminal"))
