"""Which arrows are better said than drawn: in a large, tangled level the longest ones only name where they lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.authoring.diagram.layering import back_links, longest_paths

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["too_long"]

_ROOM = 3_000  # slots that arrows may pass in all; more could neither be read nor laid out at once


def too_long(count: int, pairs: Sequence[tuple[int, int]], tracks: Sequence[Hashable]) -> set[int]:
    """The links to leave out. One link to each item always stays, the one from the layer before it."""
    back = back_links(count, pairs)
    layer = longest_paths(count, [pair for number, pair in enumerate(pairs) if number not in back])
    spans = [abs(layer[target] - layer[source]) for source, target in pairs]
    longest = max(spans, default=0)
    while longest > 1 and _passed(spans, tracks, longest) > _ROOM:
        longest -= max(1, longest // 8)
    return {number for number, span in enumerate(spans) if span > longest}


def _passed(spans: Sequence[int], tracks: Sequence[Hashable], longest: int) -> int:
    """How many slots there are to pass when no link is longer than this: links on one track share theirs."""
    reach: dict[Hashable, int] = {}
    for span, track in zip(spans, tracks, strict=True):
        if span <= longest:
            reach[track] = max(reach.get(track, 0), span - 1)
    return sum(reach.values())
