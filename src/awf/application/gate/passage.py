"""One call on its way through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gate.labels import label_meta
from awf.application.gate.output_limits import bounds_of, surely_held
from awf.domain.label import PLAIN

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from awf.application.gate.clearing import Clearance
    from awf.application.gate.deciding import ToolRules
    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Asking, Origin
    from awf.application.gate.tool_facts import ToolFacts
    from awf.domain.label import Label
    from awf.domain.policy import Decision
    from awf.domain.ports.audit_log import OpenCall

__all__ = ["Gated", "GatedTool", "Passage"]


class GatedTool:
    """A tool as the gate knows it; made once."""

    __slots__ = (
        "at_once",
        "bounds",
        "by_label",
        "cleared",
        "confirmed",
        "facts",
        "label",
        "open_world",
        "required",
        "roomy",
        "rules",
        "timeout",
        "told",
        "told_json",
    )

    def __init__(self, rules: ToolRules, required: tuple[str, ...]) -> None:
        self.facts: ToolFacts = rules.facts
        self.rules = rules
        self.open_world = rules.facts.open_world
        # What the context knows decides about it, so that has to be looked up exactly.
        self.by_label = self.open_world or rules.looks_at_labels
        self.confirmed = rules.facts.requires_confirmation
        self.label = rules.facts.label
        self.told = None if self.label == PLAIN else label_meta(self.label)
        self.told_json = b"" if self.told is None else msgspec.json.encode(self.told)
        self.required = required  # capabilities
        self.bounds = bounds_of(rules.facts.limits)
        self.roomy = surely_held(self.bounds)
        limit = rules.facts.limits.timeout_ms
        self.timeout = None if limit is None else limit / 1000
        self.cleared: dict[int, Clearance] = {}  # by the identity of who calls
        self.at_once = not (self.by_label or self.confirmed)  # calls of it may be such that nobody is asked


class Gated(NamedTuple):
    """What a door hands over with a call that passes the gate."""

    gate: Gate
    tool: GatedTool
    origin: Origin
    asking: Asking | None = None
    answered: str = ""  # the question that the caller brings back, with or without an answer
    admitted: Passage | None = None  # by `admit_now`, and recorded; then it only has to be carried out


class Passage:
    __slots__ = (
        "answered",
        "approvals",
        "arguments",
        "began",
        "clearance",
        "decided_at",
        "decision",
        "exact",
        "grants",
        "input_hash",
        "label",
        "open_call",
        "origin",
        "raising",
        "request_id",
        "revoked",
        "task",
        "tool",
        "under_way",
    )

    def __init__(
        self, tool: GatedTool, arguments: Mapping[str, Any], origin: Origin, request_id: str
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.origin = origin
        self.request_id = request_id
        self.answered = ""  # the question that the caller brings back
        self.began = 0.0
        self.clearance: Clearance | None = None
        self.decided_at = 0.0
        self.decision: Decision | None = None
        self.grants: tuple[str, ...] = ()
        self.approvals: tuple[str, ...] = ()  # ids that its grants carry
        self.exact = b""  # the arguments in canonical form, with their secrets; never leaves this process
        self.input_hash = ""  # of what is left of them when their secrets are taken out
        self.label: Label | None = None  # of the context, before the call
        self.open_call: OpenCall | None = None  # in the audit, where it was begun in one step
        self.revoked = ""  # why it was stopped on its way
        self.task: asyncio.Task[Any] | None = None
        self.raising = False  # the label of its own context
        self.under_way = False  # it has left us and not come back
