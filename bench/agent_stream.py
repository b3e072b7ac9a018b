"""How long a fragment of an agent's answer takes from its program to whoever watches the run."""

from __future__ import annotations

import asyncio
import json
import stat
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.in_process import new_app
from bench.rows import Limits, Row

if TYPE_CHECKING:
    from bench.stage import Stage

__all__ = ["run"]

_BUDGET = Limits(0.020, 0.005, " s")
_FRAGMENTS_PER_SECOND = 200  # a fast model, or 20 slow ones together
_STARTING = 0.15  # seconds for each program; that many at once take the whole machine for their start
# Speaks as Claude Code does; each fragment is the time at which it was written.
_PROGRAM = f"""#!{sys.executable} -S
import json, sys, time
if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
count, pause, begin = map(float, sys.stdin.read().split())
def say(**event):
    sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()
say(type="system", subtype="init", session_id="s", tools=[], mcp_servers=[])
time.sleep(max(0, begin - time.time()))
for number in range(int(count)):
    time.sleep(pause)
    delta = {{"type": "text_delta", "text": f"{{time.time_ns()}} "}}
    say(type="stream_event", event={{"type": "content_block_delta", "delta": delta}})
say(type="result", subtype="success", is_error=False, session_id="s", result="done", usage={{}})
"""


def run(stage: Stage) -> list[Row]:
    program = Path(stage.write("bin/claude", _PROGRAM))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    rows = []
    for steps in (1, 20):
        file = stage.write(
            f"stream-{steps}.yaml", _workflow(str(program), steps, stage.size(1000) // steps or 1)
        )
        late = sorted(asyncio.run(_delays(stage, file)))
        rows.append(_row(f"fragment → display event, p95, {_count(steps)}", late))
    return rows


def _count(steps: int) -> str:
    return "one step" if steps == 1 else f"{steps} steps at once"


def _row(what: str, late: list[float]) -> Row:
    p95 = late[int(len(late) * 0.95)]
    noise = f"least {late[0] * 1e3:.2f} ms, median {statistics.median(late) * 1e3:.2f} ms, p99 {late[int(len(late) * 0.99)] * 1e3:.2f} ms"
    return Row(what, f"{p95 * 1e3:.1f} ms", limits=_BUDGET, judged=p95, noise=noise)


def _workflow(program: str, steps: int, fragments: int) -> str:
    names = [f"agent{number}" for number in range(steps)]
    agent = {
        "type": "agent",
        "provider": "claude",
        "prompt": f"{fragments} {steps / _FRAGMENTS_PER_SECOND} {time.time() + steps * _STARTING}",
        "options": {"program": program},
        "on_success": "done",
    }
    together = {"type": "parallel", "parallel": names, "max_concurrent": steps, "on_success": "done"}
    states = {"initial": "all", "all": together, **dict.fromkeys(names, agent), "done": {"type": "terminal"}}
    return json.dumps({"name": "stream", "states": states})


async def _delays(stage: Stage, file: str) -> list[float]:
    from awf.domain.events import AgentText

    delays: list[float] = []

    def hear(stamped: Any) -> None:
        if isinstance(stamped.event, AgentText):
            now = time.time_ns()
            delays.extend((now - int(stamp)) / 1e9 for stamp in stamped.event.text.split())

    app = new_app(stage)
    try:
        services = app.run_services(app.nobody())
        program = await app.execution.program(file)
        outcome = await (await app.execution.start(program, {}, services)).execute(hear)
    finally:
        await app.close()
    if outcome.status != "completed":
        raise RuntimeError(f"The run of {file} ended as {outcome.status}: {outcome.error}")
    return delays
