"""How long it takes to check one small workflow, as an editor or a commit hook does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import workflows
from bench.measuring import interleaved
from bench.rows import Limits, compared
from bench.stage import BARE

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_FILES = {
    "small.yaml": workflows.SMALL,
    "condition.yaml": workflows.WITH_CONDITION,
    "jinja.yaml": workflows.WITH_JINJA,
}


def run(stage: Stage) -> list[Row]:
    for name, text in _FILES.items():
        stage.write(name, text)
    taken = interleaved(
        stage.rounds(40),
        {"bare": stage.process(*BARE), **{name: stage.awf("validate", name) for name in _FILES}},
    )
    limits = {"small.yaml": Limits(10, 7)}
    return [
        compared(f"awf validate {name} / bare python", taken[name], taken["bare"], limits.get(name, Limits()))
        for name in _FILES
    ]
