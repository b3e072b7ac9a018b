"""How long an editor waits for its prompt after it cancelled it, and what stays behind."""

from __future__ import annotations

import random
import statistics
import time
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import psutil

from bench.acp_stub import stub_program, stub_state, workflow
from bench.rows import Limits, Row, figure

if TYPE_CHECKING:
    from bench.acp_agents import Agents
    from bench.acp_pipe import Editor
    from bench.stage import Stage

__all__ = ["cancelling"]

_MARK = "AWF_BENCH_MARK"  # every process below the agent inherits it, also one that left its group
_OBEDIENT, _STUBBORN = Limits(1.0, 0.3, " s"), Limits(6.0, None, " s")
_SETTLED = 5  # turns after which everything is loaded
_IGNORE = "trap '' TERM; while :; do sleep 1; done"
_PATIENCE = 10.0  # seconds for the last process to go
_FOREVER = "1000000 0.02 0"


class _Left(NamedTuple):
    """What the agent has after some turns."""

    memory: float
    descriptors: int


def cancelling(stage: Stage, agents: Agents) -> list[Row]:
    program = stub_program(agents)
    workflows = {"work": _work(program), "stubborn": _stubborn(program)}
    folder = agents.project("cancel", workflows)
    mark = uuid4().hex
    chance = random.Random(5)  # the same moments every time
    moments = [chance.uniform(0, 2) for _ in range(2 if stage.quick else 50)]
    late = [chance.uniform(1, 2) for _ in range(1 if stage.quick else 5)]
    with agents.editor(more={_MARK: mark}) as editor:
        session = editor.new_session(folder)
        settled, taken = _Left(0, 0), []
        for turn, moment in enumerate(moments, 1):
            taken.append(_cancelled(editor, session, "/work", moment))
            if turn == _SETTLED:
                settled = _left(editor)
        after = _left(editor)
        stubborn = [_cancelled(editor, session, "/stubborn", moment, mark) for moment in late]
        orphans = _gone(mark, editor.process.pid)
        idle = _left(editor)
    orphans += _gone(mark, 0)
    return [
        _row(f"cancel → answer, p95 of {len(taken)} at random moments", taken, _OBEDIENT),
        _row(f"cancel → answer, most of {len(late)}, children ignore SIGTERM", stubborn, _STUBBORN, 1.0),
        figure("  processes left", str(orphans), limits=Limits(0, 0, ""), judged=orphans),
        *_growth(settled, after, len(moments)),
        figure("  after the stubborn ones: memory, descriptors", f"{idle.memory:.1f} MB, {idle.descriptors}"),
    ]


def _work(program: str) -> str:
    """Short commands one by one, then everything at once, for longer than anyone waits."""
    short = {"type": "step", "command": "sleep 0.05"}
    each = {"type": "for_each", "items": list(range(10)), "body": ["short"], "on_complete": "all"}
    parallel = {"type": "parallel", "parallel": ["plain", "nested", "agent"], "on_success": "done"}
    return workflow(
        "work",
        {
            "each": each,
            "short": short,
            "all": parallel,
            "plain": {"type": "step", "command": "sleep 60"},
            "nested": {"type": "step", "command": "sleep 60 & sleep 60 & (sleep 60; true) & wait"},
            "agent": stub_state(program, f"{_FOREVER} 0"),
        },
    )


def _stubborn(program: str) -> str:
    parallel = {"type": "parallel", "parallel": ["command", "agent"], "on_success": "done"}
    return workflow(
        "stubborn",
        {
            "all": parallel,
            "command": {"type": "step", "command": _IGNORE},
            "agent": stub_state(program, f"{_FOREVER} 1"),
        },
    )


def _cancelled(editor: Editor, session: str, text: str, moment: float, mark: str = "") -> float:
    """Seconds from the cancellation to the answer. Frames are read meanwhile, as editors do.

    With a mark, processes must carry it by then: else nobody could tell whether one was left.
    """
    number = editor.prompt(session, text)
    editor.listen_for(moment)
    if mark and not _marked(mark, editor.process.pid):
        raise RuntimeError(f"nothing that {text} starts carries {_MARK}")
    began = time.perf_counter()
    editor.cancel(session)
    answer = editor.answer(number)
    taken = time.perf_counter() - began
    if answer.message["result"]["stopReason"] != "cancelled":
        raise RuntimeError(f"not cancelled: {answer.line[:500]!r}")
    return taken


def _left(editor: Editor) -> _Left:
    return _Left(editor.rss(), editor.descriptors())


def _gone(mark: str, agent: int) -> int:
    """How many of its processes are still there when there was time enough to end."""
    deadline = time.monotonic() + _PATIENCE
    while (left := _marked(mark, agent)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _marked(mark: str, agent: int) -> int:
    found = 0
    for process in psutil.process_iter():
        try:
            found += process.pid != agent and process.environ().get(_MARK) == mark
        except psutil.Error:
            continue
    return found


def _row(what: str, taken: list[float], limits: Limits, share: float = 0.95) -> Row:
    ordered = sorted(taken)
    judged = ordered[min(len(ordered) - 1, int(len(ordered) * share))]
    noise = f"least {ordered[0]:.3f} s, median {statistics.median(ordered):.3f} s, most {ordered[-1]:.3f} s"
    return Row(what, f"{judged:.3f} s", limits=limits, judged=judged, noise=noise)


def _growth(settled: _Left, after: _Left, turns: int) -> list[Row]:
    if turns <= _SETTLED:
        return []
    what = f"after {turns} cancelled turns / after {_SETTLED}"
    grown = after.memory - settled.memory
    more = after.descriptors - settled.descriptors
    return [
        figure(
            f"  memory {what}",
            f"{after.memory:.1f} MB",
            f"{settled.memory:.1f} MB",
            Limits(4, 1, " MB"),
            grown,
        ),
        figure(
            f"  descriptors {what}",
            str(after.descriptors),
            str(settled.descriptors),
            Limits(0, None, ""),
            more,
        ),
    ]
