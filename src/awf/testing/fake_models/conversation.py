"""A conversation with a model, the same for all wire formats: what was asked, and what is answered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Asked", "Message", "OfferedTool", "Reply", "ToolCall", "ToolResult"]


@dataclass(frozen=True)
class ToolResult:
    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Message:
    role: str  # "user", "assistant" or "tool"
    text: str = ""
    results: list[ToolResult] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OfferedTool:
    name: str
    namespace: str = ""
    freeform: bool = False  # takes text instead of arguments

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


@dataclass
class Asked:
    """One request. Filled while its wire reads it."""

    model: str = ""
    stream: bool = False
    system: str = ""
    messages: list[Message] = field(default_factory=list)
    tools: list[OfferedTool] = field(default_factory=list)
    json_schema: dict[str, Any] | None = None  # set when the answer must be JSON of this form


@dataclass(frozen=True)
class ToolCall:
    name: str
    args: dict[str, Any]
    call_id: str
    raw_args: str | None = None
    namespace: str = ""
    freeform: bool = False

    @property
    def arguments(self) -> str:
        return self.raw_args if self.raw_args is not None else json.dumps(self.args)


@dataclass(frozen=True)
class Reply:
    """What the model says in one turn."""

    text: str = ""
    thinking: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    stop: str | None = None
    chunk: int = 12
    delay_s: float = 0.0
    hang_s: float = 0.0
    drop_after_chunks: int | None = None
    error: dict[str, Any] | None = None
    script: str = ""
    turn: int = 0
