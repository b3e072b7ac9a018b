"""Walks the states of one workflow.

Theory of operation. A walk is deterministic: it goes from state to state by what earlier states came to, and does
everything that touches the world inside `durable.step`. To continue a run after a crash the same walk is taken again;
recorded results come back instead of being worked out.

A *leaf* (command, single agent call) is one durable step. A *composite* (parallel, loop, called workflow, conversation)
walks further states below its own path and then records what it came to. When a composite's record exists, its inner
states are looked up again, so that templates can refer to them, but nothing new may be done there: that is
`replay_only`, and `EndOfRecord` ends such a look back.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.running import announce
from awf.application.running.approval import ask_approval
from awf.application.running.context import Ending, EndOfRecord, RunContext, StepContext, failed, retryable
from awf.application.running.hooks import run_hooks
from awf.application.running.limits import limit_error, step_limit_error
from awf.application.running.routing import Fail, Goto, Route, retry_delay, route
from awf.application.running.scope import Frame, Scope
from awf.domain.agent import AgentFailure
from awf.domain.errors import AwfError
from awf.domain.events import StepSkipped, same_step
from awf.domain.ports.durability import Finished
from awf.domain.ports.expressions import ExpressionError
from awf.domain.run import ErrorInfo, StepResult
from awf.domain.workflow import AgentState, CommandState, OperationState, PluginState, TerminalState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.domain.events import Event
    from awf.domain.workflow import Runnable

__all__ = ["Walk"]


class Walk:
    def __init__(self, run: RunContext, scope: Scope) -> None:
        self.run_context = run
        self.scope = scope
        self.services = run.services
        self.durable = run.owned
        self.replay_only = False

    async def run(self) -> Ending:
        """From the initial state to an end."""
        states = self.scope.workflow.states
        frame = Frame(self.scope.prefix, replay_only=self.replay_only)
        name = self.scope.workflow.initial
        while not isinstance(state := states[name], TerminalState):
            result = await self.execute(name, frame)
            way = self.route(name, state, result, frame)
            if isinstance(way, Goto):
                name = way.state
            elif isinstance(way, Fail):
                return self.ending_of(name, way, frame)
            else:  # only a branch or body state may be silent, and the validator knows that
                raise AwfError("SYSTEM.INTERNAL.BUG", f"'{name}' leads nowhere.")
        return self._terminal(name, state, frame)

    def _terminal(self, name: str, state: TerminalState, frame: Frame) -> Ending:
        step = StepContext(self, name, frame.prefix + name, "", frame)
        message = self._text(step, state.message)
        if state.status == "success":
            return Ending(message=message)
        cause = self.scope.error
        text = message or (
            f"It ended in '{name}' after '{cause.state}' failed: {cause.message}"
            if cause
            else f"It ended in '{name}'."
        )
        return Ending(
            error=ErrorInfo("EXECUTION.WORKFLOW.FAILED", text, state=name, exit_status=state.exit_code),
            message=message,
        )

    def ending_of(self, name: str, way: Fail, frame: Frame) -> Ending:
        error = way.error if way.error.state else msgspec.structs.replace(way.error, state=name)
        if way.inline is None:
            return Ending(error=error)
        step = StepContext(self, name, frame.prefix + name, "", frame)
        message = self._text(step, way.inline.message) or error.message
        return Ending(
            error=ErrorInfo("EXECUTION.WORKFLOW.FAILED", message, state=name, exit_status=way.inline.status),
            message=message,
        )

    def _text(self, step: StepContext, template: str) -> str:
        """A closing message must come out even when its template does not."""
        try:
            return step.render(template)
        except ExpressionError as error:
            return f"{template} ({error.message})"

    def route(self, name: str, state: Runnable, result: StepResult, frame: Frame) -> Route:
        step = StepContext(self, name, frame.prefix + name, "", frame)
        try:
            return route(state, result, step.holds)
        except ExpressionError as error:
            return Fail(
                ErrorInfo(
                    "EXECUTION.TEMPLATE.FAILED",
                    f"A condition of '{name}': {error.message}",
                    error.hint,
                    state=name,
                )
            )

    # -- one state -------------------------------------------------------------------------------------------------

    async def execute(self, name: str, frame: Frame) -> StepResult:
        """Run one state to its result: approval, hooks, attempts."""
        state = self.scope.workflow.states[name]
        assert not isinstance(state, TerminalState)
        path = frame.path(name)
        step = StepContext(self, name, path, path, frame)
        known = self.last_attempt(path) if self.run_context.looks_back else None
        if known is not None and self._failed_the_run(name, state, known, frame):
            await self.durable.forget(path)
            known = None
        result = known if known and known.refused else await self._gate(step, state, known=known is not None)
        if result is None:
            if state.hooks:
                await run_hooks(step, state.hooks.pre, f"{path}/hooks/pre")
            result = await self._attempts(name, state, path, frame)
        self._keep(name, state, result, frame, replayed=known is not None)
        if state.hooks and not result.refused:
            await run_hooks(step, state.hooks.post, f"{path}/hooks/post")
        return result

    def last_attempt(self, path: str) -> StepResult | None:
        """What is remembered of a visit."""
        result, attempt = self.durable.recorded(path), 2
        while result is not None and not result.ok:
            later = self.durable.recorded(f"{path}@{attempt}")
            if later is None:
                break
            result, attempt = later, attempt + 1
        return result

    def _failed_the_run(self, name: str, state: Runnable, result: StepResult, frame: Frame) -> bool:
        """Whether this remembered failure is why the run failed: then resuming it means trying that again."""
        if result.ok or not self.run_context.retry_failed or frame.replay_only or state.continue_on_error:
            return False
        if frame.branches:
            return True
        self.scope.keep(name, result)
        way = self.route(name, state, result, frame)
        if not isinstance(way, Goto):
            return isinstance(way, Fail)
        target = self.scope.workflow.states[way.state]
        return isinstance(target, TerminalState) and target.status == "failure"

    def _keep(self, name: str, state: Runnable, result: StepResult, frame: Frame, *, replayed: bool) -> None:
        self.scope.keep(name, result)
        if result.over_limit is not None:
            self.scope.limit_passed = result.over_limit
        if replayed and not frame.inner and not self.scope.prefix:
            self.run_context.active_before += result.finished_at - result.started_at
        if isinstance(state, CommandState) and state.capture:
            for variable, text in (
                (state.capture.stdout, result.output),
                (state.capture.stderr, result.stderr),
            ):
                if variable:
                    self.scope.vars[variable] = text
        if state.kind in announce.LEAVES:
            self.scope.spend(result.usage)

    async def _gate(self, step: StepContext, state: Runnable, *, known: bool) -> StepResult | None:
        """Ask before the state runs. None: it may run, or it has run already."""
        consent, approved = same_step(step.path), self.run_context.approved
        if not state.approval or step.frame.replay_only or consent in approved:
            return None
        if known and not self.durable.answered(f"approval:{step.path}"):
            return None
        verdict = await ask_approval(step, state)
        if verdict == "run":
            approved.add(consent)
        if known or verdict == "once" or verdict == "run":  # noqa: PLR1714  narrows the type
            return None
        now = self.services.clock()
        if verdict == "skip":
            result = StepResult(status="skipped", refused=True, started_at=now, finished_at=now)
            event: Event = StepSkipped(path=step.path, step=step.name, kind=state.kind, reason="not approved")
        else:
            result = StepResult(
                status="failed", error=verdict, exit_code=1, refused=True, started_at=now, finished_at=now
            )
            event = announce.ended(state, step.name, step.path, result, 1, final=True)
            if verdict.code == "EXECUTION.APPROVAL.TIMEOUT":
                self.durable.emit(event)
                return result  # not remembered: after a resume the question is asked again
        return await self.durable.step(step.path, _already(result, event))

    async def _attempts(self, name: str, state: Runnable, path: str, frame: Frame) -> StepResult:
        attempt = 1
        while True:
            key = path if attempt == 1 else f"{path}@{attempt}"
            step = StepContext(self, name, path, key, frame)
            result = await self._attempt(step, state, attempt)
            if result.ok or not retryable(state, result, attempt):
                return msgspec.structs.replace(result, attempts=attempt)
            attempt += 1
            upcoming = f"{path}@{attempt}"
            if self.durable.recorded(upcoming) is None:
                if frame.replay_only:
                    raise EndOfRecord
                await self.durable.wait(
                    f"timer:{upcoming}",
                    retry_delay(state, attempt - 1, _spread(self.durable.run_id, upcoming)),
                )

    async def _attempt(self, step: StepContext, state: Runnable, attempt: int) -> StepResult:
        known = self.durable.recorded(step.key) if self.run_context.looks_back else None
        if known is None:
            if step.frame.replay_only:
                raise EndOfRecord
            refusal = limit_error(self.run_context, self.scope)
            if refusal is not None:
                return StepResult(status="failed", error=refusal, exit_code=1)
        if announce.is_leaf(state):
            return known or await self.durable.step(step.key, lambda: self._leaf(step, state, attempt))
        return await self._composite(step, state, attempt, known)

    # -- leaves and composites -------------------------------------------------------------------------------------

    async def _leaf(self, step: StepContext, state: Runnable, attempt: int) -> Finished:
        result = await self._observed(step, state, attempt, lambda: self.leaf_work(step, state))
        return Finished(result, (announce.ended(state, step.name, step.path, result, attempt),))

    def leaf_work(self, step: StepContext, state: Runnable) -> Awaitable[StepResult]:
        """The work of a leaf; whatever goes wrong in it is its result."""
        if isinstance(state, CommandState):
            from awf.application.running.steps.command import run_command

            return _guarded(run_command(step, state), None)  # the runner keeps the time
        if isinstance(state, OperationState | PluginState):
            from awf.application.running.steps.plugin import run_operation, run_plugin_step

            work = (
                run_operation(step, state)
                if isinstance(state, OperationState)
                else run_plugin_step(step, state)
            )
            return _guarded(work, state.timeout)
        assert isinstance(state, AgentState)
        from awf.application.running.steps.agent import run_agent

        return _guarded(run_agent(step, state), state.timeout)

    async def _composite(
        self, step: StepContext, state: Runnable, attempt: int, known: StepResult | None
    ) -> StepResult:
        from awf.application.running.steps import composite_runner

        walk_inside = composite_runner(state)
        if known is not None:
            inside = Frame(step.frame.prefix, step.frame.loop, replay_only=True, inner=step.frame.inner)
            with contextlib.suppress(EndOfRecord, ExpressionError, AwfError, AgentFailure):
                await walk_inside(StepContext(self, step.name, step.path, step.key, inside), state)
            return known
        # A conversation's time limit holds for the agent's turns, not for the person's thinking.
        limit = None if isinstance(state, AgentState) else state.timeout
        result = await self._observed(step, state, attempt, lambda: _guarded(walk_inside(step, state), limit))
        event = announce.ended(state, step.name, step.path, result, attempt)
        if result.error is not None and result.error.code == "EXECUTION.APPROVAL.TIMEOUT":
            self.durable.emit(event)
            return result  # not remembered: after a resume the question is asked again
        return await self.durable.step(step.key, _already(result, event))

    async def _observed(
        self, step: StepContext, state: Runnable, attempt: int, work: Callable[[], Awaitable[StepResult]]
    ) -> StepResult:
        """Do the work with its start announced, a span around it, and its time and limits noted."""
        started = self.services.clock()
        self.durable.emit(announce.started(step, state, attempt))
        attributes = {"step.name": step.name, "step.type": state.kind, "step.path": step.path}
        with self.services.tracer.span(f"step.{step.name}", attributes) as span:
            try:
                result = await work()
            except asyncio.CancelledError:
                span.fail("cancelled")
                self.durable.emit(announce.cancelled(state, step, self.services.clock() - started))
                raise
            if result.error:
                span.fail(f"{result.error.code}: {self.services.masker.mask(result.error.message)}")
        timed = msgspec.structs.replace(result, started_at=started, finished_at=self.services.clock())
        return step_limit_error(state, timed)


async def _guarded(work: Awaitable[StepResult], limit: float | None) -> StepResult:
    """What goes wrong in a state is its result. Only a failing store ends the run itself."""
    try:
        async with asyncio.timeout(limit):
            return await work
    except TimeoutError:
        message = f"It took longer than its timeout of {limit or 0:g} s."
        return failed("EXECUTION.STEP.TIMEOUT", message, "Raise `timeout`, or handle it with on_failure.")
    except ExpressionError as error:
        return failed("EXECUTION.TEMPLATE.FAILED", error.message, error.hint)
    except AgentFailure as failure:
        result = failed(failure.code, failure.message, failure.hint, permanent=not failure.retryable)
        return msgspec.structs.replace(result, usage=failure.usage)
    except AwfError as error:
        if error.code.startswith("SYSTEM.STORE"):
            raise
        return failed(error.code, error.message, error.hint)
    except OSError as error:  # an output file on a full disk, a prompt file that went away
        where = f": {error.filename}" if error.filename else ""
        return failed("SYSTEM.IO.WRITE_FAILED", f"{error.strerror or error}{where}.")


def _spread(run_id: str, key: str) -> float:
    """A number from -1 to 1 that is always the same for the same attempt."""
    digest = hashlib.sha256(f"{run_id}/{key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 0x7FFFFFFF - 1


def _already(result: StepResult, event: Event) -> Any:
    async def work() -> Finished:
        return Finished(result, (event,))

    return work
