"""Many runs while workers die: one is killed every few seconds, and another one started."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from bench.fleet_yard import Yard, database
from bench.rows import counted, figure

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_WORKERS, _CONCURRENCY = 4, 4
# Each start of a step leaves a word of its own, and the step's result is that word.
_STEP = 'word=$(date +%s%N)-$$; echo "$AWF_RUN_ID $AWF_STEP $word" >> starts; sleep 0.2; echo $word'


def run(stage: Stage, runs: int | None = None, kill_every: float | None = None) -> list[Row]:
    count = stage.size(runs or 600)
    file = stage.write("storm.yaml", _workflow())
    with database() as server:
        yard = Yard(stage, server.new_database())
        try:
            yard.submit(file, count - 1)
            began = time.monotonic()
            kills = _storm(yard, count, kill_every or 5.0)
            took = time.monotonic() - began
            return [*_judged(stage, yard, count), *_told(yard, kills, took)]
        finally:
            yard.stop()


def _workflow() -> str:
    states: dict[str, object] = {"initial": "a", "done": {"type": "terminal"}}
    for name, following in (("a", "b"), ("b", "c"), ("c", "done")):
        states[name] = {"type": "step", "command": _STEP, "on_success": following}
    return msgspec.json.encode({"name": "storm", "states": states}).decode()


def _storm(yard: Yard, count: int, every: float) -> int:
    """How many workers were killed until all runs had ended."""
    for _ in range(_WORKERS):
        yard.start_worker(_CONCURRENCY)
    kills, last = 0, time.monotonic()
    deadline = last + 900
    while yard.ended() < count and time.monotonic() < deadline:
        time.sleep(0.1)
        if time.monotonic() - last > every:
            yard.kill_oldest()
            yard.start_worker(_CONCURRENCY)
            kills, last = kills + 1, time.monotonic()
    return kills


def _judged(stage: Stage, yard: Yard, count: int) -> list[Row]:
    ended = yard.rows("SELECT count(*) FROM awf.runs WHERE status = 'completed'")[0][0]
    recorded = {
        (run_id, path): msgspec.json.decode(result)["output"]
        for run_id, path, result in yard.rows("SELECT run_id, path, result FROM awf.steps")
    }
    starts: dict[tuple[str, str], list[str]] = {}
    for line in (stage.folder / "starts").read_text().splitlines():
        run_id, step, word = line.split()
        starts.setdefault((run_id, step), []).append(word)
    # A step that was finished and ran again has a later start than the one that is recorded.
    twice = sum(starts[key][-1] != word for key, word in recorded.items())
    told = yard.rows("SELECT run_id, count(*) FROM awf.events WHERE type = 'step.completed' GROUP BY run_id")
    odd = sum(found != 3 for _, found in told) + count - len(told)
    gaps = yard.rows(
        "SELECT count(*) FROM (SELECT max(seq) = count(*) AS whole FROM awf.events GROUP BY run_id) e WHERE NOT whole"
    )[0][0]
    return [
        counted("runs that did not end", count - ended),
        counted("steps that are not in the record", 3 * count - len(recorded)),
        counted("finished steps that ran again", twice),
        counted("runs whose events do not tell each step once", odd),
        counted("runs whose events have gaps", gaps),
        figure(
            "steps begun again after a worker died", str(sum(len(words) - 1 for words in starts.values()))
        ),
    ]


def _told(yard: Yard, kills: int, took: float) -> list[Row]:
    spread = Counter(dict(enumerate(yard.spread(), 1)))
    shown = ", ".join(f"{found}" for _, found in sorted(spread.items()))
    return [
        figure("workers killed", str(kills)),
        figure("all of it took", f"{took:.0f} s"),
        figure("runs ended at each worker, in the order of their start", shown),
    ]
