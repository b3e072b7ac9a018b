"""The whole gate beside the bare gateway: composition, 50 rules, grants, levels, redaction and the audit on SQLite.

And beside a bare gateway that waits for as long as the gate may take: processors that sleep meanwhile may wake up slowly, and
that is then the same for both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.gateway.contest import contest, pairs
from bench.gateway.targets import PROGRAMS, Bench, Setting, Target, config_of, door
from bench.gateway.trial import Plan
from bench.gateway.versus_direct import trouble
from bench.rows import Limits, compared, figure, per_second

if TYPE_CHECKING:
    from bench.gateway.contest import Outcome
    from bench.gateway.trial import Figures
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
    plan = Plan(lists=False, warm=1.0, seconds=0.6, most=30_000)  # the audit is merged twice a second
    plan = plan._replace(seconds=0.05, most=200, warm=0.0) if stage.quick else plan
    _grant(bench)
    rows: list[Row] = []
    for back in BACKS:
        targets = {"bare": bench.ours("http", back), "gated": gated(bench, back)}
        calm = contest(bench, {"bare": targets["bare"]}, plan, stage.rounds(4))["bare"]
        if calm.good:
            targets["waiting"] = waiting(bench, back, _MORE * min(map(_p50, calm.good)))
        outcomes = contest(bench, targets, plan, stage.rounds(12))
        rows += [*_rows(**outcomes), *trouble(stage, outcomes)]
    return rows


def _p50(figures: Figures) -> float:
    return figures.one.taken.quantile(0.5)


def _rows(gated: Outcome, bare: Outcome, waiting: Outcome | None = None) -> list[Row]:
    what = f"the gate, {gated.target.path}"
    if waiting is None or not (gated.good and bare.good and waiting.good):
        failed = next((one for one in (bare, gated, waiting) if one is not None and not one.good), bare)
        return [figure(what, failed.reason)]
    one, no_more = pairs(gated, bare, _p50), pairs(gated, waiting, _p50)
    many = pairs(gated, bare, lambda f: f.many.each)
    assert one
    assert no_more
    assert many
    cpu = [side.median(lambda f: f.many.cpu * 1e6) for side in (gated, bare)]
    return [
        compared(f"{what}: tools/call p50 / the bare gateway's", *one, _P50),
        compared("  the same / a bare gateway's that waits for 35 % of that", *no_more, _NO_MORE),
        per_second("  calls at 32 at once / the bare gateway's", *many, _SPEED),
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
