"""What an agent may do: actions, rules over them, and decisions. How a rule's condition is evaluated is not known here."""

from typing import Annotated, Any, Literal

import msgspec

from awf.domain.shape import Record

__all__ = [
    "ACTIONS",
    "RISK_TAGS",
    "Action",
    "Decision",
    "Policy",
    "PolicyDefaults",
    "PolicyRule",
    "RiskTag",
    "Verdict",
    "in_shadow",
    "risk_score",
    "strictest",
]

Action = Literal["file.read", "file.write", "file.*", "network.request", "connector.read", "connector.action"]
ACTIONS: tuple[Action, ...] = (
    "file.read",
    "file.write",
    "file.*",
    "network.request",
    "connector.read",
    "connector.action",
)
Verdict = Literal["allow", "allow_with_confirm", "deny"]
RiskTag = Literal["delete", "overwrite", "network", "connector", "batch"]
RISK_TAGS: dict[RiskTag, int] = {"delete": 40, "overwrite": 30, "network": 25, "connector": 20, "batch": 15}
_STRICTNESS: dict[Verdict, int] = {"allow": 0, "allow_with_confirm": 1, "deny": 2}


class PolicyRule(Record, frozen=True, kw_only=True):
    """What is decided about some calls."""

    id: Annotated[str, "Its name in decisions and records."]
    action: Annotated[str, "The action it is about, or a pattern such as `file.*` or `*`."]
    tools: Annotated[list[str], "Only these tools, as `server:tool`, with * and ?; all when left out."] = []
    when: Annotated[
        str,
        "A CEL condition over `tool`, `arguments`, `context`, `labels`, `risk`, `path`, `host`, `paths`, `hosts`.",
    ] = ""
    decision: Annotated[Verdict, "What is decided."]
    risk_tags: Annotated[list[RiskTag], "Risks to add to the decision."] = []
    reason: Annotated[str, "Why, in words for the agent and the record."] = ""


class PolicyDefaults(Record, frozen=True, kw_only=True):
    """What is decided where no rule speaks."""

    fallback: Annotated[Verdict, "For calls that no rule is about."] = "allow"


class Policy(Record, frozen=True, kw_only=True):
    """Rules in their order: those that name the action itself before those with a pattern, the first that fits decides."""

    version: Annotated[Literal["1.0"], "The version of this format."] = "1.0"
    defaults: Annotated[PolicyDefaults, "What is decided where no rule speaks."] = PolicyDefaults()
    rules: Annotated[list[PolicyRule], "The rules."] = []
    default_action: Annotated[
        Action, "The action of tools of which neither this file nor their server says one."
    ] = "connector.action"
    strict: Annotated[bool, "Refuse tools of which nobody says an action."] = False
    shadow: Annotated[bool, "Only record what would be denied or asked; let everything pass."] = False


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about one call, and why."""

    verdict: Verdict
    reason: str = ""
    rule: str = ""  # its id; empty: the fallback, or a stage that has no rules
    risk: tuple[RiskTag, ...] = ()
    # Which stage said it: policy, level, grants, approval, …; with a word of ours behind a colon.
    code: str = "policy"
    shadowed: Verdict | None = None  # what would have counted without shadow mode
    details: dict[str, Any] = {}  # the same for programs: what is missing, which approval is waited for

    @property
    def score(self) -> int:
        return 100 if self.verdict == "deny" else risk_score(self.risk)


def in_shadow(decision: Decision) -> Decision:
    """Where everything passes, and what would have counted is only recorded."""
    if decision.verdict == "allow":
        return decision
    return msgspec.structs.replace(decision, verdict="allow", shadowed=decision.verdict)


def risk_score(tags: tuple[RiskTag, ...]) -> int:
    return min(100, sum(RISK_TAGS[tag] for tag in set(tags)))


def strictest(decisions: list[Decision]) -> Decision:
    """The one that counts when several were made about one call; of equals the first. Risks are added up."""
    worst = max(decisions, key=lambda one: _STRICTNESS[one.verdict])
    tags = tuple(tag for tag in RISK_TAGS if any(tag in one.risk for one in decisions))
    return worst if tags == worst.risk else msgspec.structs.replace(worst, risk=tags)
