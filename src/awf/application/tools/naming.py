"""Under which names tools are published: unique, and legal for every model API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.tool import ToolDefinition

__all__ = ["folded", "legal_name", "publish", "tool_id_of"]

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
LONGEST = 64


def publish(tools: Sequence[ToolDefinition]) -> list[str]:
    """A name for each tool, in the same order. Raises USER.MCP_PROXY.NAME_COLLISION.

    Built-in tools and plugin operations keep their names. A tool of another MCP server keeps its own name where no
    other tool has it, and is called `server__tool` otherwise.
    """
    wanted = [legal_name(tool.name) for tool in tools]
    taken = [name.lower() for name in wanted]
    names = [
        legal_name(f"{tool.source.removeprefix('mcp:')}__{tool.name}")
        if tool.source.startswith("mcp:") and taken.count(name.lower()) > 1
        else name
        for tool, name in zip(tools, wanted, strict=True)
    ]
    _refuse_collisions(tools, names)
    return names


def _refuse_collisions(tools: Sequence[ToolDefinition], names: Sequence[str]) -> None:
    seen: dict[str, ToolDefinition] = {}
    for tool, name in zip(tools, names, strict=True):
        other = seen.setdefault(folded(name), tool)
        if other is not tool:
            raise AwfError(
                "USER.MCP_PROXY.NAME_COLLISION",
                f"Two tools would be called '{name}': {_described(other)} and {_described(tool)}.",
                hint="Expose only one of them, or rename the plugin or server.",
            )


def _described(tool: ToolDefinition) -> str:
    return f"{tool.name} ({tool.source})"


def folded(name: str) -> str:
    """Names that are equal so count as one: several agents turn what is no word character into an underscore."""
    return name.replace("-", "_")


def legal_name(name: str) -> str:
    """The nearest name that every model API takes."""
    legal = _ILLEGAL.sub("_", name) or "_"
    if not (legal[0].isalpha() or legal[0] == "_"):
        legal = f"_{legal}"
    if len(legal) <= LONGEST:
        return legal
    import hashlib

    return f"{legal[: LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def tool_id_of(source: str, own_name: str) -> str:
    """The name of a tool in configuration, policy and records, which does not depend on what else is offered."""
    kind, _, name = source.partition(":")
    place = {"mcp": name, "plugin": f"plugin.{name}"}.get(kind, kind)
    return f"{place}:{own_name}"
