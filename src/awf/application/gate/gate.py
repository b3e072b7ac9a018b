"""The gate. A call comes out of it done, refused, or waiting for a person; each is recorded before anyone is told.

The order: what the context has seen (its label), what the policy says, what was granted, whom to ask. Then the decision
is recorded, the call carried out within its limits, and its result labelled, cut, freed of secrets and recorded. A tool
that returns secrets raises the label of its context *before* it is called: whatever else the same agent has under way
must not carry them out.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.admitting import (
    Admitting,
    changed_decision,
    confirmed_decision,
    level_decision,
    missing_decision,
    unavailable_decision,
)
from awf.application.gate.confirming import Confirming
from awf.application.gate.decision_document import CallView
from awf.application.gate.entries import decision_entry, effect_entry, unknown_entry
from awf.application.gate.explaining import explained
from awf.application.gate.flights import Flights
from awf.application.gate.level_watch import LevelWatch
from awf.application.gate.output_limits import bounds_of
from awf.application.gate.passage import GatedTool, Passage
from awf.application.gate.releasing import Releasing
from awf.application.gate.tool_facts import tool_facts
from awf.application.gate.turnstile import Turnstile
from awf.application.tools.pipeline import error_code
from awf.domain.audit import AuditUnavailable
from awf.domain.canonical import canonical
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN
from awf.domain.policy import Decision, in_shadow
from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.deciding import Decider
    from awf.application.gate.explaining import Explanation
    from awf.application.gate.grants import Grants
    from awf.application.gate.origin import Origin, Said
    from awf.application.gate.passage import Gated
    from awf.application.gate.recording import Recorder
    from awf.application.gate.releasing import Released
    from awf.application.gate.spooling import Spooled, Spooler
    from awf.domain.audit import AuditEntry
    from awf.domain.gate_file import GateKeys
    from awf.domain.label import Label
    from awf.domain.override import ToolOverride
    from awf.domain.ports.artifact_store import Artifact, ArtifactStore
    from awf.domain.ports.surroundings import Surroundings
    from awf.domain.redaction.redactor import Redactor
    from awf.domain.tool import CallContext, ToolResult

    Carry = Callable[[CallContext], Awaitable[ToolResult]]

__all__ = ["Gate", "GateParts"]


class GateParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate is made of."""

    keys: GateKeys
    overrides: Mapping[str, ToolOverride]
    decider: Decider
    contexts: Contexts
    grants: Grants
    desk: ApprovalDesk
    recorder: Recorder
    redactor: Redactor
    spooler: Spooler
    artifacts: ArtifactStore
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    around: Callable[[Sequence[str]], Surroundings]  # what names of files mean that start in these folders
    changes: Callable[
        [], int
    ]  # another number as soon as grants or labels may be other ones; `AwfError`: nobody knows
    networked: bool = True  # whether the built-in Bash reaches a network


