"""How long a person waits for `awf --help`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.measuring import interleaved
from bench.rows import Limits, compared
from bench.stage import BARE

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]


def run(stage: Stage) -> list[Row]:
    taken = interleaved(
        stage.rounds(40),
        {
            "bare": stage.process(*BARE),
            "help": stage.awf("--help"),
            "version": stage.awf("--version"),
            "run help": stage.awf("run", "--help"),
        },
    )
    return [
        compared("awf --help / bare python", taken["help"], taken["bare"], Limits(5, 4)),
        compared("awf --version / bare python", taken["version"], taken["bare"]),
        compared("awf run --help / bare python", taken["run help"], taken["bare"]),
    ]
