"""A stand-in for an agent's program, and workflows around it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.acp_agents import Agents

__all__ = ["stub_program", "stub_state", "workflow"]

# Speaks as Claude Code does. Its prompt: how many fragments, seconds between them, when to begin, whether to ignore
# SIGTERM. Each fragment is the time at which it was written.
_PROGRAM = """\
import json, signal, sys, time
if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
count, pause, begin, stubborn = map(float, sys.stdin.read().split()[:4])
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(**event):
    sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()
say(type="system", subtype="init", session_id="s", tools=[], mcp_servers=[])
due = max(begin, time.time())
for number in range(int(count)):
    due += pause
    if pause:
        time.sleep(max(0, due - time.time()))
    delta = {"type": "text_delta", "text": f"{time.time_ns()} "}
    say(type="stream_event", event={"type": "content_block_delta", "delta": delta})
say(type="result", subtype="success", is_error=False, session_id="s", result="done", usage={})
"""


def stub_program(agents: Agents) -> str:
    return agents.program("claude", _PROGRAM)


def stub_state(program: str, prompt: str) -> dict[str, Any]:
    options = {"program": program}
    return {"type": "agent", "provider": "claude", "prompt": prompt, "options": options, "on_success": "done"}


def workflow(
    name: str, states: Mapping[str, Mapping[str, Any]], inputs: Mapping[str, str] | None = None
) -> str:
    """As JSON, which is YAML. The first state is the initial one; `done` is added."""
    declared = [{"name": key, "default": value} for key, value in (inputs or {}).items()]
    whole = {"initial": next(iter(states)), **states, "done": {"type": "terminal"}}
    return json.dumps({"name": name, "inputs": declared, "states": whole})
