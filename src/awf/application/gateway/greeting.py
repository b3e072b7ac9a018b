"""What the gateway says of itself: the sum of what its servers say of themselves. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.mcp import Era

__all__ = ["joined_capabilities", "joined_instructions"]

_TOLD = {
    "tools": {"listChanged": True}
}  # a change of the configuration changes the list, whatever servers do
_OF_ONE = frozenset({"tasks", "experimental", "extensions"})  # their methods say nothing of whom they are for


def joined_capabilities(eras: Sequence[Era]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for era in eras:
        for name, value in era.capabilities.items():
            if name not in _OF_ONE or len(eras) == 1:
                joined[name] = _joined(joined.get(name), value)
    return _joined(joined, _TOLD)  # type: ignore[no-any-return]


def _joined(one: Any, other: Any) -> Any:
    """What either can do."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {
            key: _joined(one.get(key), other.get(key)) for key in (*one, *(k for k in other if k not in one))
        }
    if isinstance(one, bool) and isinstance(other, bool):
        return one or other
    return other if one is None else one


def joined_instructions(told: Sequence[tuple[str, str]], description: str = "") -> str:
    """`told`: server and its instructions."""
    parts = [description] if description else []
    if len(told) == 1:
        parts += [text for _, text in told if text]
    else:
        parts += [f"# {name}\n{text}" for name, text in told if text]
    return "\n\n".join(parts)
