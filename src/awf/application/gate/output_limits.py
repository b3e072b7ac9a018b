"""How much of a result an agent gets. Pure: a result and its limits in, what to show and what to leave out.

What counts are the bytes of texts (UTF-8), the decoded bytes of pictures and sounds, and lines, where everything that is
no text is one line. `structuredContent` is held against the limit of bytes by itself: clients show a model either it or
the texts. It stays whole or goes whole, since half of it would break the schema that the tool promises.
"""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.gate.text_cutting import Size, cut_text, size_of_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.gate_file import Limits

__all__ = [
    "BYTES",
    "Bounds",
    "Cut",
    "Shown",
    "as_json",
    "binary_of",
    "bounds_of",
    "limited",
    "surely_held",
    "text_of",
]

BYTES = 64 * 1024  # of a page, where no limit says otherwise
_LINKS = 20  # of things left out that get a link of their own


class Bounds(NamedTuple):
    max_bytes: int | None
    max_lines: int | None

    def hold(self, size: Size) -> bool:
        return (self.max_bytes is None or size.bytes <= self.max_bytes) and (
            self.max_lines is None or size.lines <= self.max_lines
        )


class Shown(NamedTuple):
    """A block of the result as the agent gets it; None where only a link to it is given."""

    at: int
    block: dict[str, Any] | None


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is too long, and what of it is shown."""

    bounds: Bounds
    whole: Size
    shown: Size
    blocks: tuple[Shown, ...]
    keeps_structured: bool  # if there is any


def bounds_of(limits: Limits) -> Bounds | None:
    """None where the output is not limited."""
    if limits.max_output_bytes is None and limits.max_output_lines is None:
        return None
    return Bounds(limits.max_output_bytes, limits.max_output_lines)


def surely_held(bounds: Bounds | None) -> float:
    """Up to how many bytes the JSON of a result needs no look at its lines: each has two of them at least."""
    if bounds is None:
        return inf
    most_bytes, most_lines = bounds
    return min(inf if most_bytes is None else most_bytes, inf if most_lines is None else 2 * most_lines)


def limited(raw: Mapping[str, Any], bounds: Bounds, encoded: bytes | None = None) -> Cut | None:
    """How to cut a result; None if it may stay. `encoded`: its JSON, if there is one; most need no closer look then."""
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    if encoded is not None:
        most_bytes, most_lines = bounds
        few = most_bytes is None or len(encoded) <= most_bytes
        if few and (most_lines is None or encoded.count(b"\\n") + len(blocks) <= most_lines):
            return None
    sizes = [_size(block) for block in blocks]
    whole = Size(sum(size.bytes for size in sizes), sum(size.lines for size in sizes))
    structured = raw.get("structuredContent")
    room = bounds.max_bytes
    keeps = structured is None or room is None or len(as_json(structured)) <= room
    if keeps and bounds.hold(whole):
        return None
    shown, size = _head(blocks, sizes, bounds)
    return Cut(bounds=bounds, whole=whole, shown=size, blocks=shown, keeps_structured=keeps)


def _head(blocks: list[Any], sizes: list[Size], bounds: Bounds) -> tuple[tuple[Shown, ...], Size]:
    """From the front what there is room for. Once a text was cut, no other text follows it."""
    shown: list[Shown] = []
    used, full, links = Size(0, 0), False, 0
    for at, (block, size) in enumerate(zip(blocks, sizes, strict=True)):
        grown = Size(used.bytes + size.bytes, used.lines + size.lines)
        if not full and bounds.hold(grown):
            shown.append(Shown(at, block))
            used = grown
        elif isinstance(text_of(block), str):
            if not full and (part := _cut(block, used, bounds)):
                shown.append(Shown(at, part))
                more = _size(part)
                used = Size(used.bytes + more.bytes, used.lines + more.lines)
            full = True
        elif links < _LINKS:
            links += 1
            shown.append(Shown(at, None))
    return tuple(shown), used


def _cut(block: Any, used: Size, bounds: Bounds) -> dict[str, Any] | None:
    text = cut_text(
        text_of(block) or "",
        None if bounds.max_bytes is None else bounds.max_bytes - used.bytes,
        None if bounds.max_lines is None else bounds.max_lines - used.lines,
    )
    if not text:
        return None
    if block.get("type") == "text":
        return {**block, "text": text}
    return {**block, "resource": {**block["resource"], "text": text}}


# -- what is in a block ----------------------------------------------------------------------------------------------


def text_of(block: Any) -> str | None:
    """The text of a text block or of an embedded resource."""
    if not isinstance(block, dict):
        return None
    holder = block.get("resource") if block.get("type") == "resource" else block
    text = (
        holder.get("text") if isinstance(holder, dict) and block.get("type") in ("text", "resource") else None
    )
    return text if isinstance(text, str) else None


def binary_of(block: Any) -> tuple[str, str] | None:
    """The base64 text of a picture, a sound or an embedded resource, and its kind."""
    if not isinstance(block, dict):
        return None
    holder, key = (block.get("resource"), "blob") if block.get("type") == "resource" else (block, "data")
    data = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or not isinstance(data, str):
        return None
    return data, str(holder.get("mimeType") or "application/octet-stream")


def _size(block: Any) -> Size:
    if (text := text_of(block)) is not None:
        return size_of_text(text)
    if (binary := binary_of(block)) is not None:
        data = binary[0]
        return Size(len(data) * 3 // 4 - data[-2:].count("="), 1)
    return Size(len(as_json(block)), 1)


def as_json(value: Any) -> bytes:
    """Also of texts with half a character in them, which servers do send."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
