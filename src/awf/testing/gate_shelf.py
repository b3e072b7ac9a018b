"""The gate's rules without servers and without a file system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.deciding import Decider, ToolRules
from awf.application.gate.tool_facts import ToolFacts, tool_facts
from awf.domain.gate_file import GateKeys
from awf.infrastructure.expressions import ExpressionLanguage

if TYPE_CHECKING:
    from awf.domain.override import ToolOverride
    from awf.domain.policy import Policy

__all__ = ["LANGUAGE", "Shelf", "facts_of", "rules_of"]

LANGUAGE = ExpressionLanguage()


class Shelf:
    """Surroundings without a file system: what is there, and which names are links."""

    def __init__(self, *there: str, links: dict[str, str] | None = None) -> None:
        self.root = "/home/ada/project"
        self.there = there
        self.links = links or {}

    def meanings(self, path: str) -> tuple[str, ...]:
        whole = path if path.startswith("/") else f"{self.root}/{path}"
        return (self.links.get(whole, whole),)

    def exists(self, path: str) -> bool:
        return path in self.there


def facts_of(
    tool_id: str = "kb:search",
    *,
    annotations: Any = None,
    meta: Any = None,
    override: ToolOverride | None = None,
    source: str = "",
    keys: GateKeys | None = None,
    **more: Any,
) -> ToolFacts:
    server, _, name = tool_id.partition(":")
    source = source or ("builtin" if server == "builtin" else f"mcp:{server}")
    return tool_facts(tool_id, name, source, annotations, meta, override, keys or GateKeys(), **more)


def rules_of(policy: Policy, facts: ToolFacts, around: Shelf | None = None) -> ToolRules:
    return Decider(policy, LANGUAGE, around or Shelf()).prepare(facts)
