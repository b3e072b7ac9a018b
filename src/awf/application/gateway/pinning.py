"""Definitions are trusted as they are first seen; from then on every difference is told. Pure.

A server can win trust with one definition and serve another one later, with instructions to the agent in it. So a
pinned definition stays the measure until someone accepts the new one. Pins of tools that are gone are kept too: a tool
that comes back changed is a changed tool, not a new one.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from awf.domain.errors import AwfError
from awf.domain.name_patterns import fits
from awf.domain.pinning import Pin
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from awf.domain.pinning import PinningMode

__all__ = ["Change", "Drift", "Pin", "accepted", "canonical", "compare", "described", "fingerprint"]

Tool = dict[str, Any]  # a definition as its server sent it
Kind = Literal["new", "changed", "gone"]

_MOST_PINS = 10_000  # of one server: one that invents names all the time must not fill the disk
_MOST_LINES = 1_000  # the time to compare lines grows with the square of their number
_LONG_TEXT = 100
_DEEPEST_INDENT = 40
_WORDS = {
    "title": "its title",
    "description": "its description",
    "inputSchema": "its arguments",
    "outputSchema": "the form of its result",
    "annotations": "its annotations",
    "icons": "its icons",
    "execution": "how it is run",
    "_meta": "its metadata",
}


class Change(msgspec.Struct, frozen=True):
    """One tool that is not as it was pinned."""

    id: str
    kind: Kind
    parts: tuple[str, ...] = ()  # the keys of the definition that differ
    pinned: Pin | None = None
    offered: Tool | None = None
    waits: bool = False  # nobody has accepted what is offered now

    @property
    def what(self) -> str:
        """In words, to stand behind the name of the tool."""
        if self.kind == "new":
            return "was not there before"
        if self.kind == "gone":
            return "is no longer offered"
        words = [_WORDS.get(part) or f"its “{_short(part)}”" for part in self.parts]
        return f"changed: {_listed(words)}" if words else "does not fit the pinned fingerprint"


class Drift(msgspec.Struct, frozen=True):
    """How what is offered differs from what is pinned."""

    pins: dict[str, Pin]  # those to go on with: what was seen first is among them
    pinned: tuple[
        str, ...
    ] = ()  # ids that were pinned just now; when there are any, the pins are to be saved
    changes: tuple[Change, ...] = ()  # in the order of ids; the tools of a server seen first are no news

    def withheld(self, mode: PinningMode) -> frozenset[str]:
        """Ids of tools that must not be published."""
        if mode != "quarantine":
            return frozenset()
        return frozenset(change.id for change in self.changes if change.waits)


# -- fingerprints ----------------------------------------------------------------------------------------------------


def fingerprint(definition: Tool) -> str:
    return hashlib.sha256(canonical(definition).encode("ascii")).hexdigest()


def canonical(value: Any) -> str:
    """One text for all ways to write a JSON value: keys sorted, no spaces, 1.0 as 1, pure ASCII.

    Exact for large integers, where RFC 8785 rounds: two values that differ must not look the same here.
    """
    try:
        text = _quickly_written(value)
    except RecursionError:  # legal to receive, just too deep for the quick way
        return _written(value, _CANONICAL)
    return _written(value, _CANONICAL) if _WHOLE_FLOAT.search(text) else text


_quickly_written = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_WHOLE_FLOAT = re.compile(r"\d\.0(?!\d)|\de\+")  # perhaps: such a text may be inside a string as well


class _Manner(NamedTuple):
    """How JSON is written."""

    newline: Callable[[int], str]
    colon: str
    quoted: Callable[[str, int], str]


class _Sign(str):
    """Text that stands as it is, among values that are still to be written."""

    __slots__ = ()


def _written(value: Any, manner: _Manner) -> str:
    """With a list of what waits instead of recursion: the depth is the server's choice."""
    pieces: list[str] = []
    waiting: list[tuple[int, Any]] = [(0, value)]
    while waiting:
        depth, part = waiting.pop()
        if isinstance(part, _Sign):
            pieces.append(part)
        elif isinstance(part, str):
            pieces.append(manner.quoted(part, depth))
        elif isinstance(part, dict | list) and part:
            waiting.extend(reversed(list(_inside(part, depth, manner))))
        else:
            whole = isinstance(part, float) and part.is_integer()
            pieces.append(json.dumps(int(part) if whole else part))
    return "".join(pieces)


def _inside(part: dict[str, Any] | list[Any], depth: int, manner: _Manner) -> Iterator[tuple[int, Any]]:
    named = isinstance(part, dict)
    yield depth, _Sign("{" if named else "[")
    for at, key in enumerate(sorted(part) if named else range(len(part))):
        name = f"{manner.quoted(str(key), depth + 1)}{manner.colon}" if named else ""
        yield depth, _Sign(f"{',' if at else ''}{manner.newline(depth + 1)}{name}")
        yield depth + 1, part[key]
    yield depth, _Sign(f"{manner.newline(depth)}{'}' if named else ']'}")


_CANONICAL = _Manner(lambda _: "", ":", lambda text, _: json.dumps(text))


# -- comparing -------------------------------------------------------------------------------------------------------


