"""How long a fragment of an agent's answer takes from its program to the editor's end of the pipe."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from bench.acp_stub import stub_program, stub_state, workflow
from bench.rows import Limits, Row

if TYPE_CHECKING:
    from bench.acp_agents import Agents
    from bench.acp_pipe import Editor, Frame
    from bench.stage import Stage

__all__ = ["latency"]

_BUDGET = Limits(0.010, 0.003, " s")
_PER_SECOND = 200
_SESSIONS = 5
_STARTING = 0.5  # seconds for each program; that many at once take the whole machine for their start
_INPUTS = {"count": "1", "pause": "0", "begin": "0"}


def latency(stage: Stage, agents: Agents) -> list[Row]:
    prompt = "{{ inputs.count }} {{ inputs.pause }} {{ inputs.begin }} 0"
    state = stub_state(stub_program(agents), prompt)
    folder = agents.project("stream", {"stream": workflow("stream", {"talk": state}, _INPUTS)})
    rows = []
    for sessions, rate in ((1, _PER_SECOND), (_SESSIONS, _PER_SECOND // _SESSIONS), (_SESSIONS, _PER_SECOND)):
        fragments = stage.size(2000) // (1 if rate == _PER_SECOND else _SESSIONS) or 1
        with agents.editor() as editor:
            late = sorted(_delays(editor, folder, sessions, rate, fragments))
        if len(late) != sessions * fragments:
            raise RuntimeError(f"{len(late)} of {sessions * fragments} fragments arrived")
        who = "one session" if sessions == 1 else f"{sessions} sessions at once"
        rows.append(_row(f"fragment → frame, p95, {who}, {rate}/s each", late))
    return rows


def _delays(editor: Editor, folder: str, sessions: int, rate: int, fragments: int) -> list[float]:
    opened = [editor.new_session(folder) for _ in range(sessions)]
    begin = time.time() + 1 + sessions * _STARTING
    asked = [
        editor.prompt(
            session, f"/stream count={fragments} pause={1 / rate} begin={begin + n / rate / sessions}"
        )
        for n, session in enumerate(opened)
    ]
    frames: list[Frame] = []
    for _ in asked:  # whichever turn ends first
        frames += _until_an_answer(editor)
    return [delay for frame in frames for delay in _stamps(frame)]


def _until_an_answer(editor: Editor) -> list[Frame]:
    heard = []
    for frame in editor.frames():
        if b'"stopReason"' in frame.line:
            break
        if b'"agent_message_chunk"' in frame.line:
            heard.append(frame)
    return heard


def _stamps(frame: Frame) -> list[float]:
    update = frame.message["params"]["update"]
    return [
        (frame.arrived - int(word)) / 1e9
        for word in update["content"]["text"].split()
        if len(word) == 19 and word.isdecimal()
    ]


def _row(what: str, late: list[float]) -> Row:
    p95, p99 = (late[int(len(late) * share)] for share in (0.95, 0.99))
    shown = (late[0], statistics.median(late), p99, late[-1])
    names = ("least", "median", "p99", "most")
    noise = ", ".join(f"{name} {value * 1e3:.2f} ms" for name, value in zip(names, shown, strict=True))
    return Row(what, f"{p95 * 1e3:.1f} ms", limits=_BUDGET, judged=p95, noise=noise)
