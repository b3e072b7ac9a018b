"""What Claude Code says, line by line (`--output-format stream-json`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.ports.tools import PROXY_NAME
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, CostSoFar, SessionKnown, ToolsOffered, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.infrastructure.agents.cli.shapes import Heard

__all__ = ["ClaudeReader"]

_PERMANENT = {400, 401, 403, 404, 413}
_USED_UP = {"error_max_turns", "error_max_budget_usd"}  # the next attempt would come just as far


class ClaudeReader:
    """With partial messages a text comes twice: in pieces, and whole once it is complete. The pieces are shown."""

    def __init__(self) -> None:
        self._streamed: set[str] = set()  # messages whose pieces have been shown
        self._message = ""
        self._calls: dict[str, str] = {}

    def read(self, event: dict[str, Any]) -> Iterator[Heard]:
        match event.get("type"):
            case "system":
                yield from self._system(event)
            case "stream_event" if not event.get("parent_tool_use_id"):
                yield from self._piece(event["event"])
            case "assistant":
                yield from self._assistant(event["message"], of_helper=bool(event.get("parent_tool_use_id")))
            case "user":
                yield from self._results(event["message"])
            case "result":
                yield from self._result(event)

    def end(self) -> Iterator[Heard]:
        yield from ()

    def _system(self, event: dict[str, Any]) -> Iterator[Heard]:
        if event.get("subtype") != "init":
            return
        yield SessionKnown(event["session_id"])
        status = {one["name"]: one["status"] for one in event.get("mcp_servers", [])}
        connected = status[PROXY_NAME] == "connected" if PROXY_NAME in status else None
        yield ToolsOffered(names=tuple(event.get("tools", ())), connected=connected)

    def _piece(self, piece: dict[str, Any]) -> Iterator[Heard]:
        if piece["type"] == "message_start":
            self._message = piece["message"]["id"]
        elif piece["type"] == "content_block_delta":
            delta = piece["delta"]
            if delta["type"] == "text_delta":
                self._streamed.add(self._message)
                yield TextDelta(delta["text"])
            elif delta["type"] == "thinking_delta":
                self._streamed.add(self._message)
                yield Thought(delta["thinking"])

    def _assistant(self, message: dict[str, Any], *, of_helper: bool) -> Iterator[Heard]:
        """What an agent says that this one called is between the two; what it does is told."""
        shown = of_helper or message["id"] in self._streamed
        for block in message["content"]:
            if block["type"] == "tool_use":
                self._calls[block["id"]] = block["name"]
                yield ToolStarted(block["id"], block["name"], block.get("input") or {})
            elif shown:
                continue
            elif block["type"] == "text":
                yield TextDelta(block["text"])
            elif block["type"] == "thinking":
                yield Thought(block["thinking"])

    def _results(self, message: dict[str, Any]) -> Iterator[Heard]:
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if block["type"] == "tool_result":
                call_id = block["tool_use_id"]
                yield ToolFinished(
                    call_id,
                    self._calls.get(call_id, ""),
                    _text(block.get("content")),
                    bool(block.get("is_error")),
                )

    def _result(self, event: dict[str, Any]) -> Iterator[Heard]:
        yield SessionKnown(event["session_id"])
        usage = event.get("usage") or {}
        read = sum(usage.get(f"{kind}input_tokens") or 0 for kind in ("", "cache_creation_", "cache_read_"))
        models = (event.get("modelUsage") or {}).values()
        window = max((model.get("contextWindow") or 0 for model in models), default=0)
        yield UsageReport(Usage(read, usage.get("output_tokens") or 0, context_window=window or None))
        if event.get("total_cost_usd") is not None:
            yield CostSoFar(float(event["total_cost_usd"]))
        text = event.get("result")
        if event.get("is_error") or event.get("subtype") != "success":  # an API error says `success`, too
            status = event.get("api_error_status")
            errors = "; ".join(map(str, event.get("errors") or []))
            yield Trouble(
                message=str(text or errors or event.get("terminal_reason") or event.get("subtype")),
                retryable=status not in _PERMANENT and event.get("subtype") not in _USED_UP,
            )
        else:
            yield Answer(str(text or ""))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text") or f"({block.get('type')})" for block in content or [])
