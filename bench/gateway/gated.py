"""The whole gate beside the bare gateway: composition, 50 rules, grants, levels, redaction and the audit on SQLite.

And beside a bare gateway that waits for as long as the gate may take: processors that sleep meanwhile may wake up slowly, and
that is then the same for both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.gateway.alternating import Schedule, Taker, alternating
from bench.gateway.targets import PROGRAMS, Bench, Setting, Target, config_of, door
from bench.gateway.versus_direct import trouble
from bench.rows import Limits, compared, figure, per_second

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["gate_of", "run"]

BACKS = ("http", "stdio")
_MORE = 0.35  # of the bare gateway's p50 may be added
_P50 = Limits(1 + _MORE)
_NO_MORE = Limits(1.0)
_BEFORE = 0.6  # of what the gate takes comes before the call goes out
_SPEED = Limits(0.7, at_least=True)


def run(stage: Stage) -> list[Row]:
    bench = Bench(stage)
    schedule = Schedule()
    if stage.quick:
        schedule = Schedule(starts=2, ones=2, one_seconds=0.05, manies=1, many_seconds=0.05, rest=0, warm=0)
    _grant(bench)
    rows: list[Row] = []
    for back in BACKS:
        targets = {"bare": bench.ours("http", back), "gated": gated(bench, back)}
        before = schedule._replace(starts=2)
        calm = alternating(bench, {"bare": targets["bare"]}, before)["bare"]
        if calm.good:
            targets["waiting"] = waiting(bench, back, _MORE * calm.p50.least)
        takers = alternating(bench, targets, schedule, many=("bare", "gated"), resting=("gated",))
        rows += [*_rows(**takers), *trouble(stage, takers)]
    return rows


def _rows(gated: Taker, bare: Taker, waiting: Taker | None = None) -> list[Row]:
    what = f"the gate, {gated.target.path}"
    if waiting is None or not (gated.good and bare.good and waiting.good):
        failed = next((one for one in (bare, gated, waiting) if one is not None and one.failures), bare)
        return [figure(what, failed.reason)]
    cpu = [statistics.median(turn.cpu for turn in side.manies) * 1e6 for side in (gated, bare)]
    return [
        compared(f"{what}: tools/call p50 / the bare gateway's", gated.p50, bare.p50, _P50),
        compared(
            "  the same / a bare gateway's that waits for 35 % of that", gated.p50, waiting.p50, _NO_MORE
        ),
        per_second("  calls at 32 at once / the bare gateway's", gated.each, bare.each, _SPEED),
        figure(
            "  processor time a call, 32 at once / the bare gateway's", f"{cpu[0]:.1f} µs", f"{cpu[1]:.1f} µs"
        ),
    ]


def gated(bench: Bench, back: str) -> Target:
    def command(setting: Setting) -> list[str]:
        file = setting.folder / "gateway.json"
        config = config_of(setting, back)
        file.write_text(json.dumps(config | gate_of(next(iter(config["mcpServers"])))), encoding="utf-8")
        return [*bench.gateway(str(file)), *door("http", setting.port)]

    return Target("awf with its gate", "http", back, command, _environment(bench))


def waiting(bench: Bench, back: str, seconds: float) -> Target:
    """The bare gateway, if it took so much longer over each call."""
    plain = bench.ours("http", back)
    before = int(seconds * _BEFORE * 1e9)
    program = [sys.executable, str(PROGRAMS / "waiting.py"), str(before), str(int(seconds * 1e9) - before)]

    def command(setting: Setting) -> list[str]:
        assert plain.command is not None
        argv = plain.command(setting)
        return [*program, *argv[argv.index("gateway") :]]

    return plain._replace(name="awf that waits", command=command)


def _environment(bench: Bench) -> dict[str, str]:
    storage = Path(bench.stage.folder) / "gate-storage"
    return {**bench.stage.environment, "AWF_STORAGE": str(storage), "GATE_SECRET": "s3cr3t-of-the-gate"}


def _grant(bench: Bench) -> None:
    """What the tool requires: its scope and its action."""
    for capability in ("echo.say", "connector.action"):
        subprocess.run(
            bench.stage.awf_argv("grant", "add", capability),
            check=True,
            env=_environment(bench),
            stdout=subprocess.DEVNULL,
        )


def gate_of(server: str) -> dict[str, Any]:
    """Everything that the gate can do, on the tool that is called. Each rule is about something it has to look at."""
    rules = [_rule(number, server) for number in range(50)]
    return {
        "overrides": {
            f"{server}:echo": {
                "description": "Say it again",
                "policy_action": "connector.action",
                "classification": "confidential",
                "required_scopes": ["echo.say"],
            }
        },
        "policy": {"version": "1.0", "defaults": {"fallback": "allow"}, "rules": rules},
        "limits": {"timeout_ms": 30000, "max_output_bytes": 65536, "max_output_lines": 200},
        "levels": {"unmarked": "closed"},
        "redaction": {"keys": ["session_key"]},
        "audit": {"enabled": True},
    }


def _rule(number: int, server: str) -> dict[str, Any]:
    """Ten of them are about the action, and look at the arguments; none of them fits."""
    rule: dict[str, Any] = {"id": f"rule-{number}", "decision": "deny"}
    if number % 5 == 0:
        return {
            **rule,
            "action": "connector.action",
            "when": f"arguments.text.startsWith('forbidden-{number}')",
        }
    if number % 5 == 1:
        return {**rule, "action": "file.*", "when": "risk.exists(t, t == 'delete')"}
    if number % 5 == 2:
        return {**rule, "action": "network.request", "when": f"host.endsWith('.example-{number}.org')"}
    if number % 5 == 3:
        return {**rule, "action": "file.write", "when": "path.startsWith('/etc/')"}
    return {**rule, "action": "*", "tools": [f"{server}:other_{number}_*"]}
