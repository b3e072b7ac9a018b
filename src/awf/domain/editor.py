"""What an editor can do, and what is remembered of its sessions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "ApprovalMode",
    "EditorAbilities",
    "FormAnswer",
    "SessionRecord",
    "StopReason",
    "TurnRecord",
    "Update",
]

Update = dict[str, Any]  # what a `session/update` notification carries, in the words of the protocol
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
ApprovalMode = Literal["ask", "auto"]


class EditorAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the editor said it understands beyond the baseline."""

    forms: bool = False
    terminal_output: bool = False  # shows a command's output as a terminal of ours
    name: str = ""  # of the editor, for the log


class FormAnswer(msgspec.Struct, frozen=True):
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = {}


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One prompt and what came of it. The events of its run tell the rest."""

    prompt: str
    run_id: str = ""
    first_seq: int = 0  # the events of the run that belong to this turn
    last_seq: int = 0
    said: str = ""  # what was answered without a run


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session as another process finds it."""

    id: str
    cwd: str
    created_at: float
    updated_at: float
    title: str = ""
    turns: tuple[TurnRecord, ...] = ()  # the latest ones
    earlier: int = 0  # how many there were before those
    parked: str = ""  # the run that waits for the next prompt
    workflow: str = ""  # what a message without a command is for
    approvals: ApprovalMode = "ask"
    allowed: tuple[str, ...] = ()  # approvals given for the whole session
