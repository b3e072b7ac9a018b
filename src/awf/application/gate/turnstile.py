"""The short way through the gate, for calls that wait for nobody but their server.

What `Gate.through` does in one go and with patience is done here in steps that take no time: `admit`, `depart`, `arrive`.
Whatever is not plain comes back as None, and nothing has happened then. Calls that come in the same turn of the loop depart
together, and so do answers arrive: what is the same for all of them is looked up once, they are looked through for secrets
in one go, and written down in one go.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gate.clearing import Clearing
from awf.application.gate.decision_document import CallView
from awf.application.gate.entries import effect_entry
from awf.application.gate.output_limits import limited
from awf.application.gate.passage import Passage
from awf.application.tools.pipeline import error_code
from awf.domain.audit import AuditUnavailable
from awf.domain.canonical import canonical, canonical_json
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

__all__ = ["Arrival", "Turnstile"]


class Arrival(NamedTuple):
    """What a server answered."""

    passage: Passage
    raw: dict[str, Any]


class Turnstile:
    def __init__(self, parts: GateParts, releasing: Releasing, *, shadow: bool) -> None:
        self._contexts = parts.contexts
        self._clearing = Clearing(parts.contexts, parts.grants, parts.changes)
        self._recorder = parts.recorder
        self._redactor = parts.redactor
        self._releasing = releasing
        self._clock, self._monotonic = parts.clock, parts.monotonic
        self._shadow = shadow
        self._log: AuditLog | None = None  # where the decisions were recorded

    def admit(
        self,
        tool: GatedTool,
        arguments: Mapping[str, Any],
        origin: Origin,
        request_id: str,
        *,
        again: bool = False,
    ) -> Passage | None:
        """A call that may be made, and about which nobody has to be asked first. None: `Gate.through` is the way.

        `again`: another one was looked at in this very turn, so that the stores need not be asked again. Nothing has been
        recorded yet: `depart` does that.
        """
        if not tool.at_once or self._shadow or not self._recorder.is_immediate:
            return None
        now = self._clock()
        clearance = self._clearing.of(tool, origin, now, again=again)
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
        self._log = log
        if log is None:
            for passage in passages:
                passage.began = began
            return True
        self._hash_arguments(passages)
        lines = []
        for passage in passages:
            clearance, decision = passage.clearance, passage.decision
            assert clearance is not None
            assert decision is not None
            passage.began = began
            form = passage.form = clearance.form(passage, decision, log)
            lines.append(form.decision(passage.decided_at, passage.request_id, passage.input_hash))
        try:
            log.add(lines)
        except AuditUnavailable:
            return False
        return True

    def _hash_arguments(self, passages: Sequence[Passage]) -> None:
        """Of what is left of them when all secrets are taken out."""
        written = []
        for passage in passages:
            encoded = passage.exact = canonical_json(passage.arguments)
            written.append((encoded, passage.origin.redact_keys))
        suspicious = self._redactor.suspects(written)
        for at, passage in enumerate(passages):
            encoded = passage.exact
            if at in suspicious:
                keys = passage.origin.redact_keys
                encoded = canonical(self._redactor.redacted(passage.arguments, keys))
            passage.input_hash = sha256(encoded).hexdigest()

    def arrive(self, passage: Passage, result: ToolResult) -> ToolResult | None:
        """What the agent gets. None: that takes longer; `Gate.arrived` is the way."""
        released = self._releasing.released_now(passage, result)
        if released is None or not self._has(passage, released.label):
            return None
        taken, error = int((self._monotonic() - passage.began) * 1000), error_code(released.result)
        form = passage.form
        if form is None or error:
            entry = effect_entry(passage, self._clock(), taken, error, released.output_hash)
            return released.result if self._recorder.record_now(entry) else None
        line = form.call(
            self._clock(),
            taken,
            released.output_hash,
            passage.decided_at,
            passage.request_id,
            passage.input_hash,
        )
        return released.result if self._added([line]) else None

    def arrive_plainly(self, arrivals: Sequence[Arrival]) -> list[dict[str, Any] | None]:
        """The same for what servers answered, if that is no error and says nothing beside its result.

        None: it is not so plain, or cannot be recorded now. Nothing has happened with that one then.
        """
        state = self._clearing.state()
        plain, written = [], []
        for at, (passage, raw) in enumerate(arrivals):
            encoded = self._written(passage, raw, state)
            if encoded is not None:
                plain.append(at)
                written.append((encoded, passage.origin.redact_keys))
        suspicious = self._redactor.suspects(written)
        now, moment = self._clock(), self._monotonic()
        outcomes: list[dict[str, Any] | None] = [None] * len(arrivals)
        lines = []
        for number, (at, (encoded, _)) in enumerate(zip(plain, written, strict=True)):
            passage, raw = arrivals[at]
            form = passage.form
            if form is None or number in suspicious:
                continue
            taken, output = int((moment - passage.began) * 1000), sha256(encoded).hexdigest()
            lines.append(
                form.call(now, taken, output, passage.decided_at, passage.request_id, passage.input_hash)
            )
            outcomes[at] = _shown(passage.tool, raw, encoded)
        return outcomes if not lines or self._added(lines) else [None] * len(arrivals)

    def _written(self, passage: Passage, raw: dict[str, Any], state: tuple[int, int] | None) -> bytes | None:
        """In canonical form. None: it is not plain."""
        clearance, tool = passage.clearance, passage.tool
        if passage.form is None or clearance is None or "_meta" in raw or raw.get("isError") is True:
            return None
        if tool.told is not None and clearance.state != state and not self._has(passage, tool.label):
            return None
        encoded = canonical_json(raw)
        if len(encoded) > tool.roomy and tool.bounds is not None and limited(raw, tool.bounds, encoded):
            return None
        return encoded

    def _has(self, passage: Passage, label: Label) -> bool:
        """Whether its context has this label already, for certain."""
        try:
            return label == PLAIN or self._contexts.has(passage.origin.context, label)
        except AwfError:  # the other way tells
            return False

    def _added(self, lines: list[bytes]) -> bool:
        assert self._log is not None
        try:
            self._log.add(lines)
        except AuditUnavailable:
            return False
        return True


def _shown(tool: GatedTool, raw: dict[str, Any], encoded: bytes) -> dict[str, Any]:
    if type(raw) is Verbatim and len(raw.written) != len(encoded):
        raw = dict(raw)  # its words may say more than what was looked at: a key twice
    return raw if tool.told is None else with_meta(raw, tool.told, tool.told_json)