def compare(
    pins: Mapping[str, Pin],
    offered: Mapping[str, Sequence[Tool]],
    *,
    now: float,
    quarantine_new: bool = False,
) -> Drift:
    """What is offered against what is pinned. Servers that are not in `offered` could not be asked: nothing is said of them.

    New tools are pinned at once. With `quarantine_new`, those of a server that has pins wait to be accepted.
    """
    held = _by_server(pins)
    kept, pinned, changes = dict(pins), list[str](), list[Change]()
    for server, tools in offered.items():
        named = _by_id(server, tools)
        ours = held.get(server, [])
        known, room = bool(ours), _MOST_PINS - len(ours)
        for tool_id, tool in named.items():
            pin, print_now = pins.get(tool_id), fingerprint(tool)
            if pin is not None:
                changes += _changed(pin, tool, print_now)
                continue
            waits = known and (quarantine_new or room <= 0)
            if known:
                changes.append(Change(tool_id, "new", offered=tool, waits=waits))
            if not waits and room > 0:
                room -= 1
                kept[tool_id] = Pin(tool_id, print_now, now, tool)
                pinned.append(tool_id)
        changes += [Change(pin.id, "gone", pinned=pin) for pin in ours if pin.id not in named]
    return Drift(kept, tuple(sorted(pinned)), tuple(sorted(changes, key=lambda change: change.id)))


def _by_server(pins: Mapping[str, Pin]) -> dict[str, list[Pin]]:
    held: dict[str, list[Pin]] = {}
    for pin in pins.values():
        held.setdefault(pin.id.partition(":")[0], []).append(pin)
    return held


def _by_id(server: str, tools: Sequence[Tool]) -> dict[str, Tool]:
    """Of two with one name the server's first counts, as in what is published."""
    found: dict[str, Tool] = {}
    for tool in tools:
        name = tool.get("name")
        if isinstance(name, str) and name:
            found.setdefault(f"{server}:{name}", tool)
    return found


def _changed(pin: Pin, tool: Tool, print_now: str) -> Iterator[Change]:
    if pin.fingerprint != print_now:
        parts = [key for key in sorted({*pin.definition, *tool}) if _differs(pin.definition, tool, key)]
        parts.sort(key=lambda key: list(_WORDS).index(key) if key in _WORDS else len(_WORDS))
        yield Change(pin.id, "changed", tuple(parts), pin, tool, waits=True)


def _differs(before: Tool, after: Tool, key: str) -> bool:
    if (key in before) != (key in after):
        return True
    return canonical(before[key]) != canonical(after[key])


def accepted(
    pins: Mapping[str, Pin], drift: Drift, ids: Collection[str] | None = None, *, now: float
) -> dict[str, Pin]:
    """The pins with these changes taken over, or all of them. An id may be a pattern, such as `weather:*`."""
    chosen = drift.changes if ids is None else _chosen(drift, ids)
    kept = dict(pins)
    for change in chosen:
        if change.offered is None:
            kept.pop(change.id, None)
            continue
        print_now = fingerprint(change.offered)
        if change.id not in kept or kept[change.id].fingerprint != print_now:
            kept[change.id] = Pin(change.id, print_now, now, change.offered)
    return kept


def _chosen(drift: Drift, ids: Collection[str]) -> list[Change]:
    for wanted in ids:
        if not any(_means(wanted, change.id) for change in drift.changes):
            raise _nothing_to_accept(drift, wanted)
    return [change for change in drift.changes if any(_means(wanted, change.id) for wanted in ids)]


def _means(wanted: str, tool_id: str) -> bool:
    return wanted == tool_id or fits(tool_id, wanted)


def _nothing_to_accept(drift: Drift, wanted: str) -> AwfError:
    close = suggest(wanted, [change.id for change in drift.changes])
    hint = f"did you mean “{_short(close)}”?" if close else "Name a tool as SERVER:TOOL that differs."
    return AwfError("USER.INPUT.USAGE", f"There is no change of “{_short(wanted)}” to accept.", hint=hint)


# -- for people ------------------------------------------------------------------------------------------------------


def described(drift: Drift) -> list[str]:
    """Lines for a terminal: what differs, with the differences. Nothing in them can steer the terminal or hide."""
    lines: list[str] = []
    for change in drift.changes:
        lines.append(f"{_short(change.id)} {change.what}")
        lines += [f"  {line}" for line in _difference(change)]
    return lines


def _difference(change: Change) -> list[str]:
    before = _lines(change.pinned.definition) if change.pinned is not None else []
    after = _lines(change.offered) if change.offered is not None else []
    if change.kind == "gone" or before == after:
        return []
    if max(len(before), len(after)) > _MOST_LINES:
        return [f"(too long to show: {len(before):,} lines before, {len(after):,} now)"]
    import difflib  # late: most starts find no difference

    return [*difflib.unified_diff(before, after, "pinned", "offered", lineterm="", n=2)]


def _lines(definition: Tool) -> list[str]:
    return _written(definition, _READABLE).split("\n")


def _broken_up(text: str, depth: int) -> str:
    """A text of several lines as several lines, a long one by its sentences: so that a difference is seen in its place."""
    pieces = text.splitlines(keepends=True)
    if len(text) > _LONG_TEXT:
        pieces = [part for piece in pieces for part in re.split(r"(?<=[.!?] )(?=\S)", piece)]
    return _indent(depth + 1).join(f'"{_visible(piece)}"' for piece in pieces or [""])


def _visible(text: str) -> str:
    """As JSON has it, and with every character escaped that cannot be seen: some are used to hide words from people."""
    return "".join(json.dumps(sign)[1:-1] if _must_be_escaped(sign) else sign for sign in text)


def _must_be_escaped(sign: str) -> bool:
    return not sign.isprintable() or sign in '"\\' or _BLANK.match(sign) is not None


# Counted as printable, and yet nothing to be seen: fillers, and selectors that can carry a whole text.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def _short(text: str) -> str:
    return _visible(text) if len(text) <= _LONG_TEXT else f"{_visible(text[:_LONG_TEXT])}…"


def _indent(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST_INDENT)


_READABLE = _Manner(_indent, ": ", _broken_up)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
