"""HTML that cannot be broken by what it shows: text is escaped unless it is markup already."""

from __future__ import annotations

from html import escape

__all__ = ["Markup", "element", "joined"]

_EMPTY = frozenset({"meta", "br", "hr", "input", "link"})


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def element(name: str, /, *content: str | None, **attributes: str | float | bool | None) -> Markup:
    """An element. `class_` stands for class, other underscores for hyphens; None and False leave something out."""
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{joined(*content)}</{name}>")


def joined(*content: str | None) -> Markup:
    return Markup(
        "".join(part if isinstance(part, Markup) else escape(part) for part in content if part is not None)
    )


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
