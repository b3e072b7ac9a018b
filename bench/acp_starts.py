"""How long an editor waits for its agent: the first answer, and the commands of a folder with many workflows."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bench import workflows
from bench.acp_pipe import first_answer
from bench.measuring import Cost, Series, interleaved
from bench.rows import Limits, Row, compared, within
from bench.stage import BARE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.acp_agents import Agents
    from bench.stage import Stage

__all__ = ["first_answers", "many_workflows"]

_VARIANTS = (workflows.SMALL, workflows.WITH_CONDITION, workflows.WITH_JINJA)
_SC_001 = Limits(1.0, 0.5, " s")
_TOP = 25  # lines of what importing takes


def first_answers(stage: Stage, agents: Agents) -> list[Row]:
    errors = str(stage.folder / "stderr.txt")

    def starting(argv: list[str]) -> Callable[[], Cost]:
        env, cwd = agents.environment(argv), str(stage.folder)
        return lambda: first_answer(argv, env=env, cwd=cwd, errors=errors)

    contestants = {"bare": stage.process(*BARE), "ours": starting(agents.ours())}
    if agents.has_sdk:
        contestants["sdk"] = starting(agents.sdk())
    taken = interleaved(stage.rounds(25), contestants)
    rows = [compared("acp-serve, first answer / bare python", taken["ours"], taken["bare"], Limits(5, 4))]
    if agents.has_sdk:
        rows.append(compared("acp-serve, first answer / agent on the SDK", taken["ours"], taken["sdk"]))
    return [_with_p95(row, taken["ours"]) for row in rows]


def _with_p95(row: Row, ours: Series) -> Row:
    p95 = sorted(ours.walls)[min(len(ours.walls) - 1, int(len(ours.walls) * 0.95))]
    return row._replace(noise=f"{row.noise}; ours p95 {p95 * 1e3:.1f} ms, processor {ours.cpu * 1e3:.0f} ms")


class _Session(NamedTuple):
    """Seconds to the answer, and from the same beginning to the whole list of commands."""

    answer: Cost
    listed: Cost


def many_workflows(stage: Stage, agents: Agents) -> list[Row]:
    count = stage.size(500)
    folder = agents.project("many", {f"group{n % 10}/w{n:03}": _workflow(n) for n in range(count)})
    rounds = stage.rounds(11)
    _sessions(agents, folder, count)  # compiles what it imports
    taken = [_sessions(agents, folder, count) for _ in range(rounds)]
    what = f"session/new with {count} workflow files"
    rows = []
    for place, which in enumerate(("first session of a process", "second session")):
        answers = Series([sessions[place].answer for sessions in taken])
        listed = Series([sessions[place].listed for sessions in taken])
        for end, series in (("the answer", answers), ("the list of all commands", listed)):
            rows.append(_with_p95(within(f"{what}, {which}: to {end}", series, _SC_001), series))
    if agents.has_sdk:
        rows.append(_beside_sdk(stage, agents, folder))
    if stage.profile:
        stage.notes.append(_imports(stage, agents, folder))
    return rows


def _workflow(number: int) -> str:
    return _VARIANTS[number % 3].replace("name: release", f"name: release-{number}")


def _sessions(agents: Agents, folder: str, count: int) -> tuple[_Session, _Session]:
    with agents.editor() as editor:
        made = []
        for _ in range(2):
            cpu, began = editor.cpu(), time.perf_counter()
            since = partial(_since, editor.cpu, cpu, began)
            editor.new_session(folder)
            answer = since()
            editor.commands(count)
            made.append(_Session(answer, since()))
    return made[0], made[1]


def _since(now: Callable[[], float], cpu: float, began: float) -> Cost:
    wall = time.perf_counter() - began
    return Cost(wall, now() - cpu)


def _beside_sdk(stage: Stage, agents: Agents, folder: str) -> Row:
    """The whole way from the start, for the SDK is loaded before the first answer and ours behind it."""

    def opened(argv: list[str]) -> Cost:
        began = time.perf_counter()
        with agents.editor(argv) as editor:
            editor.new_session(folder)
            return _since(editor.cpu, 0.0, began)

    argvs = {"ours": agents.ours(), "sdk": agents.sdk()}
    taken = interleaved(stage.rounds(9), {name: partial(opened, argv) for name, argv in argvs.items()})
    what = "start to the answer to session/new / agent on the SDK, which looks for nothing"
    return compared(what, taken["ours"], taken["sdk"])


def _imports(stage: Stage, agents: Agents, folder: str) -> str:
    """What is imported until the commands are listed, the dearest last."""
    report = stage.folder / "imports.txt"
    argv = [sys.executable, "-X", "importtime", *agents.ours()[1:]]
    hello = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'
    new = f'{{"jsonrpc":"2.0","id":1,"method":"session/new","params":{{"cwd":"{folder}","mcpServers":[]}}}}\n'
    with report.open("wb") as stderr:
        process = subprocess.Popen(
            argv,
            env=stage.environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdout, process.stdin:
            process.stdin.write((hello + new).encode())
            process.stdin.flush()
            while b"available_commands_update" not in process.stdout.readline():
                pass
        process.wait(20)
    lines = [line for line in report.read_text(encoding="utf-8").splitlines() if line.count("|") == 2]
    lines.sort(key=lambda line: int(line.split("|")[1]) if line.split("|")[1].strip().isdecimal() else 0)
    return "\n".join([f"Imports until the commands of {folder} are listed:", *lines[-_TOP:]])
