"""The short way through the gate, for calls that wait for nobody but their server.

What `Gate.through` does in one go and with patience is done here in steps that take no time: `admit`, `depart`, `arrive`.
Whatever is not plain comes back as None, and nothing has happened then. Calls that come in the same turn of the loop depart
together, and so do answers arrive: what is the same for all of them is looked up once, they are looked through for secrets
in one go, and written down in one go.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from awf.application.gate.clearing import Clearing
from awf.application.gate.decision_document import CallView
from awf.application.gate.entries import effect_entry
from awf.application.gate.output_limits import limited
from awf.application.gate.passage import Passage
from awf.application.tools.pipeline import error_code
from awf.domain.audit import AuditUnavailable
from awf.domain.canonical import canonical, canonical_lines
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN
from awf.domain.mcp import Verbatim, with_meta

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.gate.gate import GateParts
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import GatedTool
    from awf.application.gate.releasing import Releasing
    from awf.domain.label import Label
    from awf.domain.ports.audit_log import AuditLog
    from awf.domain.tool import ToolResult

__all__ = ["Turnstile"]


class Turnstile:
    def __init__(self, parts: GateParts, releasing: Releasing, *, shadow: bool) -> None:
        self._contexts = parts.contexts
        self._clearing = Clearing(parts.contexts, parts.grants, parts.changes)
        self._recorder = parts.recorder
        self._redactor = parts.redactor
        self._releasing = releasing
        self._clock, self._monotonic = parts.clock, parts.monotonic
        self._shadow = shadow
        self._log: AuditLog | None = None  # where decisions were recorded; their effects belong there, too
        self._now = 0.0  # of this turn

    def admit(
        self, tool: GatedTool, arguments: Mapping[str, Any], origin: Origin, request_id: str, again: bool
    ) -> Passage | None:
        """A call that may be made, and about which nobody has to be asked first. None: `Gate.through` is the way.

        `again`: another one was looked at in this very turn, so that neither the stores nor the clock are asked again.
        Nothing has been recorded yet: `depart` does that.
        """
        if not tool.at_once or self._shadow or origin.redact_keys or not self._recorder.is_immediate:
            return None
        if not again:
            self._now = self._clock()
        now = self._now
        clearance = self._clearing.of(tool, origin, now, again)
        if clearance is None:
            return None
        decision = tool.rules.at_a_glance(arguments)
        if decision is None:
            decision = tool.rules.decide(CallView(arguments, origin.seen, clearance.label))
            if decision.verdict != "allow":
                return None
        label, grants, approvals = clearance.label, clearance.grants, clearance.approvals
        return Passage(
            tool, arguments, origin, request_id, clearance, decision, now, label, grants, approvals
        )

    def depart(self, passages: Sequence[Passage]) -> bool:
        """They are recorded, and may go. False: none of them may, now."""
        began, log = self._monotonic(), self._recorder.log
        if log is None:
            for passage in passages:
                passage.began = began
            return True
        self._log = log
        joined, lines = canonical_lines([passage.arguments for passage in passages])
        suspicious = self._redactor.suspects(joined, lines)
        made = []
        for at, passage in enumerate(passages):
            encoded = passage.exact = lines[at]
            if at in suspicious:
                encoded = canonical(self._redactor.redacted(passage.arguments))
            passage.began = began
            given = passage.input_hash = sha256(encoded).hexdigest()
            clearance, decision = passage.clearance, passage.decision
            assert clearance is not None
            assert decision is not None
            form = passage.form = clearance.form(passage, decision, log)
            recorded = passage.recorded = form.decision(passage.decided_at, passage.request_id, given)
            made.append(recorded)
        return self._added(made)

    def arrive(self, passage: Passage, result: ToolResult) -> ToolResult | None:
        """What the agent gets. None: that takes longer; `Gate.arrived` is the way."""
        released = self._releasing.released_now(passage, result)
        if released is None or not self._has(passage, released.label):
            return None
        taken, error = int((self._monotonic() - passage.began) * 1000), error_code(released.result)
        form, output = passage.form, released.output_hash
        if form is None or error:
            entry = effect_entry(passage, self._clock(), taken, error, output)
            return released.result if self._recorder.record_now(entry) else None
        ended = form.call(passage.recorded, self._clock(), taken, output)
        return released.result if self._added([ended]) else None

    def arrive_plainly(
        self, passages: Sequence[Passage], answers: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any] | None]:
        """The same for what servers answered, if that is no error and says nothing beside its result.

        None: it is not so plain, or cannot be recorded now. Nothing has happened with that one then.
        """
        joined, lines = canonical_lines(answers)
        suspicious = self._redactor.suspects(joined, lines)
        now, moment, state = self._clock(), self._monotonic(), self._clearing.state()
        outcomes: list[dict[str, Any] | None] = []
        made = []
        for at, passage in enumerate(passages):
            raw, encoded, form = answers[at], lines[at], passage.form
            if form is None or at in suspicious or not self._is_plain(passage, raw, encoded, state):
                outcomes.append(None)
                continue
            taken, output = int((moment - passage.began) * 1000), sha256(encoded).hexdigest()
            made.append(form.call(passage.recorded, now, taken, output))
            if type(raw) is Verbatim and len(raw.written) != len(encoded):
                raw = dict(raw)  # its words may say more than what was looked at: a key twice
            tool = passage.tool
            outcomes.append(raw if tool.told is None else with_meta(raw, tool.told, tool.told_json))
        return outcomes if not made or self._added(made) else [None] * len(passages)

    def _is_plain(
        self, passage: Passage, raw: dict[str, Any], encoded: bytes, state: tuple[int, int] | None
    ) -> bool:
        clearance, tool = passage.clearance, passage.tool
        if clearance is None or "_meta" in raw or raw.get("isError") is True:
            return False
        if tool.told is not None and clearance.state != state and not self._has(passage, tool.label):
            return False
        return len(encoded) <= tool.roomy or tool.bounds is None or limited(raw, tool.bounds, encoded) is None

    def _has(self, passage: Passage, label: Label) -> bool:
        """Whether its context has this label already, for certain."""
        try:
            return label == PLAIN or self._contexts.has(passage.origin.context, label)
        except AwfError:  # the other way tells
            return False

    def _added(self, made: list[str]) -> bool:
        assert self._log is not None
        try:
            self._log.add(made)
        except AuditUnavailable:
            return False
        return True
