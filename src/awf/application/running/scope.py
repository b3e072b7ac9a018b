"""What a template or condition can see at one point of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.checks.references import STATE_FIELDS
from awf.domain.run import ErrorInfo, StepResult, Usage, add_usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.workflow import Workflow

__all__ = ["Frame", "LoopContext", "Scope", "StateView", "pending_state"]


class LoopContext(msgspec.Struct, frozen=True, kw_only=True):
    item: Any
    index: int
    length: int | None  # unknown for `while`
    parent: LoopContext | None = None

    def fields(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "index": self.index,
            "index1": self.index + 1,
            "first": self.index == 0,
            "last": self.length is not None and self.index + 1 == self.length,
            "length": self.length,
            "parent": self.parent.fields() if self.parent else None,
        }


class StateView(Mapping[str, Any]):
    """A state's result as templates see it. Costly parts are worked out when they are asked for."""

    def __init__(
        self, result: StepResult, iterations: Callable[[int], Mapping[str, Any]] | None = None
    ) -> None:
        self._result = result
        self._iterations = iterations

    def __getitem__(self, key: str) -> Any:
        result = self._result
        if key == "json":
            return _parsed(result)
        if key == "response":
            return result.response or result.output
        if key == "usage":
            return _usage_fields(result.usage)
        if key == "error":
            return {"code": result.error.code, "message": result.error.message} if result.error else None
        if key == "duration":
            return round(result.finished_at - result.started_at, 3)
        if key == "branches":
            return {name: StateView(inner) for name, inner in result.branches.items()}
        if key == "iterations":
            return [self._iterations(n) for n in range(result.iterations)] if self._iterations else []
        if key == "session":
            return result.session.id if result.session else ""
        if key in STATE_FIELDS:
            return getattr(result, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(STATE_FIELDS)

    def __len__(self) -> int:
        return len(STATE_FIELDS)


def _usage_fields(usage: Usage | None) -> dict[str, Any]:
    known = usage or Usage()
    return {
        "input_tokens": known.input_tokens,
        "output_tokens": known.output_tokens,
        "tokens": known.tokens,
        "cost": known.cost,
        "cost_source": known.cost_source,
        "tool_calls": known.tool_calls,
    }


def _parsed(result: StepResult) -> Any:
    if result.json is not None:
        return result.json
    try:
        return json.loads(result.output)
    except ValueError:
        return None


def pending_state() -> StepResult:
    """What a condition sees of a state that has not run."""
    return StepResult(status="pending", exit_code=-1)


class _States(Mapping[str, Any]):
    def __init__(self, scope: Scope, *, pending: bool) -> None:
        self._scope = scope
        self._pending = pending

    def __getitem__(self, name: str) -> StateView:
        result = self._scope.states.get(name)
        if result is None:
            if self._pending and name in self._scope.workflow.states:
                return StateView(pending_state())
            raise KeyError(name)
        return StateView(result, self._scope.iterations.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.workflow.states if self._pending else self._scope.states)

    def __len__(self) -> int:
        return len(self._scope.workflow.states if self._pending else self._scope.states)


class Scope:
    """One workflow being walked: its inputs, what its states came to, and where it stands."""

    def __init__(
        self,
        workflow: Workflow,
        file: str,
        inputs: dict[str, Any],
        prefix: str,
        started_at: float,
        fixed: Mapping[str, Any],
    ) -> None:
        self.workflow = workflow
        self.file = file
        self.inputs = inputs
        self.prefix = prefix
        self.started_at = started_at
        self.now = started_at  # the time of the last thing that is known to have happened
        self.fixed = fixed  # env, context, awf and workflow.id: the same all along
        self.states: dict[str, StepResult] = {}
        self.iterations: dict[str, Callable[[int], Mapping[str, Any]]] = {}
        self.vars: dict[str, str] = {}
        self.error: ErrorInfo | None = None
        self.error_exit_code = 0
        self.usage: Usage | None = None
        self.limit_passed: ErrorInfo | None = None
        self.current = ""

    def keep(self, name: str, result: StepResult) -> None:
        self.states[name] = result
        self.now = max(self.now, result.finished_at)
        if result.error is not None and result.status == "failed":
            self.error = msgspec.structs.replace(result.error, state=name)
            self.error_exit_code = result.exit_code

    def spend(self, usage: Usage | None) -> None:
        self.usage = add_usage(self.usage, usage)

    def context(self, loop: LoopContext | None, *, pending: bool = False) -> dict[str, Any]:
        workflow = self.workflow
        return {
            **self.fixed,
            "inputs": self.inputs,
            "states": _States(self, pending=pending),
            "vars": self.vars,
            "workflow": {
                **self.fixed["workflow"],
                "name": workflow.name,
                "version": workflow.version,
                "current_state": self.current,
                "started_at": self.started_at,
                "duration": round(self.now - self.started_at, 3),
            },
            "loop": loop.fields() if loop else {},
            "error": self._error_fields(),
        }

    def _error_fields(self) -> dict[str, Any]:
        error = self.error
        if error is None:
            return {"message": "", "state": "", "exit_code": 0, "code": "", "type": ""}
        kind = error.code.split(".", 1)[0].lower()
        return {
            "message": error.message,
            "state": error.state,
            "exit_code": self.error_exit_code,
            "code": error.code,
            "type": kind,
        }


class Frame:
    """Where in the run a state is executed: below which path, in which iteration, and whether only to look back."""

    def __init__(
        self,
        prefix: str,
        loop: LoopContext | None = None,
        *,
        replay_only: bool = False,
        inner: bool = False,
        branches: bool = False,
    ) -> None:
        self.prefix = prefix
        self.loop = loop
        self.replay_only = replay_only  # nothing new may be done: the state around it is known to have ended
        self.inner = inner  # a branch or body state: its container says where to go next
        self.branches = branches  # side by side: they have no way on of their own
        self._visits: dict[str, int] = {}

    def path(self, name: str) -> str:
        """A path that no other visit has: the second visit of `test` is `test#2`."""
        count = self._visits[name] = self._visits.get(name, 0) + 1
        return f"{self.prefix}{name}" if count == 1 else f"{self.prefix}{name}#{count}"
