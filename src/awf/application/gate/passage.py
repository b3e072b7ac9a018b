"""One call on its way through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gate.entries import decision_entry
from awf.application.gate.labels import label_meta
from awf.application.gate.output_limits import bounds_of
from awf.domain.label import PLAIN

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from awf.application.gate.deciding import ToolRules
    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Asking, Origin
    from awf.application.gate.tool_facts import ToolFacts
    from awf.domain.label import Label
    from awf.domain.policy import Decision
    from awf.domain.ports.audit_log import AuditLog, CallForm, OpenCall

__all__ = ["Gated", "GatedTool", "Passage"]

_MOST_FORMS = 256


class GatedTool:
    """A tool as the gate knows it; made once."""

    __slots__ = (
        "bounds",
        "by_label",
        "confirmed",
        "facts",
        "forms",
        "label",
        "open_world",
        "required",
        "rules",
        "timeout",
        "told",
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
        self.required = required  # capabilities
        self.bounds = bounds_of(rules.facts.limits)
        limit = rules.facts.limits.timeout_ms
        self.timeout = None if limit is None else limit / 1000
        self.forms = CallForms()


class CallForms:
    """How the calls of a tool are recorded, by what they have in common."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], tuple[CallForm, tuple[Any, ...]]] = {}

    def of(self, passage: Passage, log: AuditLog) -> CallForm:
        shared = passage.origin, passage.decision, passage.label, passage.grants
        key = id(shared[0]), id(shared[1]), id(shared[2]), id(shared[3])
        known = self._made.get(key)
        if known is None:
            if len(self._made) >= _MOST_FORMS:
                self._made.clear()
            # They are kept, so that nothing else gets their identity.
            known = self._made[key] = (log.form(decision_entry(passage, 0.5)), shared)
        return known[0]


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
