"""The values that a plugin's functions take and give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "ArgumentError",
    "Event",
    "Issue",
    "OperationError",
    "Outcome",
    "Param",
    "PluginDefinitionError",
    "StepOutcome",
]


class PluginDefinitionError(TypeError):
    """A plugin is written in a way that cannot work. Raised while it is being defined, so it never gets to run."""


class OperationError(Exception):
    """The operation, step or configuration could not be done; the caller is told the text, and the data if any."""

    def __init__(self, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data or {}


class ArgumentError(OperationError):
    """The arguments do not fit the function's parameters."""


@dataclass(frozen=True, kw_only=True)
class Param:
    """What a type hint cannot say: `Annotated[str, Param(description="where to look", format="url")]`."""

    description: str = ""
    format: str = ""  # url, email, date, date-time, uuid, or another JSON Schema format


@dataclass(frozen=True)
class Issue:
    """Something that a validator found in a workflow."""

    message: str
    severity: Literal["error", "warning"] = "error"
    step: str = ""
    field: str = ""


@dataclass(frozen=True)
class Event:
    """Something that happened in a run, or that a plugin tells in answer (then `type` and `payload` are enough)."""

    type: str
    payload: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    time: float = 0.0  # seconds since 1970
    source: str = ""  # the run, or the plugin that sent it
    metadata: dict[str, str] = field(default_factory=dict)  # run_id, path, seq
    depth: int = 0  # 0: of the run itself; more: an answer to an answer


@dataclass(frozen=True)
class StepOutcome:
    """What a step of a plugin's own type came to. An exit code other than 0 means that it failed."""

    output: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    exit_code: int = 0


@dataclass(frozen=True)
class Outcome:
    """What an operation came to, as its caller sees it."""

    success: bool
    output: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    error: str = ""
