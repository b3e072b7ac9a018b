"""Run states once for every item, or as long as a condition holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from awf.application.running.context import StepContext
from awf.application.running.routing import Fail, Goto
from awf.application.running.scope import Frame, LoopContext, StateView
from awf.domain.errors import AwfError
from awf.domain.events import Warned
from awf.domain.run import ErrorInfo, StepResult
from awf.domain.workflow import ForEachState, TerminalState, WhileState

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["items_of", "run_loop"]

_DEFAULT_WHILE = 100
_HARD_LIMIT = 10_000


async def run_loop(step: StepContext, state: ForEachState | WhileState) -> StepResult:
    loop = _Loop(step, state)
    step.scope.iterations[step.name] = loop.iteration_results
    return await loop.run()


class _Loop:
    def __init__(self, step: StepContext, state: ForEachState | WhileState) -> None:
        self.step = step
        self.state = state
        self.done = 0
        self.visits: dict[int, dict[str, str]] = {}

    async def run(self) -> StepResult:
        limit = self._limit()
        items = self._items(limit) if isinstance(self.state, ForEachState) else None
        while self._goes_on(items):
            if items is None and self.done >= (limit or _DEFAULT_WHILE):
                return self._at_the_limit(limit or _DEFAULT_WHILE)
            outer = self.step.frame.loop
            length = len(items) if items is not None else None
            context = LoopContext(
                item=items[self.done] if items is not None else None,
                index=self.done,
                length=length,
                parent=outer,
            )
            ended = await self._iteration(context)
            self.done += 1
            if ended is not None:
                return ended
            if self.state.break_when and self._at(context).holds(self.state.break_when):
                break
        return self._completed()

    def _goes_on(self, items: list[Any] | None) -> bool:
        if items is not None:
            return self.done < len(items)
        assert isinstance(self.state, WhileState)
        return self._at(
            LoopContext(item=None, index=self.done, length=None, parent=self.step.frame.loop)
        ).holds(self.state.condition)

    def _at(self, context: LoopContext) -> StepContext:
        step = self.step
        return StepContext(
            step.walk,
            step.name,
            step.path,
            step.key,
            Frame(step.frame.prefix, context, replay_only=step.frame.replay_only),
        )

    def _completed(self) -> StepResult:
        return StepResult(status="success", output=f"{self.done} iterations", iterations=self.done)

    def _at_the_limit(self, limit: int) -> StepResult:
        if self.state.on_complete:
            if not self.step.frame.replay_only:
                self.step.emit(
                    Warned(
                        path=self.step.path,
                        message=f"'{self.step.name}' stopped at its limit of {limit} iterations.",
                    ),
                    once=f"{self.step.key}:limit",
                )
            return self._completed()
        message = f"It reached its limit of {limit} iterations."
        return StepResult(
            status="failed",
            exit_code=1,
            iterations=self.done,
            error=ErrorInfo("EXECUTION.LOOP.LIMIT", message, "Raise max_iterations, or add on_complete."),
        )

    # -- one iteration ---------------------------------------------------------------------------------------------

    async def _iteration(self, context: LoopContext) -> StepResult | None:
        """None: go on with the next one."""
        body, walk = self.state.body, self.step.walk
        frame = Frame(
            f"{self.step.key}[{context.index}]/", context, replay_only=self.step.frame.replay_only, inner=True
        )
        position, steps = 0, 0
        while position < len(body):
            steps += 1
            if steps > _HARD_LIMIT:
                return self._failed(
                    ErrorInfo(
                        "EXECUTION.LOOP.LIMIT",
                        f"Iteration {context.index + 1} went through more than {_HARD_LIMIT} states.",
                    )
                )
            name = body[position]
            state = walk.scope.workflow.states[name]
            assert not isinstance(state, TerminalState)
            result = await walk.execute(name, frame)
            way = walk.route(name, state, result, frame)
            if isinstance(way, Fail):
                return self._body_failed(name, way, frame)
            if not isinstance(way, Goto):
                position += 1
            elif way.state in body:
                position = body.index(way.state)
            elif way.state == self.step.name:
                return None
            else:
                return StepResult(
                    status="success",
                    output=f"{self.done + 1} iterations",
                    iterations=self.done + 1,
                    leave_to=way.state,
                )
        return None

    def _body_failed(self, name: str, way: Fail, frame: Frame) -> StepResult:
        if way.inline is not None:
            ending = self.step.walk.ending_of(name, way, frame)
            assert ending.error is not None
            return self._failed(
                ErrorInfo(
                    ending.error.code,
                    ending.error.message,
                    state=name,
                    exit_status=way.inline.status,
                    abort=True,
                )
            )
        if way.error.abort:
            return self._failed(way.error)
        return self._failed(
            ErrorInfo(
                "EXECUTION.LOOP.FAILED",
                f"Iteration {self.done + 1}, '{name}': {way.error.message}",
                way.error.hint,
            )
        )

    def _failed(self, error: ErrorInfo) -> StepResult:
        return StepResult(status="failed", exit_code=1, error=error, iterations=self.done + 1)

    def iteration_results(self, index: int) -> Mapping[str, Any]:
        return _Iteration(self.step, f"{self.step.key}[{index}]/", self.state.body)

    # -- items and limits ------------------------------------------------------------------------------------------

    def _limit(self) -> int | None:
        written = self.state.max_iterations
        if written is None or isinstance(written, int):
            return written
        text = self.step.render(written).strip()
        if not re.fullmatch(r"\d+", text) or not 1 <= int(text) <= _HARD_LIMIT:
            raise AwfError(
                "EXECUTION.LOOP.LIMIT",
                f"max_iterations must be a number from 1 to {_HARD_LIMIT}, not '{text}'.",
            )
        return int(text)

    def _items(self, limit: int | None) -> list[Any]:
        assert isinstance(self.state, ForEachState)
        items = items_of(self.step.value(self.state.items))
        if limit is not None and len(items) > limit:
            if not self.step.frame.replay_only:
                message = f"'{self.step.name}' takes {limit} of {len(items)} items, as max_iterations says."
                self.step.emit(Warned(path=self.step.path, message=message), once=f"{self.step.key}:limit")
            return items[:limit]
        if len(items) > _HARD_LIMIT:
            raise AwfError(
                "EXECUTION.LOOP.LIMIT", f"There are {len(items)} items; a loop takes at most {_HARD_LIMIT}."
            )
        return items


def items_of(value: Any) -> list[Any]:
    """A list from a list, JSON, lines, or values separated by commas."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Mapping) or value is None or isinstance(value, bool):
        raise AwfError(
            "EXECUTION.LOOP.ITEMS",
            f"The items of a loop must be a list, not {'nothing' if value is None else type(value).__name__}.",
        )
    text = str(value).strip()
    if text.startswith("["):
        try:
            parsed = json.loads(text)
        except ValueError as error:
            raise AwfError("EXECUTION.LOOP.ITEMS", f"The items are not a JSON array: {error}.") from error
        return list(parsed)
    separator = "\n" if "\n" in text else ","
    return [part.strip() for part in text.split(separator) if part.strip()]


class _Iteration(Mapping[str, Any]):
    """The results of one iteration, looked up when asked for: a long loop must not fill the memory."""

    def __init__(self, step: StepContext, prefix: str, body: list[str]) -> None:
        self._step = step
        self._prefix = prefix
        self._body = body

    def __getitem__(self, name: str) -> StateView:
        if name not in self._body:
            raise KeyError(name)
        result = self._last(f"{self._prefix}{name}")
        if result is None:
            raise KeyError(name)
        return StateView(result)

    def _last(self, path: str) -> StepResult | None:
        """The last attempt of the last visit."""
        walk, visit = self._step.walk, 2
        result = walk.last_attempt(path)
        while (again := walk.last_attempt(f"{path}#{visit}")) is not None:
            result, visit = again, visit + 1
        return result

    def __iter__(self) -> Iterator[str]:
        return (
            name for name in self._body if self._step.durable.recorded(f"{self._prefix}{name}") is not None
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)
