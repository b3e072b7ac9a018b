"""The short way through the gate, for calls that wait for nobody but their server.

What `Gate.through` does in one go and with patience is done here in steps that take no time: `admit`, `depart`, `arrive`.
Whatever is not plain comes back as None, and nothing has happened then. Calls that come in the same turn of the loop depart
together, and so do answers arrive: what is the same for all of them is looked up once, they are looked through for secrets
in one go, and written down in one go.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from awf.application.gate.clearing import Clearing
from awf.application.gate.decision_document import CallView
from awf.application.gate.entries import effect_entry
from awf.application.gate.output_limits import limited
from awf.application.gate.passage import Passage
from awf.application.tools.pipeline import error_code
from awf.domain.audit import AuditUnavailable
from awf.domain.canonical import canonical, canonical_line, canonical_lines, plainly
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN
from awf.domain.mcp import Verbatim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.gate.clearing import Clearance
    from awf.application.gate.gate import GateParts
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import GatedTool
    from awf.application.gate.releasing import Releasing
    from awf.domain.label import Label
    from awf.domain.policy import Decision
    from awf.domain.ports.audit_log import AuditLog, CallForm
    from awf.domain.tool import ToolResult

__all__ = ["Turnstile"]

_log = logging.getLogger("awf.gate")


class Turnstile:
    def __init__(self, parts: GateParts, releasing: Releasing, *, shadow: bool) -> None:
        self._contexts = parts.contexts
        self._clearing = Clearing(parts.contexts, parts.grants, shadow=shadow)
        self._recorder = parts.recorder
        self._redactor = parts.redactor
        self._releasing = releasing
        self._clock, self._monotonic = parts.clock, parts.monotonic
        self._log: AuditLog | None = None  # where decisions were recorded; their effects belong there, too
        self._changes = parts.changes
        self._now, self._seen = 0.0, -1  # of this turn: the time, and what has changed in the stores so far
        self._clearance: Clearance | None = None  # of the last call that was looked at

    def admit(
        self, tool: GatedTool, arguments: Mapping[str, Any], origin: Origin, request_id: str, again: bool
    ) -> Passage | None:
        """A call that may be made, and about which nobody has to be asked first. None: `Gate.through` is the way.

        `again`: another one was looked at that had come at the same time, so that neither the stores nor the clock are asked again.
        Nothing has been recorded yet: `depart` does that.
        """
        if not again:
            try:
                self._now, self._seen = self._clock(), self._changes()
            except AwfError:  # the other way tells
                return None
        clearance, now, state = self._clearance, self._now, (self._contexts.turns, self._seen)
        if (
            clearance is None
            or clearance.tool is not tool
            or clearance.origin is not origin
            or clearance.state != state
            or not clearance.since <= now < clearance.until
        ):
            clearance = self._clearance = self._clearing.of(tool, origin, now, state)
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
        if len(passages) == 1:
            return self.depart_alone(passages[0])
        began, log = self._monotonic(), self._recorder.log
        if log is None:
            for passage in passages:
                passage.began = began
            return True
        if not self._recorder.is_immediate:
            return False
        self._log = log
        joined, lines = canonical_lines([passage.arguments for passage in passages])
        kept = lines
        if suspicious := self._redactor.suspects(joined, lines):
            kept = list(lines)
            for at in suspicious:
                kept[at] = canonical(self._redactor.redacted(passages[at].arguments))
        runs: list[tuple[CallForm, float, list[str], list[str]]] = []  # of those that are alike
        clearance: Clearance | None = None
        decision: Decision | None = None
        now = 0.0
        ids: list[str]
        hashes: list[str]
        for passage, exact, hashed in zip(passages, lines, map(sha256, kept), strict=True):
            if (
                passage.decision is not decision
                or passage.clearance is not clearance
                or passage.decided_at != now
            ):
                clearance, decision, now = passage.clearance, passage.decision, passage.decided_at
                assert clearance is not None
                assert decision is not None
                form = clearance.form(passage, decision, log)
                ids, hashes = [], []
                runs.append((form, now, ids, hashes))
            given = hashed.hexdigest()
            passage.began, passage.exact, passage.input_hash, passage.form = began, exact, given, form
            ids.append(passage.request_id)
            hashes.append(given)
        return self._added(
            [one for form, now, ids, hashes in runs for one in form.decisions(now, ids, hashes)]
        )

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
        ended = form.call(_recorded(passage, form), self._clock(), taken, output)
        return released.result if self._added([ended]) else None

    def arrive_plainly(
        self, passages: Sequence[Passage], answers: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any] | None]:
        """The same for what servers answered, if that is no error and says nothing beside its result.

        None: it is not so plain, or cannot be recorded now. Nothing has happened with that one then.
        """
        if len(passages) == 1:
            return [self._arrived_plainly(passages[0], answers[0])]
        joined, lines = canonical_lines(answers)
        suspicious = self._redactor.suspects(joined, lines)
        moment, state = self._monotonic(), self._state()
        plain: list[dict[str, Any] | None] = [None] * len(passages)
        runs: list[tuple[CallForm, list[str], list[int], list[str]]] = []
        latest: CallForm | None = None
        ids: list[str]
        times: list[int]
        hashes: list[str]
        for at, (passage, raw, encoded) in enumerate(zip(passages, answers, lines, strict=True)):
            form = passage.form
            if form is None or at in suspicious or not self._is_plain(passage, raw, encoded, state):
                continue
            if form is not latest:
                latest = form
                ids, times, hashes = [], [], []
                runs.append((form, ids, times, hashes))
            ids.append(passage.request_id)
            times.append(int((moment - passage.began) * 1000))
            hashes.append(sha256(encoded).hexdigest())
            plain[at] = raw
        now = self._clock()
        made = [one for form, ids, times, hashes in runs for one in form.calls(now, ids, times, hashes)]
        if made and not self._added(made):
            return [None] * len(passages)
        return [
            None if raw is None else _shown(passage.tool, raw, _is_exact(raw, encoded))
            for passage, raw, encoded in zip(passages, plain, lines, strict=True)
        ]

    def _arrived_plainly(self, passage: Passage, raw: dict[str, Any]) -> dict[str, Any] | None:
        """The only one of its turn, while others are on their way."""
        form, encoded = passage.form, canonical_line(raw)
        if form is None or self._redactor.suspicious(encoded):
            return None
        if not self._is_plain(passage, raw, encoded, self._state()):
            return None
        taken, output = int((self._monotonic() - passage.began) * 1000), sha256(encoded).hexdigest()
        made = form.call(_recorded(passage, form), self._clock(), taken, output)
        return _shown(passage.tool, raw, _is_exact(raw, encoded)) if self._added((made,)) else None

    # A call by itself: somebody waits for it, so that everything is done beforehand or afterwards that can be

    def depart_alone(self, passage: Passage) -> bool:
        """`depart` for one by itself that was admitted just now."""
        passage.began, log = self._monotonic(), self._recorder.log
        if log is None:
            return True
        if not self._recorder.is_immediate:
            return False
        clearance, decision = passage.clearance, passage.decision
        assert clearance is not None
        assert decision is not None
        self._log = log
        encoded = passage.exact = canonical_line(passage.arguments)
        if self._redactor.suspicious(encoded):
            encoded = canonical(self._redactor.redacted(passage.arguments))
        form = passage.form = clearance.form(passage, decision, log)
        given = passage.input_hash = sha256(encoded).hexdigest()
        made = form.ready(passage.decided_at, passage.request_id, given)
        passage.recorded = made.said
        try:
            log.add_ready(made)
        except AuditUnavailable:
            return False
        return True

    def foresee(self, passage: Passage) -> None:
        """It is under way: make ready what will be recorded if it succeeds."""
        if passage.form is not None:
            passage.ahead = passage.form.ahead(_recorded(passage, passage.form))

    def arrive_alone(self, passage: Passage, raw: dict[str, Any]) -> dict[str, Any] | None:
        """`arrive_plainly` for one by itself. The rest of it is recorded by `settle`, when the client has it."""
        log, ahead = self._log, passage.ahead
        if ahead is None:
            self.foresee(passage)
            ahead = passage.ahead
        if ahead is None or log is None:
            return None
        try:
            exact = raw.written if type(raw) is Verbatim and raw.is_exact() else b""
            encoded = exact or plainly(raw)
        except Exception:  # noqa: BLE001  whatever it is, the other way can write it
            return None
        state = self._state() if passage.tool.told is not None else None  # which is asked for only then
        if self._redactor.holds_values(encoded) or not self._is_plain(passage, raw, encoded, state):
            return None
        try:
            log.add_ready(ahead)
        except AuditUnavailable:
            return None
        passage.ended, passage.answer = self._monotonic(), raw
        return _shown(passage.tool, raw, bool(exact))

    def settle(self, passage: Passage) -> None:
        """Record all of it. Never raises; without that what was recorded ahead counts as it is."""
        form, log, answer = passage.form, self._log, passage.answer
        if form is None or log is None or answer is None:
            return
        passage.answer = None
        try:
            answer = _without_label(answer)
            encoded = canonical_line(answer)
            if self._redactor.suspicious(encoded):
                encoded = canonical(self._redactor.redacted(answer))
            taken = int((passage.ended - passage.began) * 1000)
            output = sha256(encoded).hexdigest()
            log.complete(form.call(_recorded(passage, form), self._clock(), taken, output))
        except Exception as error:  # noqa: BLE001  the client has its answer
            _log.warning("a call of %s is recorded without its hash: %s", passage.tool.facts.id, error)

    # Parts

    def _state(self) -> tuple[int, int] | None:
        """Of the stores, now. A clearance that was given in another one may be no longer right. None: nobody knows."""
        try:
            return self._contexts.turns, self._changes()
        except AwfError:
            return None

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

    def _added(self, made: Sequence[str]) -> bool:
        assert self._log is not None
        try:
            self._log.add(made)
        except AuditUnavailable:
            return False
        return True


def _recorded(passage: Passage, form: CallForm) -> str:
    """Its decision, in words that were not needed where it was recorded with others."""
    return passage.recorded or form.decision(passage.decided_at, passage.request_id, passage.input_hash)


def _without_label(answer: dict[str, Any]) -> dict[str, Any]:
    """As it came: it had no `_meta` of its own."""
    return {key: answer[key] for key in answer if key != "_meta"}


def _is_exact(raw: dict[str, Any], encoded: bytes) -> bool:
    """`encoded`: its JSON in another order. What has another length need not be made once more."""
    return type(raw) is Verbatim and len(raw.written) == len(encoded) and raw.is_exact()


def _shown(tool: GatedTool, raw: dict[str, Any], exact: bool) -> dict[str, Any]:
    """As the agent gets it: with the label of the tool, where that has one. It has no `_meta` of its own.

    `exact`: the words it came with may be passed on.
    """
    told = tool.told
    if type(raw) is Verbatim:
        if not raw or not exact:
            raw = dict(raw)
        elif told is not None:
            raw.written = tool.told_head + raw.written[1:]
    if told is not None:
        raw["_meta"] = told
    return raw
