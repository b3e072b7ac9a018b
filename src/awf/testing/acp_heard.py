"""What an editor heard, as a person would see it: texts joined, tool calls merged, the plan as it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Heard", "Question", "TurnHeard"]


@dataclass(frozen=True)
class Question:
    """A request of the agent to the person in front of the editor."""

    id: str | int
    method: str
    params: dict[str, Any]

    @property
    def session(self) -> str:
        return str(self.params.get("sessionId", ""))


@dataclass(frozen=True)
class Heard:
    """Updates of one session in their order, and the answer they led to."""

    updates: Sequence[dict[str, Any]]
    response: dict[str, Any] = field(default_factory=dict)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self) -> str:
        """What the agent said."""
        return self._joined("agent_message_chunk")

    @property
    def thoughts(self) -> str:
        return self._joined("agent_thought_chunk")

    @property
    def user_text(self) -> str:
        """What the person had said, in a replay."""
        return self._joined("user_message_chunk")

    def _joined(self, kind: str) -> str:
        return "".join(update["content"].get("text", "") for update in self.of(kind))

    @property
    def messages(self) -> dict[str, str]:
        """What the agent said, by the id of the message."""
        found: dict[str, str] = {}
        for update in self.of("agent_message_chunk"):
            name = update.get("messageId") or ""
            found[name] = found.get(name, "") + update["content"].get("text", "")
        return found

    @property
    def calls(self) -> dict[str, dict[str, Any]]:
        """Each tool call as it stands in the end: a later field replaces an earlier one, null changes nothing."""
        found: dict[str, dict[str, Any]] = {}
        for update in self.updates:
            if update["sessionUpdate"] in {"tool_call", "tool_call_update"}:
                call = found.setdefault(update["toolCallId"], {"status": "pending"})
                call.update({key: value for key, value in update.items() if value is not None})
                del call["sessionUpdate"]
        return found

    def statuses(self, call_id: str) -> list[str]:
        """The life of one tool call, as far as it was told."""
        return [
            update.get("status") or "pending"
            for update in self.updates
            if update.get("toolCallId") == call_id
            and (update["sessionUpdate"] == "tool_call" or update.get("status"))
        ]

    def output(self, call_id: str) -> str:
        """What a tool call has printed: as a terminal of ours where that was advertised, else its text in the end."""
        pieces = [
            (update.get("_meta") or {}).get("terminal_output", {}).get("data", "")
            for update in self.updates
            if update.get("toolCallId") == call_id
        ]
        shown = self.calls.get(call_id, {}).get("content") or []
        texts = [each["content"].get("text", "") for each in shown if each["type"] == "content"]
        return "".join(pieces) or "\n".join(texts)

    @property
    def plan(self) -> list[dict[str, Any]]:
        return self._last("plan", "entries")

    @property
    def commands(self) -> list[dict[str, Any]]:
        return self._last("available_commands_update", "availableCommands")

    def _last(self, kind: str, key: str) -> list[dict[str, Any]]:
        found = self.of(kind)
        return list(found[-1][key]) if found else []

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the answer."""
        return dict(self.response.get("_meta") or {})


@dataclass(frozen=True)
class TurnHeard(Heard):
    stop_reason: str = ""
    questions: Sequence[Question] = ()  # permissions and forms, in the order they were asked
