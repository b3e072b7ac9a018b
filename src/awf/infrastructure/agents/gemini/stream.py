"""What Gemini CLI says, line by line (`-o stream-json`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.agent import TextDelta, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.infrastructure.agents.cli.shapes import Heard

__all__ = ["GeminiReader"]


class GeminiReader:
    """It says no final text: that is what it said after its last tool call. A run that was cut off has no result."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._last: list[str] = []
        self._complaint = ""  # the last error on the way; whether it was the end is told by the result
        self._begun = self._finished = False

    def read(self, event: dict[str, Any]) -> Iterator[Heard]:
        match event.get("type"):
            case "init":
                self._begun = True
                yield SessionKnown(event["session_id"])
            case "message" if event.get("role") == "assistant":
                self._last.append(event["content"])
                yield TextDelta(event["content"])
            case "tool_use":
                self._last.clear()
                self._calls[event["tool_id"]] = event["tool_name"]
                yield ToolStarted(event["tool_id"], event["tool_name"], event.get("parameters") or {})
            case "tool_result":
                yield self._tool_result(event)
            case "error":
                self._complaint = str(event["message"])
            case "result":
                self._finished = True
                yield from self._result(event)

    def end(self) -> Iterator[Heard]:
        if self._begun and not self._finished:  # its exit status is 0 even when it was interrupted
            yield Trouble(message=self._complaint or "Gemini CLI ended before its answer was complete.")

    def _tool_result(self, event: dict[str, Any]) -> ToolFinished:
        call_id = event["tool_id"]
        failed = event.get("status") != "success"
        output = event.get("output")
        if output is None:
            output = (event.get("error") or {}).get("message", "")
        return ToolFinished(call_id, self._calls.get(call_id, ""), str(output), failed)

    def _result(self, event: dict[str, Any]) -> Iterator[Heard]:
        yield UsageReport(_usage(event.get("stats") or {}))
        if event.get("status") == "success":
            yield Answer("".join(self._last))
        else:
            said = (event.get("error") or {}).get("message") or self._complaint
            yield Trouble(message=str(said or "Gemini CLI reports an error and does not say which."))


def _usage(stats: dict[str, Any]) -> Usage:
    """The tokens it thought with are only in the total; they are output like the rest. It tells no cost."""
    read, written = stats.get("input_tokens"), stats.get("output_tokens")
    if read is None or written is None:
        return Usage(read, written)
    return Usage(read, max(written, stats.get("total_tokens", 0) - read))
