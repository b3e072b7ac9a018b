"""`python -m awf.testing.fake_models --scenario FILE [--port N] [--log FILE] [--port-file FILE]`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from awf.testing.fake_models.scenario import Scenario, ScenarioError
from awf.testing.fake_models.server import FakeModelServer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        scenario = Scenario.load(given.scenario)
    except (OSError, ScenarioError) as error:
        print(f"fake_models: {error}", file=sys.stderr)
        return 2
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    with FakeModelServer(scenario, port=given.port, log_path=given.log) as fake:
        if given.port_file:
            Path(given.port_file).write_text(str(fake.port), encoding="utf-8")
        print(fake.url, flush=True)
        done.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m awf.testing.fake_models", description="Serve scripted model answers on loopback."
    )
    parser.add_argument("--scenario", required=True, help="scenario JSON file")
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free port")
    parser.add_argument("--log", help="append every request here, one JSON object a line")
    parser.add_argument("--port-file", help="write the port here once listening")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
