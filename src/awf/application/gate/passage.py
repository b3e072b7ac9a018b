"""One call on its way through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gate.labels import label_meta
from awf.application.gate.output_limits import bounds_of, surely_held
from awf.domain.label import PLAIN

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from awf.application.gate.clearing import Clearance
    from awf.application.gate.coverage import Carried
    from awf.application.gate.deciding import ToolRules
    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Asking, Origin
    from awf.application.gate.tool_facts import ToolFacts
    from awf.domain.label import Label
    from awf.domain.policy import Decision
    from awf.domain.ports.audit_log import CallForm, Ready

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
        "told_head",
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
        # How a result begins that has it, and more.
        self.told_head = b"" if self.told is None else b'{"_meta":%b,' % msgspec.json.encode(self.told)
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
    admitted: Passage | None = None  # by the turnstile, and recorded; then it only has to be carried out
    latest: Callable[[], GatedTool | None] | None = None  # as it is now; None where it cannot change
    judged: Mapping[str, Any] | None = (
        None  # all that the caller chose, where that is more than its arguments
    )


class Passage(msgspec.Struct, eq=False):
    tool: GatedTool
    arguments: Mapping[str, Any]
    origin: Origin
    request_id: str
    clearance: Clearance | None = None
    decision: Decision | None = None
    decided_at: float = 0.0
    label: Label | None = None  # of the context, before the call
    grants: tuple[str, ...] = ()
    approvals: tuple[Carried, ...] = ()  # those that its grants bring
    carrier: str = ""  # the grant whose approval was used
    answered: str = ""  # the question that the caller brings back
    began: float = 0.0
    exact: bytes = b""  # the arguments in canonical form, with their secrets; never leaves this process
    input_hash: str = ""  # of what is left of them when their secrets are taken out
    form: CallForm | None = None  # in which its decision was recorded, where that was done by the short way
    recorded: str = ""  # what was, by itself
    ahead: Ready | None = None  # what is to be recorded as soon as it has succeeded
    ended: float = 0.0
    answer: dict[str, Any] | None = None  # that came, where the rest still has to be recorded
    revoked: str = ""  # why it was stopped on its way
    task: asyncio.Task[Any] | None = None
    raising: bool = False  # the label of its own context
    under_way: bool = False  # it has left us and not come back
