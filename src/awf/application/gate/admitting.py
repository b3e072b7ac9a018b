"""Whether a call may be made, as far as that can be said without asking anyone."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from awf.application.gate.decision_document import CallView
from awf.domain.errors import AwfError
from awf.domain.grant import is_capability
from awf.domain.label import PLAIN
from awf.domain.policy import Decision

if TYPE_CHECKING:
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.coverage import Coverage
    from awf.application.gate.grants import Grants
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import GatedTool, Passage
    from awf.domain.label import Label

__all__ = ["Admitting"]


class Admitting:
    def __init__(self, contexts: Contexts, grants: Grants) -> None:
        self._contexts = contexts
        self._grants = grants

    async def label(self, origin: Origin, *, exactly: bool = True) -> Label:
        """Of a context, as it is now, or was a moment ago. Raises `AwfError` for one that does not count here."""
        contexts = self._contexts
        found = (contexts.label_now if exactly else contexts.label)(origin.context)
        if found is not None:
            return found
        try:
            return await self._contexts.load(origin.context)
        except AwfError as error:
            if not _is_made(origin, error):
                raise
        await self._contexts.mint(origin.context)  # ours: nobody can choose it
        return await self._contexts.load(origin.context)

    async def seen(self, origin: Origin) -> Label:
        """The same for whoever only looks: none is made."""
        try:
            return await self._contexts.seen(origin.context)
        except AwfError as error:
            if not _is_made(origin, error):
                raise
        return PLAIN

    async def decided(self, passage: Passage) -> Decision:
        looked = passage.label is not None or not passage.tool.by_label
        while True:
            decision = self.decided_now(passage) if looked else None
            if decision is not None:
                return decision
            known = passage.label is not None
            try:
                if known:
                    await self._grants.refresh()
                else:
                    passage.label = await self.label(passage.origin, exactly=passage.tool.by_label)
                    looked = True
            except AwfError as error:
                return unavailable_decision(error, "grants:unavailable" if known else "context:refused")

    def decided_now(self, passage: Passage) -> Decision | None:
        """The level first: no rule can open what it has closed. None: something has to be looked up first.

        A label that was looked up counts once: it may be another one the next time.
        """
        label = passage.label = self._contexts.label(passage.origin.context) or passage.label
        return None if label is None else self._judged(passage, label)

    async def foreseen(self, passage: Passage, label: Label) -> Decision:
        """What would be decided if its context had this label. Raises `AwfError` when nobody can say what was granted."""
        while True:
            decision = self._judged(passage, label)
            if decision is not None:
                return decision
            await self._grants.refresh()

    def _judged(self, passage: Passage, label: Label) -> Decision | None:
        """None: grants have to be looked up first."""
        tool, origin = passage.tool, passage.origin
        if tool.open_world:
            closed = level_decision(tool, origin, label)
            if closed is not None:
                return closed
        decision = tool.rules.decide(CallView(passage.arguments, origin.seen, label))
        if decision.verdict != "deny" and (tool.required or origin.grant_ids):
            coverage = self._grants.covering(tool.required, origin.holder, origin.grant_ids)
            if coverage is None:
                return None
            passage.grants, passage.approvals = coverage.grant_ids, coverage.approvals
            if coverage.missing:
                return missing_decision(tool, coverage, origin)
        return confirmed_decision(tool, decision) if tool.confirmed else decision

    async def coverage(self, tool: GatedTool, origin: Origin) -> Coverage:
        """Raises `AwfError` when nobody can say what was granted."""
        grants = self._grants
        while True:
            found = grants.covering(tool.required, origin.holder, origin.grant_ids)
            if found is not None:
                return found
            await grants.refresh()


def _is_made(origin: Origin, error: AwfError) -> bool:
    """Whether a context that is missing is made: one of ours."""
    # Who leaves the name out, and is not known by a credential, would be rid of what the named one has read.
    is_anyone = origin.named or (origin.door == "gateway" and not origin.holder.user)
    return not is_anyone and error.code == "USER.CONTEXT.UNKNOWN"


def level_decision(tool: GatedTool, origin: Origin, label: Label) -> Decision | None:
    if not tool.facts.open_world or label.confidentiality == "public":
        return None
    return _denied(
        f"{tool.facts.name} reaches others, and this agent knows something {label.confidentiality} by now. "
        f"A person can let it begin anew: awf gateway context reset {shlex.quote(origin.context)}",
        "level:open_world",
    )


def missing_decision(tool: GatedTool, coverage: Coverage, origin: Origin) -> Decision:
    why = "; ".join(f"{grant} is {trouble.replace('_', ' ')}" for grant, trouble in coverage.unusable)
    named = ", ".join(coverage.missing)
    # What no grant can name, since a server has said it, is covered by one of everything.
    give = dict.fromkeys(one if is_capability(one) else "*" for one in coverage.missing)
    commands = " && ".join(f"awf grant add {shlex.quote(one)}" for one in give)
    way = f"A person can give it: {commands}"
    if origin.grant_ids is not None:
        way = "Grant it, and name the grant with the call."
    decision = _denied(
        f"{tool.facts.name} needs a grant of {named}{f' ({why})' if why else ''}. {way}", "grants:missing"
    )
    details = {"missing": list(coverage.missing), "unusable": dict(coverage.unusable)}
    return msgspec.structs.replace(decision, details=details)


def unavailable_decision(error: AwfError, code: str) -> Decision:
    """What nobody can look up is refused."""
    return _denied(f"{error.message} {error.hint}".strip(), code)


def changed_decision(tool: GatedTool) -> Decision:
    return _denied(
        f"{tool.facts.name} is not offered as it was when a person was asked. Look at the list of tools, and make the call again.",
        "tool:changed",
    )


def confirmed_decision(tool: GatedTool, decision: Decision) -> Decision:
    if decision.verdict != "allow" or decision.shadowed:
        return decision
    reason = f"{tool.facts.name} has to be approved each time."
    return msgspec.structs.replace(decision, verdict="allow_with_confirm", reason=reason, code="confirmation")


def _denied(reason: str, code: str) -> Decision:
    return Decision(verdict="deny", reason=reason, code=code)
