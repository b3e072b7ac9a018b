"""What GitHub Copilot CLI says, line by line (`--output-format json`), and what it counts (`--usage-output-file`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.ports.tools import PROXY_NAME
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown, ToolsOffered, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.infrastructure.agents.cli.shapes import Heard

__all__ = ["CopilotReader", "signed_out"]

_PERMANENT = {400, 401, 402, 403, 404, 413}
_PERMANENT_KINDS = {"authentication", "authorization", "policy", "quota", "context_limit"}
_OF_ANY_AGENT = {"tool.execution_start", "tool.execution_complete"}
_SIGN_IN = "Sign in with `copilot login`, or set the option api_key."


class CopilotReader:
    """A text comes twice: in pieces, and whole once it is complete. The pieces are shown.

    `continued`: the call goes on with a session, over the whole of which the program counts what it uses.
    """

    def __init__(self, *, continued: bool = False) -> None:
        self._continued = continued
        self._streamed: set[str] = set()  # messages and thoughts whose pieces have been shown
        self._calls: dict[str, str] = {}
        self._last = ""  # what it said last; a call to a tool makes that a word on the way
        self._trouble: Trouble | None = None
        self._begun = self._finished = False

    def read(self, event: dict[str, Any]) -> Iterator[Heard]:
        kind, data = event.get("type"), event.get("data") or {}
        self._begun = self._begun or kind == "user.message"
        if event.get("agentId") and kind not in _OF_ANY_AGENT:
            return  # said by an agent that it started itself: what comes of that is the result of a tool
        match kind:
            case "session.mcp_server_status_changed" if data["serverName"] == PROXY_NAME:
                yield from _connection(data["status"])
            case "assistant.message_delta":
                self._streamed.add(data["messageId"])
                yield TextDelta(data["deltaContent"])
            case "assistant.reasoning_delta":
                self._streamed.add(data["reasoningId"])
                yield Thought(data["deltaContent"])
            case "assistant.reasoning" if data["reasoningId"] not in self._streamed:
                yield Thought(data["content"])
            case "assistant.message":
                yield from self._message(data)
            case "tool.execution_start":
                yield self._tool_start(data)
            case "tool.execution_complete":
                yield self._tool_end(data)
            case "session.error":
                self._trouble = _trouble(data)
            case "abort":
                reason = data.get("reason") or "for no reason that it tells"
                self._trouble = Trouble(message=f"Copilot was interrupted: {reason}.")
            case "result":
                yield from self._result(event)

    def end(self) -> Iterator[Heard]:
        if self._begun and not self._finished:
            yield self._trouble or Trouble(message="Copilot ended before its answer was complete.")

    def report(self, before: dict[str, Any] | None, after: dict[str, Any]) -> Iterator[Heard]:
        """Premium requests and credits are no money that anybody could tell, so the cost stays unknown."""
        if before is None and self._continued:
            return  # what earlier calls used cannot be told apart
        counted, known = _tokens(after), _tokens(before or {})
        yield UsageReport(Usage(max(0, counted[0] - known[0]), max(0, counted[1] - known[1])))

    def _message(self, data: dict[str, Any]) -> Iterator[Heard]:
        text = data.get("content") or ""
        self._last = "" if data.get("toolRequests") else text
        if text and data["messageId"] not in self._streamed:
            yield TextDelta(text)

    def _tool_start(self, data: dict[str, Any]) -> ToolStarted:
        call_id, name = data["toolCallId"], data["toolName"]
        self._calls[call_id] = name
        arguments = data.get("arguments")
        return ToolStarted(call_id, name, arguments if isinstance(arguments, dict) else {})

    def _tool_end(self, data: dict[str, Any]) -> ToolFinished:
        call_id = data["toolCallId"]
        said = (data.get("result") or {}).get("content")
        if said is None:
            said = (data.get("error") or {}).get("message", "")
        return ToolFinished(call_id, self._calls.get(call_id, ""), str(said), not data.get("success"))

    def _result(self, event: dict[str, Any]) -> Iterator[Heard]:
        self._finished = True
        yield SessionKnown(event["sessionId"])
        if self._trouble is not None:
            yield self._trouble
        elif event.get("exitCode"):
            yield Trouble(message=f"Copilot reports exit code {event['exitCode']} and no reason.")
        else:
            yield Answer(self._last)


def _connection(status: str) -> Iterator[Heard]:
    if status in {"connected", "failed"}:
        yield ToolsOffered(connected=status == "connected")


def _trouble(data: dict[str, Any]) -> Trouble:
    status = data.get("statusCode")
    signed_out = status in {401, 403} or data.get("errorType") in {"authentication", "authorization"}
    return Trouble(
        message=str(data.get("message") or data.get("errorType") or "Copilot reports an error."),
        retryable=status not in _PERMANENT and data.get("errorType") not in _PERMANENT_KINDS,
        hint=_SIGN_IN if signed_out else "",
    )


def signed_out(trouble: Trouble) -> Trouble:
    """Without a login it does not begin at all: it writes about the variables that could hold one, and ends."""
    if "COPILOT_GITHUB_TOKEN" not in trouble.message:
        return trouble
    return msgspec.structs.replace(trouble, retryable=False, hint=trouble.hint or _SIGN_IN)


def _tokens(report: dict[str, Any]) -> tuple[int, int]:
    used = [model["usage"] for model in report.get("modelMetrics", {}).values()]
    return sum(one["inputTokens"] for one in used), sum(one["outputTokens"] for one in used)
