"""What the gate does with calls, as the gateway's file says it. The same keys govern the tools of workflow steps."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from awf.domain.policy import Policy
from awf.domain.problem import Problem
from awf.domain.shape import Duration, Record, Size

__all__ = [
    "Approvals",
    "Audit",
    "GateKeys",
    "Grants",
    "Levels",
    "Limits",
    "Redaction",
    "Spool",
    "bad_amount",
    "problems_of_gate",
    "problems_of_limits",
]

_FILE = "USER.GATEWAY.INVALID_FILE"
_MOST = 2**53 - 1  # what every program can count to


class Limits(Record, frozen=True, kw_only=True):
    """How long a call may take and how much it may say."""

    timeout_ms: Annotated[int | None, "How long a call may take, in milliseconds."] = None
    max_output_bytes: Annotated[
        Size | None, "How much of a result an agent gets; the whole is put aside."
    ] = None
    max_output_lines: Annotated[int | None, "The same, in lines."] = None


class Spool(Record, frozen=True, kw_only=True):
    """Results that were too long for the agent, put aside whole."""

    retention: Annotated[Duration, "How long they are kept."] = 7 * 86400.0
    max_size: Annotated[Size, "How much is kept in all; the oldest go first."] = 1024 * 1024 * 1024


class Levels(Record, frozen=True, kw_only=True):
    """Who may do what once something secret was read."""

    contexts: Annotated[
        Literal["open", "minted"],
        "`open`: a client may name any context (X-AWF-Context). `minted`: only those made with `awf gateway context new`, or the one of its token.",
    ] = "open"
    unmarked: Annotated[
        Literal["closed", "open"], "Whether tools of which nobody says so count as open to the world."
    ] = "closed"


class Grants(Record, frozen=True, kw_only=True):
    """Which calls need a capability grant."""

    actions: Annotated[
        Literal["with_scopes", "always"],
        "Whether the action of a tool must be granted too: of tools that have `required_scopes`, or of all that have one.",
    ] = "with_scopes"


class Approvals(Record, frozen=True, kw_only=True):
    """How people are asked."""

    wait: Annotated[
        Duration, "How long a call waits for an answer; after that the same call may be made again."
    ] = 50.0
    ask_client: Annotated[
        bool,
        "Whether the client's own person may answer; false: only `awf gateway approve` and the gateway's page.",
    ] = True
    valid: Annotated[Duration, "How long a question can be answered, and an answer be used."] = 3600.0


class Redaction(Record, frozen=True, kw_only=True):
    """What is never shown or stored."""

    keys: ClassVar[dict[str, str]] = {"names": "keys"}  # field → key in the file
    names: Annotated[
        list[str], "More names of values that are secret, beside apiKey, token, password and their like."
    ] = []
    patterns: Annotated[list[str], "More regular expressions for texts that are secret."] = []


class Audit(Record, frozen=True, kw_only=True):
    """The record of every call."""

    enabled: Annotated[bool, "Whether calls are recorded."] = True
    checkpoint_records: Annotated[int, "A signed checkpoint after so many records."] = 1000
    checkpoint_every: Annotated[Duration, "And after so long, if anything was recorded."] = 60.0
    witness: Annotated[str, "A file to which signed checkpoints are appended too; best on another disk."] = ""


class GateKeys(Record, frozen=True, kw_only=True):
    """The keys of the gate."""

    policy: Annotated[Policy | None, "What agents may do."] = None
    limits: Annotated[Limits, "How long calls may take and how much they may say."] = Limits()
    spool: Annotated[Spool, "What is done with results that are too long."] = Spool()
    levels: Annotated[Levels, "What is closed to an agent that has read something secret."] = Levels()
    grants: Annotated[Grants, "Which calls need a capability grant."] = Grants()
    approvals: Annotated[Approvals, "How people are asked."] = Approvals()
    redaction: Annotated[Redaction, "What is never shown or stored."] = Redaction()
    audit: Annotated[Audit | None, "The record of every call; kept as soon as any of these keys is used."] = (
        None
    )


def problems_of_gate(keys: GateKeys) -> Iterator[Problem]:
    """What is wrong with them by themselves, but for the rules of the policy."""
    yield from problems_of_limits(keys.limits, ("limits",))
    for section, field in (("approvals", "wait"), ("approvals", "valid"), ("spool", "retention")):
        if getattr(getattr(keys, section), field) <= 0:
            yield _found(
                (section, field), f"`{field}` must be more than nothing.", "Write it as 30s, 5m or 2h."
            )
    if keys.audit is not None and keys.audit.checkpoint_records < 1:
        yield _found(
            ("audit", "checkpoint_records"), "At least one record goes with a checkpoint.", "Write 1 or more."
        )
    yield from _problems_of_redaction(keys.redaction)


def _problems_of_redaction(redaction: Redaction) -> Iterator[Problem]:
    for at, name in enumerate(redaction.names):
        if not any(sign.isalnum() for sign in name):
            message = "A name without letters or digits names nothing."
            yield _found(("redaction", "keys", at), message, "Write the name of a value, such as ssn.")
    if redaction.patterns:
        from awf.domain.redaction.custom_patterns import problem_with  # late: few files have any

        for at, pattern in enumerate(redaction.patterns):
            if why := problem_with(pattern):
                message = f"This regular expression cannot be used: {why}."
                hint = "Write it as Python's `re` has it, such as EMP-[0-9]{6}."
                yield _found(("redaction", "patterns", at), message, hint)


def problems_of_limits(limits: Limits | None, path: tuple[str, ...]) -> Iterator[Problem]:
    for field in ("timeout_ms", "max_output_bytes", "max_output_lines"):
        if wrong := bad_amount(getattr(limits, field, None)):
            yield _found((*path, field), f"`{field}` {wrong}.", "Write 1 or more, or leave it out.")


def bad_amount(value: int | None) -> str:
    """What is wrong with it, as the end of a sentence; empty: nothing."""
    if value is None or 1 <= value <= _MOST:
        return ""
    return "must be more than nothing" if value < 1 else f"is larger than {_MOST:,}"


def _found(path: tuple[str | int, ...], message: str, hint: str) -> Problem:
    return Problem(code=_FILE, message=message, path=path, hint=hint)