class Gate:
    def __init__(self, parts: GateParts) -> None:
        self.keys = parts.keys
        self.contexts = parts.contexts
        self.recorder = parts.recorder
        self.artifacts = parts.artifacts
        self._parts = parts
        self._clock, self._monotonic = parts.clock, parts.monotonic
        self._redactor = parts.redactor
        self._shadow = parts.keys.policy is not None and parts.keys.policy.shadow
        self._admitting = Admitting(parts.contexts, parts.grants)
        self._confirming = Confirming(parts.desk, parts.redactor)
        self._releasing = Releasing(parts.spooler, parts.redactor)
        self.turnstile = Turnstile(parts, self._releasing, shadow=self._shadow)
        self._flights = Flights(parts.contexts.listen, LevelWatch(parts.contexts))

    # Tools

    def tool(
        self,
        tool_id: str,
        name: str,
        source: str,
        *,
        annotations: Any = None,
        meta: Any = None,
        folders: Sequence[str] = (),
        sent: Callable[[Any], Any] | None = None,
        usual: ToolOverride | None = None,
    ) -> GatedTool:
        """What there is to know of a tool before anyone calls it.

        `folders`: where its relative paths may start, if not in the project. `sent`: what it gets of given arguments. `usual`: what is so unless the file says otherwise.
        """
        parts = self._parts
        override = parts.overrides.get(tool_id, usual)
        facts = tool_facts(
            tool_id, name, source, annotations, meta, override, parts.keys, networked=parts.networked
        )
        required = facts.required_scopes
        if facts.action and (required or parts.keys.grants.actions == "always"):
            required = tuple(dict.fromkeys((*required, facts.action)))
        around = parts.around(folders) if folders else None
        return GatedTool(parts.decider.prepare(facts, around, sent), required)

    async def label(self, origin: Origin) -> Label:
        """Of its context, as it is now. Raises `AwfError` for one that does not count here."""
        return await self._admitting.label(origin)

    async def explained(
        self,
        gated: Gated,
        arguments: Mapping[str, Any],
        label: Label | None,
        check: Callable[[Any], list[str]],
    ) -> Explanation:
        """What would be decided about a call of one who knows what has this label, and why. Nothing is asked or recorded.

        `label`: None for that of its context, as it is now. `check`: what of the arguments does not fit. Raises `AwfError`
        when nobody can say what was granted, or what the context has seen.
        """
        tool, origin = gated.tool, gated.origin
        known, refused = await self._context_seen(origin)
        label = label or known
        wrong = check(arguments)
        unfit = _never_decided("INVALID_ARGUMENTS", "; ".join(wrong)) if wrong else None
        before = [
            ("arguments", unfit),
            ("level", self._shown(refused or level_decision(tool, origin, label))),
        ]
        after: list[tuple[str, Decision | None]] = []
        if tool.required:
            coverage = await self._admitting.coverage(tool, origin)
            missing = missing_decision(tool, coverage, origin) if coverage.missing else None
            after.append(("grants", self._shown(missing)))
        if tool.confirmed:
            after.append(("approval", self._shown(confirmed_decision(tool, Decision(verdict="allow")))))
        foreseen = refused or await self._admitting.foreseen(Passage(tool, arguments, origin, ""), label)
        decision = unfit or self._shown(foreseen) or foreseen
        return explained(tool.rules, CallView(arguments, origin.seen, label), decision, before, after)

    async def _context_seen(self, origin: Origin) -> tuple[Label, Decision | None]:
        """The label of a context that counts here, or why it does not."""
        try:
            return await self._admitting.seen(origin), None
        except AwfError as error:
            if not error.code.startswith("USER.CONTEXT."):
                raise
            return PLAIN, unavailable_decision(error, "context:refused")

    def _shown(self, decision: Decision | None) -> Decision | None:
        """As it is recorded: nothing is denied or asked in shadow mode."""
        return in_shadow(decision) if self._shadow and decision is not None else decision

    # One call

    async def through(
        self, gated: Gated, arguments: Mapping[str, Any], call: CallContext, carry_out: Carry
    ) -> ToolResult:
        """The result, as the agent may see it. Raises `ToolFailure` for what may not be, `NeedsInput` for what waits."""
        if gated.admitted is not None:
            return await self._carried_out(gated.admitted, call, carry_out)
        passage = Passage(gated.tool, arguments, gated.origin, call.call_id)
        passage.answered = gated.answered
        if not gated.tool.facts.open_world or self._shadow:
            return await self._passed(passage, gated, call, carry_out)
        passage.task = asyncio.current_task()
        self._flights.begin(passage)  # before its context is looked at: from here on nothing is missed
        try:
            return await self._passed(passage, gated, call, carry_out)
        except asyncio.CancelledError:
            if not passage.revoked or passage.task is None or passage.task.uncancel():
                raise
            raise ToolFailure("PERMISSION_DENIED", passage.revoked) from None
        finally:
            self._flights.end(passage)

    async def _passed(
        self, passage: Passage, gated: Gated, call: CallContext, carry_out: Carry
    ) -> ToolResult:
        await self._admit(passage, gated)
        return await self._carried_out(passage, call, carry_out)

    async def _carried_out(self, passage: Passage, call: CallContext, carry_out: Carry) -> ToolResult:
        passage.began = self._monotonic()
        try:
            await self._prepare(passage)
            if passage.revoked:  # while it was decided
                raise ToolFailure("PERMISSION_DENIED", passage.revoked)  # noqa: TRY301  recorded as all failures are
            passage.under_way = True
            if passage.tool.timeout is None:
                result = await carry_out(call)
            else:
                result = await _in_time(passage, carry_out(call))
            passage.under_way = False
        except (Exception, asyncio.CancelledError) as error:
            await self._ended(passage, _code_of(passage, error))
            raise
        return await self.arrived(passage, result)

    async def _prepare(self, passage: Passage) -> None:
        """The context knows what comes."""
        label = passage.tool.label
        if passage.label is None or label == PLAIN or self.contexts.has(passage.origin.context, label):
            return
        passage.raising = True  # what it brings itself is no reason to stop it
        try:
            await self.contexts.raise_(passage.origin.context, label, passage.tool.facts.id)
        finally:
            passage.raising = False

    async def _admit(self, passage: Passage, gated: Gated) -> None:
        self._fingerprint(passage)
        decision = await self._admitting.decided(passage)
        if decision.verdict == "allow_with_confirm" and not self._shadow:
            try:
                decision = await self._confirming.confirmed(passage, decision, gated.asking)
            except AwfError as error:  # nobody can say who has answered what
                unavailable = unavailable_decision(error, "approval:unavailable")
                decision = msgspec.structs.replace(unavailable, rule=decision.rule, risk=decision.risk)
            if decision.verdict == "allow":
                decision = await self._still(passage, gated, decision)
        if self._shadow:
            decision = in_shadow(decision)
        passage.decision = decision
        if decision.verdict != "allow":
            await self.recorder.tell(decision_entry(passage, self._clock(), "PERMISSION_DENIED"))
            reason = decision.reason or f"{passage.tool.facts.name} is not allowed."
            raise ToolFailure("PERMISSION_DENIED", reason, decision.details)
        await self._begun(passage)

    async def _still(self, passage: Passage, gated: Gated, approved: Decision) -> Decision:
        """Time has passed while a person was asked: what was allowed then must be so by the rules of now."""
        tool = gated.tool if gated.latest is None else gated.latest()
        if tool is None or (
            tool.open_world and not passage.tool.open_world
        ):  # nobody would stop it under way
            return changed_decision(passage.tool)
        passage.tool, passage.label = tool, None
        again = await self._admitting.decided(passage)
        return again if again.verdict == "deny" else approved

    async def _begun(self, passage: Passage) -> None:
        tool = passage.tool
        try:
            await self.recorder.record(
                decision_entry(passage, self._clock()), needed=tool.facts.consequential
            )
        except (
            asyncio.CancelledError
        ):  # it may be in the record by now; then it is also said that nothing came of it
            passage.began = self._monotonic()
            await self._ended(passage, _code_of(passage, asyncio.CancelledError()))
            raise
        except AuditUnavailable as reason:
            text = f"{tool.facts.name} was not called: nothing can be recorded now ({reason}), and it may change something."
            raise ToolFailure("PERMISSION_DENIED", text) from reason

    async def _released(self, passage: Passage, result: ToolResult) -> Released:
        """The label is safe before the result is handed out, also where a person has reset it meanwhile."""
        tool, context = passage.tool, passage.origin.context
        released = await self._releasing.released(passage, result)
        label = released.label
        if passage.label is not None and label != PLAIN and not self.contexts.has(context, label):
            await self.contexts.raise_(context, label, tool.facts.id)
        if released.spooled is not None:
            await self._note_spooled(passage, released.spooled)
        return released

    async def _note_spooled(self, passage: Passage, spooled: Spooled) -> None:
        about: dict[str, Any]
        if spooled.artifact is not None:
            about = {"artifact_id": spooled.artifact.artifact_id}
        elif spooled.error:
            about = {"kept": False, "reason": self._redactor.mask(spooled.error)}
        else:  # without its secrets it was not too long
            return
        details = {"tool_id": passage.tool.facts.id, "request_id": passage.request_id}
        await self.recorder.note("spooled", {**details, **about, "bytes": spooled.bytes})

    async def _handed_over(self, passage: Passage, released: Released) -> ToolResult:
        tool, code = passage.tool, error_code(released.result)
        try:
            await self._ended(passage, code, released.output_hash, needed=tool.facts.consequential)
        except AuditUnavailable as reason:
            self.lost(
                passage, code, released.output_hash
            )  # it has happened: that has to be in the record later
            text = f"{tool.facts.name} was called, but what came of it cannot be recorded ({reason}), so it is kept back."
            raise ToolFailure("EXECUTION_FAILED", text) from reason
        return released.result

    async def _ended(self, passage: Passage, error: str, output: str = "", *, needed: bool = False) -> None:
        await self.recorder.record(self._effect(passage, error, output), needed=needed)

    # What the turnstile leaves to us

    async def arrived(self, passage: Passage, result: ToolResult) -> ToolResult:
        """Raises `ToolFailure`."""
        try:
            released = await self._released(passage, result)
        except (Exception, asyncio.CancelledError) as error:
            await self._ended(passage, _code_of(passage, error))
            raise
        return await self._handed_over(passage, released)

    def lost(self, passage: Passage, error: str, output: str = "") -> None:
        """The agent gets nothing of it. What cannot be recorded now is recorded later."""
        self.recorder.keep_or_record(self._effect(passage, error, output))

    def _effect(self, passage: Passage, error: str, output: str = "") -> AuditEntry:
        taken = int((self._monotonic() - passage.began) * 1000)
        return effect_entry(passage, self._clock(), taken, error, output)

    def without_values(self, said: Any) -> Any:
        """What a server says beside its results, without the secrets that are known."""
        return self._redactor.without_values(said)

    # Calls that come to nothing

    def shown(
        self, gated: Gated, arguments: Mapping[str, Any], wrong: list[str], check: Callable[[Any], list[str]]
    ) -> list[str]:
        """What does not fit, said without the values that are nobody's business: not even by their key.

        A mask may not fit where the secret does, and may fit where that does not: only places where something was wrong are told.
        """
        redacted = self._redactor.redacted(arguments, gated.origin.redact_keys)
        if redacted is arguments:
            return wrong
        places = {_place_in(one) for one in wrong}
        told = [one for one in check(redacted) if _place_in(one) in places]
        if not places <= {_place_in(one) for one in told}:
            told.append("the value of a secret argument does not fit")
        return told

    async def rejected(
        self, gated: Gated, arguments: Mapping[str, Any], call_id: str, code: str, reason: str
    ) -> None:
        """A call that never came as far as a decision is recorded as well."""
        passage = Passage(gated.tool, arguments, gated.origin, call_id)
        self._fingerprint(passage)
        shown = self._redactor.mask(reason, gated.origin.redact_keys)
        passage.decision = _never_decided(code, shown)
        await self.recorder.tell(decision_entry(passage, self._clock(), code))

    async def unknown(self, name: str, arguments: Mapping[str, Any], origin: Origin, call_id: str) -> None:
        input_hash = self._hash(canonical(arguments), arguments, origin.redact_keys)
        shown = self._redactor.mask(name)
        await self.recorder.tell(unknown_entry(shown, origin, call_id, self._clock(), input_hash))

    def _fingerprint(self, passage: Passage) -> None:
        passage.exact = canonical(passage.arguments)
        passage.input_hash = self._hash(passage.exact, passage.arguments, passage.origin.redact_keys)

    def _hash(self, encoded: bytes, value: Any, keys: tuple[str, ...]) -> str:
        """Of what is left when all secrets are taken out."""
        if self._redactor.suspicious(encoded, keys):
            encoded = canonical(self._redactor.redacted(value, keys))
        return sha256(encoded).hexdigest()

    # What was put aside

    @property
    def cuts(self) -> bool:
        """Whether results may be too long."""
        overrides = self._parts.overrides.values()
        return bounds_of(self.keys.limits) is not None or any(one.limits is not None for one in overrides)

    async def has_read(self, origin: Origin, artifact: Artifact) -> None:
        """Somebody reads on in a result of their own; what it is, they know."""
        await self.contexts.raise_(origin.context, artifact.label, artifact.tool_id)
        details = {"tool_id": artifact.tool_id, "request_id": artifact.request_id, "context": origin.context}
        about = {"artifact_id": artifact.artifact_id, "read": True}
        await self.recorder.note("spooled", {**details, **about})

    # People

    @property
    def desk(self) -> ApprovalDesk:
        return self._confirming.desk

    @property
    def asks_clients(self) -> bool:
        return self.keys.approvals.ask_client

    @property
    def lets_all_pass(self) -> bool:
        """Whether what is decided is only recorded."""
        return self._shadow

    async def asked(self, approval_id: str, origin: Origin) -> bool:
        """Whether this is a question of an earlier call of the same context."""
        return await self._confirming.asked(approval_id, origin) is not None

    async def answered(
        self, approval_id: str, gated: Gated, arguments: Mapping[str, Any], said: Said
    ) -> None:
        """The person behind a client has answered the question about this call, when it was made before."""
        passage = Passage(gated.tool, arguments, gated.origin, "")
        self._fingerprint(passage)
        await self._confirming.answered(approval_id, passage, said)


def _place_in(misfit: str) -> str:
    """Where it is wrong; of one about all arguments, the whole sentence."""
    return misfit.partition(": ")[0]


def _never_decided(code: str, reason: str) -> Decision:
    """What is said of a call that is refused before anything is decided about it."""
    return Decision(verdict="deny", reason=reason, code=code.lower())


def _code_of(passage: Passage, error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "PERMISSION_DENIED" if passage.revoked else "CANCELLED"
    return error.code if isinstance(error, ToolFailure) else "EXECUTION_FAILED"


async def _in_time(passage: Passage, work: Awaitable[ToolResult]) -> ToolResult:
    timeout = passage.tool.timeout
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        text = f"{passage.tool.facts.name} took longer than the {timeout:g} s it may take, and was stopped."
        raise ToolFailure("TIMEOUT", text) from None
