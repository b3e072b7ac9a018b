"""The whole gate beside the bare gateway: composition, 50 rules, grants, levels, redaction and the audit on SQLite."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.gateway.contest import contest, pairs
from bench.gateway.targets import Bench, Setting, Target, config_of, door
from bench.gateway.trial import Plan
from bench.gateway.versus_direct import trouble
from bench.rows import Limits, compared, figure, per_second

if TYPE_CHECKING:
    from bench.gateway.contest import Outcome
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["gate_of", "run"]

BACKS = ("http", "stdio")
_P50 = Limits(1.35)
_SPEED = Limits(0.7, at_least=True)


def run(stage: Stage) -> list[Row]:
    bench = Bench(stage)
    plan = Plan(lists=False, warm=1.0)
    plan = plan._replace(seconds=0.05, most=200, warm=0.0) if stage.quick else plan
    _grant(bench)
    rows: list[Row] = []
    for back in BACKS:
        targets = {"bare": bench.ours("http", back), "gated": gated(bench, back)}
        outcomes = contest(bench, targets, plan, stage.rounds(8))
        rows += [*_rows(outcomes["gated"], outcomes["bare"]), *trouble(stage, outcomes)]
    return rows


def _rows(gated: Outcome, bare: Outcome) -> list[Row]:
    what = f"the gate, {gated.target.path}"
    if not (gated.good and bare.good):
        return [figure(what, (bare if gated.good else gated).reason)]
    one = pairs(gated, bare, lambda f: f.one.taken.quantile(0.5))
    many = pairs(gated, bare, lambda f: f.many.each)
    assert one
    assert many
    cpu = [side.median(lambda f: f.many.cpu * 1e6) for side in (gated, bare)]
    return [
        compared(f"{what}: tools/call p50 / the bare gateway's", *one, _P50),
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
