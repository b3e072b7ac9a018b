r"""How one tool of another MCP server is reshaped before an agent sees it, as configuration files say it.

Fields are named by the server's own schema: `city`, `location.lat`, `items[].id`; a dot inside a name is written `a\.b`.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from awf.domain.gate_file import Limits, problems_of_limits
from awf.domain.grant import problems_of_scopes
from awf.domain.label import Classification, Integrity
from awf.domain.policy import Action
from awf.domain.problem import Problem
from awf.domain.shape import Name, Record

__all__ = ["ToolOverride", "problems_of_override"]


class ToolOverride(Record, frozen=True, kw_only=True):
    """What an agent sees of one tool, and what is added to its calls."""

    rename: Annotated[Name | None, "The name under which agents see the tool."] = None
    title: Annotated[str | None, "The title that people see."] = None
    description: Annotated[str | None, "The description that agents read."] = None
    hide_fields: Annotated[
        list[str], "Arguments that agents neither see nor may give, such as `debug` or `location.lat`."
    ] = []
    defaults: Annotated[
        dict[str, Any],
        "Values that are always sent: argument → value. Agents neither see nor may give these arguments.",
    ] = {}
    rename_fields: Annotated[dict[str, str], "Other names for arguments: the server's → the agent's."] = {}
    enum: Annotated[dict[str, list[Any]], "The only values that an argument may have, such as `tags[]`."] = {}
    output_fields: Annotated[
        list[str], "The only parts of a structured result that agents get; all of it when left out."
    ] = []
    annotations: Annotated[dict[str, Any], "Hints about the tool, laid over those of its server."] = {}
    enabled: Annotated[bool, "Whether the tool is offered at all."] = True
    classification: Annotated[
        Classification | None,
        "How secret what it returns is; whoever called it is held to that from then on.",
    ] = None
    integrity: Annotated[
        Integrity | None, "Whether what it returns can be trusted; `untrusted` for what strangers wrote."
    ] = None
    open_world: Annotated[
        bool | None, "Whether what it is given reaches others; closed to those who know secrets."
    ] = None
    policy_action: Annotated[Action | None, "What it does, in the words of the policy."] = None
    required_scopes: Annotated[
        list[str], "Capabilities that a grant must cover before it may be called."
    ] = []
    requires_confirmation: Annotated[bool | None, "Whether a person must approve each call."] = None
    limits: Annotated[Limits | None, "Limits of its own."] = None


def problems_of_override(said: ToolOverride, path: tuple[str, ...]) -> Iterator[Problem]:
    """What is wrong with what it says to the gate."""
    yield from problems_of_limits(said.limits, (*path, "limits"))
    yield from problems_of_scopes(
        said.required_scopes, (*path, "required_scopes"), "USER.GATEWAY.INVALID_FILE"
    )
