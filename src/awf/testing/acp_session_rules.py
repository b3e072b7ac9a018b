"""What the protocol, and good manners towards editors, ask of the updates of one session. No schema can say it."""

from __future__ import annotations

from typing import Any

from awf.testing.acp_schema import WireError

__all__ = ["SessionRules"]

_ANY_TIME = {
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
}
_OPEN = {"pending", "in_progress"}


class SessionRules:
    """One session: which prompts are open, and how its tool calls stand."""

    def __init__(self, session_id: str, *, is_open: bool) -> None:
        self._id = session_id
        self._is_open = is_open
        self._prompts: list[str] = []
        self._cancelled: set[str] = set()
        self._loads = 0
        self._calls: dict[str, str] = {}

    # -- what the client does ------------------------------------------------------------------------------------

    def prompted(self, request: str) -> None:
        self._prompts.append(request)

    def cancelled(self) -> None:
        """The turn that runs; a prompt after it was not meant."""
        self._cancelled.update(self._prompts[:1])

    def load_asked(self) -> None:
        self._loads += 1
        self._calls.clear()  # all of it is told again

    # -- what the agent does -------------------------------------------------------------------------------------

    def opened(self) -> None:
        self._is_open = True

    def closed(self) -> None:
        self._is_open = False

    def load_answered(self) -> None:
        self._loads -= 1
        self._nothing_is_open("a load")

    def prompt_answered(self, request: str, *, error: bool) -> None:
        if request not in self._prompts:  # asked before anyone spoke of this session
            return
        self._prompts.remove(request)
        if error and request in self._cancelled:
            raise WireError(f"session {self._id}: a cancelled prompt was answered with an error")
        if error and self._prompts:  # one prompt too many was refused; the turn goes on
            return
        self._nothing_is_open("a prompt")

    def updated(self, update: dict[str, Any]) -> None:
        kind = update["sessionUpdate"]
        busy = self._prompts or self._loads
        if not self._is_open and not busy:
            raise WireError(f"session {self._id}: {kind} although it is not open")
        if not busy and kind not in _ANY_TIME:
            raise WireError(f"session {self._id}: {kind} although no prompt is being worked on")
        if kind == "tool_call":
            self._introduce(update)
        elif kind == "tool_call_update":
            self._change(update)

    def asked(self, call_id: str | None, *, introduced: bool) -> None:
        """A question to the person; about a tool call, if `call_id` is given."""
        if not self._prompts:
            raise WireError(f"session {self._id}: a question although no prompt is being worked on")
        if introduced and call_id is not None and call_id not in self._calls:
            raise WireError(f"session {self._id}: a question about {call_id}, which no tool_call introduced")

    def _introduce(self, update: dict[str, Any]) -> None:
        if update["toolCallId"] in self._calls:
            raise WireError(f"session {self._id}: tool_call {update['toolCallId']} a second time")
        self._calls[update["toolCallId"]] = update.get("status") or "pending"

    def _change(self, update: dict[str, Any]) -> None:
        call_id, status = update["toolCallId"], update.get("status")
        if call_id not in self._calls:
            raise WireError(
                f"session {self._id}: tool_call_update for {call_id}, which no tool_call introduced"
            )
        if status in _OPEN and self._calls[call_id] not in _OPEN:
            raise WireError(
                f"session {self._id}: tool call {call_id} is {status} after {self._calls[call_id]}"
            )
        if status:
            self._calls[call_id] = status

    def _nothing_is_open(self, what: str) -> None:
        left = sorted(call_id for call_id, status in self._calls.items() if status in _OPEN)
        if left:
            raise WireError(f"session {self._id}: {what} was answered while tool calls are open: {left}")
