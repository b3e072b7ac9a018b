"""`python -m bench [names…] [--json FILE] [--quick] [--profile] [--wait SECONDS] [--strict]`.

A benchmark that only counts what must not happen makes the exit status 1 when it did, with --strict or without.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.machine import Watch, describe, wait_for_calm
from bench.stage import Stage
from bench.table import document, noise_lines, table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.rows import Row

BENCHMARKS = {
    "help": "help_command",
    "validate": "validate_command",
    "list": "list_command",
    "engine": "engine",
    "memory": "memory",
    "large": "large_file",
    "parallel": "parallel",
    "events": "events",
    "processes": "processes",
    "sandbox": "sandbox",
    "grep": "grep_glob",
    "mcp": "mcp_serve",
    "acp": "acp_serve",
    "stream": "agent_stream",
    "shared-audit": "shared_audit",
    "fleet": "fleet",
    "fleet-storm": "fleet_storm",
    "gateway": "gateway.versus_direct",
    "gate": "gateway.gated",
    "gateway-peers": "gateway.versus_peers",
    "gateway-soak": "gateway.soak",
    "gateway-reload": "gateway.reload",
}
_ONLY_BY_NAME = {
    "shared-audit",
    "fleet",
    "fleet-storm",
    "gateway-peers",
    "gateway-soak",
    "gateway-reload",
}  # they take their time
_OPTIONS = {
    "fleet-storm": ("runs", "kill_every"),
    "gateway-soak": ("calls", "connections", "kill_every"),
    "gateway-reload": ("reloads",),
}
_RESULTS = Path(__file__).parent / "results"


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of: {', '.join(BENCHMARKS)}; all by default, but {', '.join(sorted(_ONLY_BY_NAME))}",
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON, too")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds and small sizes: does it run at all?"
    )
    parser.add_argument(
        "--profile", action="store_true", help="show where the time goes (engine, large, gateway)"
    )
    parser.add_argument(
        "--wait", type=float, default=0, metavar="SECONDS", help="wait so long for a calm machine"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a `must` is missed")
    parser.add_argument("--work", metavar="DIR", help="where files are written; a real disk, please")
    soak = parser.add_argument_group("fleet-storm, gateway-soak and gateway-reload")
    soak.add_argument("--runs", type=int, metavar="N", help="how many runs the storm falls on")
    soak.add_argument("--calls", type=int, metavar="N", help="how many calls the soak makes")
    soak.add_argument("--connections", type=int, metavar="N", help="over how many connections")
    soak.add_argument(
        "--kill-every", type=float, metavar="SECONDS", help="how often a server or a worker is killed"
    )
    soak.add_argument("--reloads", type=int, metavar="N", help="how often the configuration changes")
    chosen = parser.parse_args(given)
    unknown = set(chosen.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"There is no benchmark {', '.join(sorted(unknown))}. Names: {', '.join(BENCHMARKS)}.")
    return chosen


def _measure(name: str, stage: Stage, chosen: argparse.Namespace) -> list[Row]:
    if chosen.wait:
        waited = wait_for_calm(chosen.wait)
        stage.notes.append(f"{name}: waited {waited:.0f} s for a calm machine.")
    print(f"measuring {name} …", file=sys.stderr, flush=True)
    watch = Watch()
    given = {option: getattr(chosen, option) for option in _OPTIONS.get(name, ())}
    options = {option: value for option, value in given.items() if value is not None}
    rows: list[Row] = importlib.import_module(f"bench.{BENCHMARKS[name]}").run(stage, **options)
    others = watch.others()
    if others is not None:
        stage.notes.append(f"{name}: other programs took {others:.0%} of the machine meanwhile.")
    return [row._replace(small=stage.quick) for row in rows]


def main(given: Sequence[str] | None = None) -> int:
    chosen = _arguments(given)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that its files are removed
    folder = Path(chosen.work) if chosen.work else _RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    machine = describe()
    with tempfile.TemporaryDirectory(dir=folder, prefix="stage-") as place:
        stage = Stage(Path(place).resolve(), quick=chosen.quick, profile=chosen.profile)
        sys.path.insert(0, str(stage.folder / "src"))
        rows = [
            row
            for name in BENCHMARKS
            if name in (chosen.names or set(BENCHMARKS) - _ONLY_BY_NAME)
            for row in _measure(name, stage, chosen)
        ]
    machine["load at the end"] = describe()["load"]
    _show(rows, stage.notes, machine)
    if chosen.json:
        Path(chosen.json).write_text(
            json.dumps(document(rows, machine, stage.notes), ensure_ascii=False, indent=2) + "\n",
            encoding="utf-8",
        )
    return int(any(row.is_wrong or (chosen.strict and row.verdict == "MISSED") for row in rows))


def _show(rows: list[Row], notes: list[str], machine: dict[str, object]) -> None:
    lines = [*table_lines(rows), "", *noise_lines(rows), "", *notes]
    print("\n".join(lines))
    print(", ".join(f"{name} {value}" for name, value in machine.items()))


if __name__ == "__main__":
    sys.exit(main())
