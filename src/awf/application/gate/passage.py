"""One call on its way through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gate.output_limits import bounds_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from awf.application.gate.deciding import ToolRules
    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Asking, Origin
    from awf.application.gate.tool_facts import ToolFacts
    from awf.domain.label import Label
    from awf.domain.policy import Decision

__all__ = ["Gated", "GatedTool", "Passage"]


class GatedTool:
    """A tool as the gate knows it; made once."""

    __slots__ = ("bounds", "facts", "label", "required", "rules", "timeout")

    def __init__(self, rules: ToolRules, required: tuple[str, ...]) -> None:
        self.facts: ToolFacts = rules.facts
        self.rules = rules
        self.label = rules.facts.label
        self.required = required  # capabilities
        self.bounds = bounds_of(rules.facts.limits)
        limit = rules.facts.limits.timeout_ms
        self.timeout = None if limit is None else limit / 1000


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
        self.revoked = ""  # why it was stopped on its way
        self.task: asyncio.Task[Any] | None = None
        self.raising = False  # the label of its own context
        self.under_way = False  # it has left us and not come back
