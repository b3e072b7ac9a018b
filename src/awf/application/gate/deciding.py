"""What the policy says about a call.

Rules that can apply to a tool are found once, when the tool becomes known; their conditions become one program. A call
then costs one conversion of those of its values that the conditions name, and one evaluation for each action, path and
host it is judged by. Whatever cannot be evaluated is denied: a rule that fails is no reason to let a call pass.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.argument_facts import ArgumentFacts, ArgumentReader
from awf.application.gate.candidates import Judgement, judgements
from awf.application.gate.decision_document import CallView, context_of, document, labels_of, tool_part
from awf.domain.policy import RISK_TAGS, Decision, Policy, PolicyRule, RiskTag, in_shadow, strictest
from awf.domain.ports.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from awf.application.gate.tool_facts import ToolFacts
    from awf.domain.policy import Verdict
    from awf.domain.ports.expressions import Conditions, FirstMatch
    from awf.domain.ports.surroundings import Surroundings

__all__ = ["Decider", "ToolRules"]

_FOUND = frozenset({"risk", "paths", "hosts", "path", "host"})  # what has to be worked out from arguments
_STEADY = frozenset({"tool", "labels", "context"})  # what stays the same from call to call
_GIVEN = frozenset({"tool", "arguments"})  # what needs no look at the call
_MOST_TARGETS = 2_000
_REMEMBERED = 512


class Decider:
    def __init__(self, policy: Policy, conditions: Conditions, around: Surroundings) -> None:
        self._policy = policy
        self._conditions = conditions
        self._around = around

    def prepare(
        self, facts: ToolFacts, around: Surroundings | None = None, sent: Callable[[Any], Any] | None = None
    ) -> ToolRules:
        """Once for each tool, and again when it or the policy changes.

        `around`: where relative paths of this tool start, if not where others do. `sent`: its arguments as it gets them.
        """
        reader = ArgumentReader(facts, around or self._around, sent)
        return ToolRules(self._policy, facts, reader, self._conditions)


class ToolRules:
    """The rules for one tool. Nothing here raises."""

    def __init__(
        self, policy: Policy, facts: ToolFacts, reader: ArgumentReader, conditions: Conditions
    ) -> None:
        self.facts = facts
        self.reader = reader
        self.judgements = judgements(policy.rules, facts)
        self._policy = policy
        self._conditions = conditions
        self._singles: dict[str, FirstMatch] = {}
        self._tool = tool_part(facts)
        self._outcomes = [self._outcomes_of(one) for one in self.judgements]
        self._matches = self._compiled()
        references = self._matches.references if self._matches is not None else ()
        self.roots = frozenset(one.parts[0] for one in references)
        self._worked_out = bool(self.roots & _FOUND)
        self._by_path, self._by_host = "path" in self.roots, "host" in self.roots
        self._context = tuple({one.parts[1] for one in references if _is_context_field(one.parts)})
        whole = any(one.parts == ("context",) for one in references)
        steady = self._matches is not None and self.roots <= _STEADY and not whole
        self._memory: dict[tuple[Any, ...], Decision] | None = {} if steady else None
        self._static = self._settled()
        usual = self.roots <= _GIVEN and len(self._outcomes) == 1
        self._usual = self._matches if usual else None
        # What is decided, where nothing but the arguments has a say and the call may be made. None: `decide` knows.
        self.at_a_glance = self._glancing()

    @property
    def looks_at_labels(self) -> bool:
        """Whether it matters what the context knows; what cannot be read may ask for it."""
        return self._matches is None or "labels" in self.roots

    @property
    def fallback(self) -> Verdict:
        return self._policy.defaults.fallback

    # -- once ----------------------------------------------------------------------------------------------------------

    def _outcomes_of(self, judgement: Judgement) -> list[Decision]:
        """What each rule decides, and last what counts when none of them holds; -1 is its place, too."""
        made = [self._outcome(rule) for rule in judgement.rules]
        if judgement.last is not None:
            return [*made, self._outcome(judgement.last)]
        fallback = self.fallback
        reason = "" if fallback == "allow" else "No rule is about this call."
        return [*made, Decision(verdict=fallback, reason=reason, risk=self.reader.risk)]

    def _outcome(self, rule: PolicyRule) -> Decision:
        risk = _merged(self.reader.risk, rule.risk_tags)
        return Decision(verdict=rule.decision, reason=rule.reason, rule=rule.id, risk=risk)

    def _compiled(self) -> FirstMatch | None:
        """None: one of the conditions cannot be read, so that each has to be tried by itself."""
        try:
            return self._conditions.first_match(
                [[rule.when for rule in one.rules] for one in self.judgements]
            )
        except ExpressionError:
            return None

    def _settled(self) -> Decision | None:
        """What is decided about every call, if no condition has a say."""
        if self.facts.refusal:
            return Decision(
                verdict="deny", reason=self.facts.refusal, code="policy:action_missing", risk=self.reader.risk
            )
        if any(one.rules for one in self.judgements):
            return None
        return strictest([outcomes[-1] for outcomes in self._outcomes])

    # -- for each call -------------------------------------------------------------------------------------------------

    def decide(self, call: CallView) -> Decision:
        try:
            if self._static is not None:
                return self._finished(self._static, call, None)
            if self._memory is not None:
                return self._remembered(self._memory, call)
            return self.at_a_glance(call.arguments) or self._judged(call)
        except Exception as error:  # noqa: BLE001 (whatever it is, the call must not pass because of it)
            reason = f"The policy could not be applied: {type(error).__name__}."
            return self._shown(Decision(verdict="deny", reason=reason, code="policy:failed"))

    def _glancing(self) -> Callable[[Any], Decision | None]:
        static, usual = self._static, self._usual
        if static is not None or usual is None:
            always = static if static is not None and static.verdict == "allow" else None
            return lambda _: always
        glance, tool = usual.glance(), self._tool
        allowed = [one if one.verdict == "allow" else None for one in self._outcomes[0]]

        def look(arguments: Any) -> Decision | None:
            at = glance(arguments) if glance is not None else None
            if at is None:
                try:
                    at = usual.first_in({"arguments": arguments, "tool": tool})
                except ExpressionError:
                    return None
            return allowed[at]

        return look

    def _remembered(self, memory: dict[tuple[Any, ...], Decision], call: CallView) -> Decision:
        context = call.context
        key = (call.label, *[context.get(name, "") for name in self._context])
        known = memory.get(key)
        if known is None:
            if len(memory) >= _REMEMBERED:
                memory.clear()
            known = memory[key] = self._strictest(call, None)
        return self._finished(known, call, None)

    def _judged(self, call: CallView) -> Decision:
        found = None
        if self._worked_out:
            found = self.reader.read(call.arguments)
            if not found.complete or (
                self._by_path and self._by_host and len(found.paths) * len(found.hosts) > _MOST_TARGETS
            ):
                return self._finished(_TOO_MUCH, call, found)
        return self._finished(self._strictest(call, found), call, found)

    def _strictest(self, call: CallView, found: ArgumentFacts | None) -> Decision:
        try:
            decisions = self._at_once(call, found)
        except ExpressionError:
            decisions = list(self.one_by_one(call, found or self.reader.read(call.arguments)))
        return decisions[0] if len(decisions) == 1 else strictest(decisions)

    def _at_once(self, call: CallView, found: ArgumentFacts | None) -> list[Decision]:
        matches = self._matches
        if matches is None:
            raise ExpressionError("a condition cannot be read")
        facts = matches.facts(self._document(call, found))
        if found is None or not (self._by_path or self._by_host):
            return [outcomes[matches.first(facts, at)] for at, outcomes in enumerate(self._outcomes)]
        decisions: list[Decision] = []
        for path, host in self.targets(found):
            matches.put(facts, "path", path)
            matches.put(facts, "host", host)
            decisions += [outcomes[matches.first(facts, at)] for at, outcomes in enumerate(self._outcomes)]
        return decisions

    def targets(self, found: ArgumentFacts) -> Iterator[tuple[str, str]]:
        """Every path with every host, as far as conditions ask for them."""
        paths: Sequence[str] = (found.paths if self._by_path else ()) or ("",)
        hosts: Sequence[str] = (found.hosts if self._by_host else ()) or ("",)
        return product(paths, hosts)

    def _document(self, call: CallView, found: ArgumentFacts | None) -> dict[str, Any]:
        """Only what conditions ask for."""
        roots = self.roots
        made: dict[str, Any] = {"arguments": call.arguments, "tool": self._tool}
        if "labels" in roots:
            made["labels"] = labels_of(call.label)
        if "context" in roots:
            made["context"] = context_of(call)
        if found is not None:
            made |= {"risk": found.risk, "paths": found.paths, "hosts": found.hosts, "path": "", "host": ""}
        return made

    def one_by_one(self, call: CallView, found: ArgumentFacts) -> Iterator[Decision]:
        """The same, slower: it tells which condition fails."""
        for path, host in self.targets(found):
            whole = {**document(self.facts, call, found), "path": path, "host": host}
            for judgement, outcomes in zip(self.judgements, self._outcomes, strict=True):
                yield self._first(judgement, outcomes, whole)

    def _first(self, judgement: Judgement, outcomes: list[Decision], whole: dict[str, Any]) -> Decision:
        for at, rule in enumerate(judgement.rules):
            try:
                if self.holds(rule, whole):
                    return outcomes[at]
            except ExpressionError as error:
                reason = f"The condition of the rule '{rule.id}' cannot be evaluated: {error.message}."
                return Decision(
                    verdict="deny", reason=reason, rule=rule.id, code="policy:condition_failed",
                    risk=outcomes[at].risk,
                )  # fmt: skip
        return outcomes[-1]

    def holds(self, rule: PolicyRule, whole: dict[str, Any]) -> bool:
        """Whether the condition of one rule does. Raises `ExpressionError`."""
        one = self._singles.get(rule.when)
        if one is None:
            one = self._singles[rule.when] = self._conditions.first_match([[rule.when]])
        return one.first(one.facts(whole), 0, whole) == 0

    # -- at the end ----------------------------------------------------------------------------------------------------

    def _finished(self, decision: Decision, call: CallView, found: ArgumentFacts | None) -> Decision:
        if decision.verdict == "allow":
            if found is None or decision.risk == found.risk:
                return decision
        elif found is None:  # whoever is asked, or reads the record, wants to know what was at stake
            found = self.reader.read(call.arguments)
        risk = _merged(decision.risk, found.risk)
        shown = decision if risk == decision.risk else msgspec.structs.replace(decision, risk=risk)
        return self._shown(shown)

    def _shown(self, decision: Decision) -> Decision:
        return in_shadow(decision) if self._policy.shadow else decision


_TOO_MUCH = Decision(
    verdict="deny",
    reason="The arguments name more files and hosts than can be judged, or one of which nobody can tell what programs make of it.",
    code="policy:arguments_too_large",
)


def _merged(one: tuple[RiskTag, ...], other: Sequence[RiskTag]) -> tuple[RiskTag, ...]:
    if not other or other == one:
        return one
    return tuple(tag for tag in RISK_TAGS if tag in one or tag in other)


def _is_context_field(parts: tuple[str, ...]) -> bool:
    return parts[0] == "context" and len(parts) > 1
