"""What Codex says, line by line (`codex exec --json`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.ports.tools import PROXY_NAME
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown
from awf.infrastructure.agents.codex.failures import trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.infrastructure.agents.cli.shapes import Heard

__all__ = ["CodexReader", "own_tool"]

_OURS = f"{PROXY_NAME}."  # before the names of our tools, as this reader tells them
# They come with any MCP server, cannot be switched off, and talk to MCP servers alone.
_RESOURCES = {
    f"codex.{name}" for name in ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
}
_NATIVE = {"command_execution": "shell", "file_change": "apply_patch"}
_FAILED = {"failed", "declined"}
_NO_CALLS = {"agent_message", "reasoning", "error", "todo_list"}
_HARMLESS = {"id", "type", "status", "result", "error", "aggregated_output", "exit_code"}


def own_tool(name: str) -> str | None:
    if name in _RESOURCES:
        return name.removeprefix("codex.")
    return name.removeprefix(_OURS) if name.startswith(_OURS) else None


class CodexReader:
    """Texts come whole. Ids of items begin anew with each call, so that `call` is put before them.

    `spent` are the tokens of the session before: the sums that Codex tells are those of the whole session.
    """

    def __init__(self, call: str = "", spent: Mapping[str, Any] | None = None) -> None:
        self._call = call
        self._spent = dict(spent or {})
        self._started: set[str] = set()
        self._texts = 0
        self._answer: str | None = None
        self._last_error = ""

    def read(self, event: dict[str, Any]) -> Iterator[Heard]:
        match event.get("type"):
            case "thread.started":
                yield SessionKnown(event["thread_id"])
            case "item.started" | "item.completed":
                yield from self._item(event["item"], ended=event["type"] == "item.completed")
            case "turn.completed":
                yield from self._completed(event.get("usage") or {})
            case "turn.failed":
                yield trouble(str((event.get("error") or {}).get("message") or self._last_error))
            case "error":  # not the end yet: it may try again
                self._last_error = str(event.get("message") or "")

    def end(self) -> Iterator[Heard]:
        if self._answer is not None:
            yield Answer(self._answer)

    def _item(self, item: dict[str, Any], *, ended: bool) -> Iterator[Heard]:
        kind = item["type"]
        if kind not in _NO_CALLS:
            yield from self._tool(item, ended=ended)
        elif ended and kind == "agent_message":
            yield from self._text(item["text"])
        elif ended and kind == "reasoning":
            yield Thought(item["text"])
        elif ended and kind == "error":
            self._last_error = str(item.get("message") or "")

    def _text(self, text: str) -> Iterator[Heard]:
        self._answer = text
        yield TextDelta(f"\n\n{text}" if self._texts else text)
        self._texts += 1

    def _tool(self, item: dict[str, Any], *, ended: bool) -> Iterator[Heard]:
        call_id, name = f"{self._call}{item['id']}", _name(item)
        if call_id not in self._started:
            self._started.add(call_id)
            yield ToolStarted(call_id, name, _arguments(item))
        if ended:
            failed = item.get("status") in _FAILED or item.get("error") is not None
            yield ToolFinished(call_id, name, _output(item), failed)

    def _completed(self, usage: dict[str, Any]) -> Iterator[Heard]:
        read = self._since(usage, "input_tokens")  # what came from a cache is part of it
        written = self._since(usage, "output_tokens")
        self._spent = usage
        yield UsageReport(Usage(read, written))

    def _since(self, usage: dict[str, Any], kind: str) -> int | None:
        total = usage.get(kind)
        return None if total is None else max(0, int(total) - int(self._spent.get(kind) or 0))


def _name(item: dict[str, Any]) -> str:
    if item["type"] == "mcp_tool_call":
        return f"{item['server']}.{item['tool']}"
    kind = str(item["type"])
    return _NATIVE.get(kind, kind)


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] == "mcp_tool_call":
        given = item.get("arguments")
        return given if isinstance(given, dict) else {}
    return {key: value for key, value in item.items() if key not in _HARMLESS}


def _output(item: dict[str, Any]) -> str:
    error = item.get("error")
    if error is not None:
        return str(error.get("message") or error) if isinstance(error, dict) else str(error)
    if "aggregated_output" in item:
        return str(item["aggregated_output"] or "")
    result = item.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    return "\n".join(block.get("text") or f"({block.get('type')})" for block in content or [])
