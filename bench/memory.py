"""Whether memory stays flat however many steps a run has and however much they print."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from bench import workflows
from bench.rows import Limits, Row, figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.stage import Stage

__all__ = ["run"]

# A process inherits the peak of the one it was started from, so a small one starts what is measured.
_MEASURE = """\
import os, subprocess, sys, time
began = time.perf_counter()
null = subprocess.DEVNULL
process = subprocess.Popen(sys.argv[1:], stdin=null, stdout=null, stderr=null)
_, status, used = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(used.ru_maxrss, time.perf_counter() - began)
sys.exit(process.returncode)
"""
_TO_KB = 1 / 1024 if sys.platform == "darwin" else 1


def run(stage: Stage) -> list[Row]:
    steps = [5, 20] if stage.quick else [100, 1000, 5000]
    output = [1, 3] if stage.quick else [10, 100, 500]
    return [
        *_growth_per_step(stage, "for_each", workflows.for_each, steps, Limits(1, None, " kB")),
        *_growth_per_step(stage, "chained states", workflows.chain, steps, Limits()),
        *_growth_with_output(stage, output),
        *_growth_with_output(stage, output, "-o", "quiet"),
    ]


def _peak(stage: Stage, *arguments: str) -> tuple[float, float]:
    """The most memory in kB, and the seconds it took."""
    argv = [sys.executable, "-c", _MEASURE, *stage.awf_argv(*arguments)]
    done = subprocess.run(
        argv, env=stage.environment, cwd=stage.folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"awf {' '.join(arguments)} ended with {done.returncode}")
    shutil.rmtree(stage.folder / "storage", ignore_errors=True)
    peak, seconds = map(float, done.stdout.split())
    return peak * _TO_KB, seconds


def _growth_per_step(
    stage: Stage, what: str, make: Callable[[int], str], sizes: list[int], limits: Limits
) -> list[Row]:
    """Checking the same file is the reference: the definition itself takes memory, too."""
    rows, peaks, known = [], [], []
    for size in sizes:
        file = stage.write("memory.yaml", make(size))
        peak, seconds = _peak(stage, "run", file)
        checked, _ = _peak(stage, "validate", file)
        peaks.append(peak)
        known.append(checked)
        rows.append(
            figure(
                f"peak memory, {what}, {size} steps / validate",
                f"{peak / 1024:.1f} MB, {seconds:.1f} s",
                f"{checked / 1024:.1f} MB",
            )
        )
    steps = sizes[-1] - sizes[-2]
    growth, defined = (peaks[-1] - peaks[-2]) / steps, (known[-1] - known[-2]) / steps
    text = f"  growth per step, {what}, {sizes[-2]} to {sizes[-1]} / validate"
    rows.append(figure(text, f"{growth:.2f} kB", f"{defined:.2f} kB", limits, growth))
    return rows


def _growth_with_output(stage: Stage, sizes: list[int], *options: str) -> list[Row]:
    rows, peaks = [], []
    for size in sizes:
        file = stage.write("memory.yaml", workflows.one_output(size))
        peak, seconds = _peak(stage, "run", file, *options)
        peaks.append(peak / 1024)
        rows.append(
            figure(
                f"peak memory, {size} MB of output in one step {' '.join(options)}".rstrip(),
                f"{peaks[-1]:.1f} MB, {size / seconds:.0f} MB/s",
            )
        )
    growth = peaks[-1] - peaks[0]
    text = f"  growth, {sizes[0]} to {sizes[-1]} MB of output {' '.join(options)}".rstrip()
    rows.append(figure(text, f"{growth:.1f} MB", limits=Limits(8, 2, " MB"), judged=growth))
    return rows
