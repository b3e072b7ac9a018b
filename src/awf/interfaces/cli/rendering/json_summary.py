from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TextIO

from awf.domain.run import ErrorInfo
from awf.interfaces.cli.rendering.json_text import write_json
from awf.interfaces.cli.rendering.model import RunModel

if TYPE_CHECKING:
    from awf.domain.events import Stamped
    from awf.domain.run import Usage
    from awf.interfaces.cli.rendering.step_state import StepState

__all__ = ["JsonSummary"]


class JsonSummary:
    """For programs that want one document in the end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._model = RunModel()
        self._written = False

    def on_event(self, stamped: Stamped) -> None:
        self._model.apply(stamped)

    def discard(self) -> None:
        """Something broke the run off: the one document will be the error's."""
        self._written = True

    def close(self) -> None:
        if self._written or not self._model.run_id:
            return
        self._written = True
        with contextlib.suppress(BrokenPipeError):
            write_json(self._out, self.document(), indent=2)

    def document(self) -> dict[str, Any]:
        model = self._model
        return {
            "run_id": model.run_id,
            "workflow": model.workflow,
            "status": "interrupted" if model.status == "running" else model.status,
            "exit_status": model.exit_status,
            "duration_ms": model.duration_ms,
            "message": model.message,
            "outputs": model.outputs,
            "error": _error_fields(model.error or _cancellation(model)),
            "usage": _usage_fields(model.usage),
            "steps": [_step_fields(step) for step in model.steps.values()],
        }


def _cancellation(model: RunModel) -> ErrorInfo | None:
    if model.status != "cancelled":
        return None
    return ErrorInfo(
        "EXECUTION.WORKFLOW.CANCELLED", model.message or "cancelled", f"awf resume {model.run_id}"
    )


def _error_fields(error: ErrorInfo | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"code": error.code, "message": error.message, "hint": error.hint, "state": error.state}


def _usage_fields(usage: Usage | None) -> dict[str, Any] | None:
    """What is unknown is null, never 0."""
    if usage is None:
        return None
    names = ("input_tokens", "output_tokens", "cost", "cost_source", "tool_calls")
    return {"tokens": usage.tokens, **{name: getattr(usage, name) for name in names}}


def _step_fields(step: StepState) -> dict[str, Any]:
    names = ("path", "step", "kind", "status", "duration_ms", "exit_code", "attempts", "code", "message")
    return {name: getattr(step, name) for name in names}
