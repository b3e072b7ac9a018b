"""Names that templates and conditions share, and what the first AWF called them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NAMESPACES", "hyphens_join", "present_names"]

NAMESPACES = ("inputs", "states", "vars", "env", "workflow", "loop", "error", "context", "awf")

_NAMED_BY_PEOPLE = frozenset({"inputs", "states", "vars", "env"})

_OF_STATES = {
    "Output": ("output",),
    "Stderr": ("stderr",),
    "ExitCode": ("exit_code",),
    "Status": ("status",),
    "Response": ("response",),
    "JSON": ("json",),
    "TokensUsed": ("usage", "tokens"),
    "TokensInput": ("usage", "input_tokens"),
    "TokensOutput": ("usage", "output_tokens"),
}

_OF_LOOPS = {
    "Item": ("item",),
    "Index": ("index",),
    "Index1": ("index1",),
    "First": ("first",),
    "Last": ("last",),
    "Length": ("length",),
    "Parent": ("parent",),
}

_OF_NAMESPACES = {
    "workflow": {
        "ID": ("id",),
        "Name": ("name",),
        "CurrentState": ("current_state",),
        "StartedAt": ("started_at",),
        "Duration": ("duration",),
    },
    "context": {"WorkingDir": ("working_dir",), "User": ("user",), "Hostname": ("hostname",)},
    "error": {"Message": ("message",), "State": ("state",), "ExitCode": ("exit_code",), "Type": ("type",)},
}


def hyphens_join(before: Sequence[str]) -> bool:
    """Whether a hyphen right after the next name belongs to it.

    People choose the names in four namespaces, so `states.my-step` is one name. The fields of a state are ours and
    have no hyphens, so `states.build.exit_code-1` is a subtraction.
    """
    return before[0] in _NAMED_BY_PEOPLE and not (before[0] == "states" and len(before) == 2)


def present_names(before: Sequence[str], name: str) -> tuple[str, ...]:
    """What a field of the first AWF is called now; `before` is the path that leads to it."""
    root = before[0]
    if root == "states" and len(before) == 2:
        return _OF_STATES.get(name, (name,))
    if root == "loop" and all(part == "parent" for part in before[1:]):
        return _OF_LOOPS.get(name, (name,))
    if len(before) == 1 and root in _OF_NAMESPACES:
        return _OF_NAMESPACES[root].get(name, (name,))
    return (name,)
