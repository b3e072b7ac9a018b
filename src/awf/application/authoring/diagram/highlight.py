"""How far a run came, as marks on the picture of its workflow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.application.authoring.diagram.parts import Graph
    from awf.domain.ports.run_store import StepRow

__all__ = ["highlight_of"]

_SUFFIX = re.compile(r"(?:\[\d+\]|[#@]\d+)+$")  # an iteration, a repeated visit or another attempt


def highlight_of(graph: Graph, steps: Iterable[StepRow]) -> dict[str, str]:
    """For each state that ran, how it came out the last time. Steps of called workflows are not in this picture."""
    kinds = {node.id: node.kind for node in graph.nodes}
    marks: dict[str, str] = {}
    for row in sorted(steps, key=lambda row: row.result.finished_at):
        names = [_SUFFIX.sub("", part) for part in row.path.split("/")]
        if "hooks" in names:
            continue
        inside_call = any(kinds.get(name) == "call_workflow" for name in names[:-1])
        if names[-1] in kinds and not inside_call:
            marks[names[-1]] = row.result.status
    return marks
