"""What an agent is asked, what it shows while it works, and what it answers."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from awf.domain.ports.tools import StepTools
from awf.domain.run import Session, Usage

__all__ = [
    "AgentFailure",
    "AgentReply",
    "AgentRequest",
    "DisplayEvent",
    "IsolationReport",
    "TextDelta",
    "Thought",
    "ToolFinished",
    "ToolStarted",
    "UsageReport",
    "coexistence_warning",
]


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True):
    run_id: str
    step: str
    path: str
    prompt: str
    system_prompt: str = ""
    options: dict[str, Any] = {}
    session: Session | None = None  # continue this one
    keep_session: bool = False
    cwd: str = ""
    state: str = ""  # a folder kept with the run, for what a session needs to be continued; may not exist yet
    env: dict[str, str] = {}
    output_schema: dict[str, Any] | None = None
    tools: StepTools | None = None  # what it gets through the proxy; None: it has only its own


class AgentReply(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    session: Session | None = None
    usage: Usage | None = None


class AgentFailure(Exception):  # noqa: N818  an outcome of the work, not a fault of ours
    """The agent did not do its work."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "EXECUTION.AGENT.FAILED",
        retryable: bool = True,
        hint: str = "",
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retryable = retryable
        self.hint = hint
        self.usage = usage  # what was spent nevertheless


def coexistence_warning(provider: str) -> str:
    return (
        f"mcp_proxy on provider={provider} runs in coexistence mode. "
        "Built-in tools cannot be disabled and may bypass the proxy. "
        "Use 'claude' or 'openai-compatible' for guaranteed MCP-only isolation."
    )


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class Thought(msgspec.Struct, frozen=True):
    text: str


class ToolStarted(msgspec.Struct, frozen=True):
    call_id: str
    name: str
    input: dict[str, Any] = {}
    bypass: bool = False  # a tool of the agent's own, although it was to have only those of the proxy


class ToolFinished(msgspec.Struct, frozen=True):
    call_id: str
    name: str
    output: str = ""
    is_error: bool = False


class UsageReport(msgspec.Struct, frozen=True):
    usage: Usage


class IsolationReport(msgspec.Struct, frozen=True):
    """Whether the agent is kept to the tools of its proxy, as far as that is known by now."""

    isolation: Literal["guaranteed", "best_effort", "none"]
    version: str = ""  # of the agent's program
    tools: tuple[str, ...] = ()  # what its model has, where the agent tells


DisplayEvent = TextDelta | Thought | ToolStarted | ToolFinished | UsageReport | IsolationReport
