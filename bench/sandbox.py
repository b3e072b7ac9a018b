"""What a sandbox costs a call of Bash: each wall and profile beside the same call without one."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from bench.in_process import in_loop
from bench.measuring import interleaved
from bench.rows import compared

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.sandbox import Sandbox
    from awf.infrastructure.processes import ProcessRunner
    from bench.measuring import Cost
    from bench.rows import Row
    from bench.stage import Stage

    Wall = Callable[[ProcessRunner], Sandbox]

__all__ = ["run"]

_PROFILES = ("restricted", "workspace")
_COMMANDS = {"true": "true", "ls -l of /usr/bin": "ls -l /usr/bin > /dev/null"}


def run(stage: Stage) -> list[Row]:
    count, walls = stage.size(500) // 25 or 5, _walls()
    if not walls:
        stage.notes.append("sandbox: this machine can build no wall")
        return []
    rows = []
    for what, command in _COMMANDS.items():
        contestants = {"plain": _calls(stage, count, command)}
        for name, wall in walls.items():
            for profile in _PROFILES:
                contestants[f"{name}, {profile}"] = _calls(stage, count, command, wall, profile)
        taken = interleaved(stage.rounds(7), contestants)
        rows += [
            compared(f"Bash: {what}, {name} / without a sandbox", series, taken["plain"], per=count)
            for name, series in taken.items()
            if name != "plain"
        ]
    return rows


def _walls() -> dict[str, Wall]:
    from awf.infrastructure.sandboxes.bubblewrap import Bubblewrap
    from awf.infrastructure.sandboxes.cgroups import Cells
    from awf.infrastructure.sandboxes.choosing import bubblewrap_program
    from awf.infrastructure.sandboxes.kernel import landlock_interface
    from awf.infrastructure.sandboxes.landlock import Landlock

    found: dict[str, Wall] = {}
    program, _ = bubblewrap_program(os.environ)
    cells, interface = Cells(), landlock_interface()
    atexit.register(cells.close)
    if program:
        found["bubblewrap"] = lambda runner: Bubblewrap(program, cells, runner.scratch)
    if interface:
        found["landlock"] = lambda runner: Landlock(interface, cells, runner.scratch)
    return found


def _calls(
    stage: Stage, count: int, command: str, wall: Wall | None = None, profile: str = ""
) -> Callable[[], Cost]:
    from awf.domain.ports.sandbox import Grounds
    from awf.domain.sandbox import BUILT_IN
    from awf.domain.tool import CallContext
    from awf.infrastructure.builtin_tools import BuiltinTools
    from awf.infrastructure.processes import ProcessRunner
    from awf.infrastructure.sandboxes import ConfinedRunner

    root = stage.folder / "home"

    async def work() -> None:
        runner = ProcessRunner()
        shell: CommandRunner = runner
        if wall is not None:
            shell = ConfinedRunner(runner, wall(runner), BUILT_IN[profile], Grounds(root=str(root)))
        environment = stage.environment
        tools = BuiltinTools(str(root), runner, environment=environment, spool=runner.scratch, shell=shell)
        try:
            for _ in range(count):
                told = await tools.call_tool("Bash", {"command": command}, CallContext(call_id="1"))
                assert not told.is_error, told.text
        finally:
            await runner.close()

    return lambda: in_loop(work)
