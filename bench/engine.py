"""What the engine adds to the commands it runs: a thousand steps that do nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bench import workflows
from bench.in_process import engine_run, spawn_loop
from bench.measuring import interleaved, timed
from bench.profiling import profile_note
from bench.rows import Limits, compared
from bench.stage import BARE

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_LIMITS = Limits(1.8, 1.5)
_PLAIN = """\
import subprocess
for _ in range({}):
    subprocess.run(["/bin/sh", "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True)
"""


def run(stage: Stage) -> list[Row]:
    count = stage.size(1000)
    chain = stage.write("chain.yaml", workflows.chain(count))
    loop = stage.write("loop.yaml", workflows.for_each(count))
    single = stage.write("single.yaml", workflows.chain(1))
    taken = interleaved(
        stage.rounds(5),
        {
            "plain": lambda: timed(lambda: spawn_loop(count)),
            "chain": lambda: engine_run(stage, chain),
            "loop": lambda: engine_run(stage, loop),
            "whole plain": stage.process(sys.executable, "-c", _PLAIN.format(count)),
            "whole chain": stage.awf("run", chain),
            "whole loop": stage.awf("run", loop),
            "quiet loop": stage.awf("run", loop, "-o", "quiet"),
            "bare": stage.process(*BARE),
            "single": stage.awf("run", single),
        },
        warm_up=not stage.quick,
    )
    if stage.profile:
        stage.notes.append(
            profile_note(f"engine, for_each of {count}", lambda: engine_run(stage, loop), count)
        )
        stage.notes.append(profile_note(f"engine, {count} states", lambda: engine_run(stage, chain), count))
    plain, whole = taken["plain"], taken["whole plain"]
    return [
        compared(f"engine, {count} states / spawn loop, per step", taken["chain"], plain, _LIMITS, per=count),
        compared(
            f"engine, for_each of {count} / spawn loop, per step", taken["loop"], plain, _LIMITS, per=count
        ),
        compared(f"awf run, {count} states / spawn loop, whole", taken["whole chain"], whole, _LIMITS),
        compared(f"awf run, for_each of {count} / spawn loop, whole", taken["whole loop"], whole, _LIMITS),
        compared(f"awf run -o quiet, for_each of {count} / spawn loop, whole", taken["quiet loop"], whole),
        compared("awf run, one step / bare python", taken["single"], taken["bare"]),
    ]
