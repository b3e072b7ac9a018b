"""What holds for all calls of one tool by one caller: found out once, and right until something changes.

The label of the context, the grants and the form of the record are the same from call to call. A `Clearance` keeps them with
the state of the stores at which they were so. A call only compares that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.gate.coverage import NOTHING_NEEDED
from awf.application.gate.entries import decision_entry
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.coverage import Coverage
    from awf.application.gate.grants import Grants
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import GatedTool, Passage
    from awf.domain.label import Label
    from awf.domain.policy import Decision
    from awf.domain.ports.audit_log import AuditLog, CallForm

__all__ = ["Clearance", "Clearing"]

_MOST = 256


class Clearance:
    """Its label covers what the tool returns, and all that the tool requires is granted."""

    __slots__ = (
        "_forms",
        "_latest",
        "approvals",
        "grants",
        "label",
        "origin",
        "since",
        "state",
        "tool",
        "until",
    )

    def __init__(
        self,
        tool: GatedTool,
        origin: Origin,
        label: Label,
        coverage: Coverage,
        state: tuple[int, int],
        period: tuple[float, float],
    ) -> None:
        self.tool = tool
        self.origin = origin  # kept, so that nothing else gets its identity
        self.label = label
        self.grants = coverage.grant_ids
        self.approvals = coverage.approvals
        self.state = state  # of the stores, when it was so
        self.since, self.until = period
        self._forms: dict[tuple[object, ...], CallForm] = {}
        self._latest: tuple[Decision, CallForm] | None = None

    def form(self, passage: Passage, decision: Decision, log: AuditLog) -> CallForm:
        """How its calls are recorded when this is decided."""
        latest = self._latest
        if latest is not None and latest[0] is decision:
            return latest[1]
        said = (
            decision.verdict,
            decision.reason,
            decision.rule,
            decision.risk,
            decision.code,
            decision.shadowed,
        )
        known = self._forms.get(said)
        if known is None:
            if len(self._forms) >= _MOST:
                self._forms.clear()
            known = self._forms[said] = log.form(decision_entry(passage, 0.5))
        self._latest = decision, known
        return known


class Clearing:
    def __init__(self, contexts: Contexts, grants: Grants, *, shadow: bool) -> None:
        """`shadow`: what is decided is only recorded, which is not as simple."""
        self._contexts = contexts
        self._grants = grants
        self._shadow = shadow

    def of(self, tool: GatedTool, origin: Origin, now: float, state: tuple[int, int]) -> Clearance | None:
        """None: something is missing, or has to be looked up first."""
        known = tool.cleared.get(id(origin))
        if known is not None and known.state == state and known.since <= now < known.until:
            return known
        try:
            return self._found(tool, origin, now, state)
        except AwfError:  # the other way tells
            return None

    def _found(self, tool: GatedTool, origin: Origin, now: float, state: tuple[int, int]) -> Clearance | None:
        if self._shadow or not tool.at_once or origin.redact_keys:
            return None
        label = self._contexts.label_at(origin.context, self._contexts.version())
        if label is None or not label.covers(tool.label):
            return None
        coverage: Coverage | None = NOTHING_NEEDED
        if tool.required or origin.grant_ids:
            version = self._grants.version()
            coverage = self._grants.covering_at(version, tool.required, origin.holder, origin.grant_ids)
        if coverage is None or coverage.missing:
            return None
        if len(tool.cleared) >= _MOST:
            tool.cleared.clear()
        found = Clearance(tool, origin, label, coverage, state, self._grants.period(now))
        tool.cleared[id(origin)] = found
        return found
