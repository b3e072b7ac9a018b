"""`awf list` in a folder with many workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import workflows
from bench.measuring import interleaved
from bench.rows import compared
from bench.stage import BARE

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_VARIANTS = (workflows.SMALL, workflows.WITH_CONDITION, workflows.WITH_JINJA)


def run(stage: Stage) -> list[Row]:
    count = stage.size(500)
    for number in range(count):
        text = _VARIANTS[number % 3].replace("name: release", f"name: release-{number}")
        stage.write(f".awf/workflows/group{number % 10}/w{number:03}.yaml", text)
    taken = interleaved(
        stage.rounds(7),
        {"bare": stage.process(*BARE), "list": stage.awf("list"), "validate": stage.awf("validate")},
    )
    return [
        compared(f"awf list, {count} workflows / bare python", taken["list"], taken["bare"]),
        compared(f"awf validate, all {count} / bare python", taken["validate"], taken["bare"]),
    ]
