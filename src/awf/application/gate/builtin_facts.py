"""What the built-in tools do. We wrote them, so we know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from awf.domain.policy import Action

__all__ = ["BuiltinFacts", "builtin_facts"]

_ACTIONS: dict[str, Action] = {
    "Read": "file.read",
    "Glob": "file.read",
    "Grep": "file.read",
    "Write": "file.write",
    "Edit": "file.write",
    "Bash": "file.*",
}


class BuiltinFacts(msgspec.Struct, frozen=True):
    action: Action | str = ""
    open_world: bool | None = None


def builtin_facts(tool_id: str, *, networked: bool) -> BuiltinFacts:
    name = tool_id.partition(":")[2]
    if name not in _ACTIONS:
        return BuiltinFacts()
    return BuiltinFacts(_ACTIONS[name], name == "Bash" and networked)
