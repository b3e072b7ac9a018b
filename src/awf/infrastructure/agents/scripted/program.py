"""Play a turn in a program of its own and hear what it tells."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure
from awf.domain.notation import parse_duration
from awf.domain.ports.command_runner import Command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from awf.domain.agent import AgentRequest
    from awf.domain.ports.command_runner import CommandRunner
    from awf.infrastructure.agents.scripted.script import Action

__all__ = ["play_in_program"]

_PLAYER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "player.py")
_STDERR_KEPT = 2000


async def play_in_program(
    runner: CommandRunner, request: AgentRequest, actions: Sequence[Action]
) -> AsyncIterator[dict[str, Any]]:
    """What the program tells, as it tells it. Raises `AgentFailure` when it ends badly."""
    endpoint = await request.tools.endpoint() if request.tools is not None else None
    task = {
        "endpoint": list(endpoint.command) if endpoint else [],
        "actions": [{"kind": one.kind, "value": _plain(one)} for one in actions],
    }
    command = Command(argv=(sys.executable, "-I", "-S", _PLAYER), cwd=request.cwd, env=request.env)
    said = bytearray()

    def on_stderr(chunk: bytes) -> None:
        said.extend(chunk)
        del said[:-_STDERR_KEPT]

    async with runner.start(command, with_stdin=True) as program:
        await program.write(json.dumps(task).encode())
        program.close_stdin()
        async for line in program.lines(on_stderr):
            yield json.loads(line)
        outcome = await program.wait()
    if outcome.exit_code:
        last = said.decode(errors="replace").strip().splitlines()
        detail = f": {last[-1]}" if last else ""
        raise AgentFailure(f"The agent program ended with exit code {outcome.exit_code}{detail}")
    if request.tools is not None and not request.tools.used:
        raise AgentFailure("The agent program never asked for its tools.", retryable=False)


def _plain(action: Action) -> Any:
    return (parse_duration(action.value) or 0.0) if action.kind == "wait" else action.value
