"""The rows of a plan: a label, and text that is wrapped rather than cut, so that nothing hides at its end."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from awf.interfaces.cli.rendering.figures import counted, duration_text
from awf.interfaces.cli.rendering.lines import Line, indented
from awf.interfaces.cli.rendering.terminal_text import cell_width, neutral

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from awf.application.running.plan_values import HookPlan
    from awf.domain.workflow import Limits

__all__ = [
    "block", "hook_rows", "limits_text", "one_line", "row", "size_text", "table", "time_text", "value_text", "wrapped",
]  # fmt: skip

_WIDTH = 100
_LABEL = 11
_NARROWEST = 40
_WIDEST_NAME = 30
_ROWS_OF_A_VALUE = 6


def one_line(text: str) -> str:
    return " ".join(neutral(text).split())


def value_text(value: Any) -> str:
    """A value on one line."""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def time_text(seconds: float) -> str:
    return duration_text(seconds * 1000).removesuffix(" 00s").removesuffix(" 00m")


def size_text(size: int) -> str:
    for unit, factor in (("MiB", 1024 * 1024), ("KiB", 1024)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"
    return counted(size, "byte")


def limits_text(limits: Limits) -> str:
    parts = [
        "" if limits.tokens is None else counted(limits.tokens, "token"),
        "" if limits.cost is None else f"${limits.cost:.2f}",
        "" if limits.duration is None else time_text(limits.duration),
        "" if limits.tool_calls is None else counted(limits.tool_calls, "tool call"),
    ]
    return " · ".join(filter(None, parts))


def wrapped(text: str, cells: int) -> Iterator[str]:
    """The text in rows of so many cells, broken at spaces where there are some."""
    while (fitting := _fitting(text, cells)) < len(text):
        space = text.rfind(" ", fitting // 2, fitting + 1)
        end = space if space > 0 else fitting
        yield text[:end].rstrip()
        text = text[end:].lstrip(" ")
    yield text


def _fitting(text: str, cells: int) -> int:
    """How many characters fit; at least one."""
    room = cells
    for position, char in enumerate(text):
        room -= cell_width(char)
        if room < 0:
            return max(1, position)
    return len(text)


def _rows(indent: int, label: str, texts: Iterable[str], width: int = _LABEL) -> Iterator[Line]:
    """The label beside the first text."""
    for text in texts:
        gap = " " * max(0, width - cell_width(label))
        yield indented(indent, f"{label}{gap}  {text}".rstrip())
        label = ""


def _room(indent: int, width: int = _LABEL) -> int:
    return max(_NARROWEST, _WIDTH - indent - width - 2)


def row(indent: int, label: str, text: str, width: int = _LABEL) -> Iterator[Line]:
    """One value, on as many rows as it takes; a very long one is cut, with a word about it."""
    shown = list(islice(wrapped(text, _room(indent, width)), _ROWS_OF_A_VALUE + 1))
    if len(shown) > _ROWS_OF_A_VALUE:
        shown[-1] = f"… {counted(len(text), 'character')} in all"
    yield from _rows(indent, label, shown, width)


def table(indent: int, fields: Mapping[str, str]) -> Iterator[Line]:
    """Names and values under each other; the widest name makes the column, within reason."""
    width = max([_LABEL, *map(cell_width, fields)])
    for name, text in fields.items():
        yield from row(indent, name, text, min(width, _WIDEST_NAME))


def block(indent: int, label: str, text: str, *, most: int, length: int = 0) -> Iterator[Line]:
    """A text of many lines. What does not fit is counted."""
    written = [neutral(line).expandtabs(4) for line in text.rstrip("\n").split("\n")]
    every = (part for line in written for part in wrapped(line, _room(indent)))
    shown = list(islice(every, most + 1))
    whole = max(length, len(text))
    if len(shown) > most or whole > len(text):
        shown[most:] = [f"… {counted(whole, 'character')} in all"]
    yield from _rows(indent, label, shown)


def hook_rows(indent: int, moment: str, hooks: Iterable[HookPlan]) -> Iterator[Line]:
    for hook in hooks:
        text = f"log  {hook.log}" if hook.log is not None else f"$ {hook.command}"
        yield from block(indent, moment, text, most=10)
        moment = ""
