"""Pieces that several parts of a report are made of."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.history.amounts import duration, moment
from awf.application.history.markup import Markup, element, joined
from awf.application.history.plain_text import excerpt, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Command", "anchor", "command_list", "facts", "shown_value", "sign", "text_block", "took", "when"]

_SIGNS = {
    "success": ("✓", "succeeded"),
    "completed": ("✓", "completed"),
    "failed": ("✕", "failed"),
    "skipped": ("»", "skipped"),
    "cancelled": ("!", "cancelled"),
    "interrupted": ("!", "interrupted"),
    "running": ("…", "running"),
    "queued": ("…", "queued"),
    "waiting": ("?", "waiting"),
    "unfinished": ("!", "not finished"),
}
_VALUE_LIMIT = 4_000


class Command(NamedTuple):
    words: tuple[str, ...]
    purpose: str


def sign(status: str, *, spoken: bool = True) -> Markup:
    """A status as a sign to see and, unless the words beside it say the same, a word to hear."""
    mark, word = _SIGNS.get(status, ("·", status))
    seen = element("span", mark, class_="sign", aria_hidden="true")
    heard = element("span", f" {word}", class_="sr") if spoken else None
    return element("span", seen, heard, class_=f"status {status}")


def anchor(number: int) -> str:
    return f"step-{number}"


def command_list(commands: Iterable[Command]) -> Markup:
    items = [
        element("li", element("code", shlex.join(command.words)), element("span", command.purpose))
        for command in commands
    ]
    return element("ul", *items, class_="commands")


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in pairs),
        class_="facts",
    )


def text_block(text: str, limit: int, *, whole: str = "") -> Markup:
    """Text as it was written. `whole` says where all of it can be found when it had to be cut."""
    head, left_out, tail = excerpt(text.rstrip("\n"), limit)
    if not left_out:
        return element("pre", head, tabindex="0")
    note = f"{left_out:,} characters left out{whole and f'; {whole}'}"
    return element("pre", head, element("span", f"\n… {note} …\n", class_="cut"), tail, tabindex="0")


def shown_value(value: Any) -> Markup:
    """A value of any type: plain text as text, the rest as JSON."""
    if isinstance(value, str):
        text = plain(value)
        return (
            element("code", text) if "\n" not in text and len(text) < 100 else text_block(text, _VALUE_LIMIT)
        )
    written = msgspec.json.encode(value).decode()
    if len(written) < 100:
        return element("code", plain(written))
    return text_block(msgspec.json.format(written, indent=2), _VALUE_LIMIT)


def when(at: float | None) -> Markup:
    if at is None:
        return joined("unknown")
    shown = moment(at)
    machine = shown.removesuffix(" UTC").replace(" ", "T") + "Z"
    return joined(shown) if shown == "unknown" else element("time", shown, datetime=machine)


def took(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
