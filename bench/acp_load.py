"""Whether a flood of output, an editor that does not read, many sessions or many prompts slow the agent or fill its memory."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

from bench import workflows
from bench.acp_stub import stub_program, stub_state, workflow
from bench.measuring import Cost, interleaved
from bench.rows import Limits, Row, compared, figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.acp_agents import Agents
    from bench.acp_pipe import Editor, Frame
    from bench.stage import Stage

__all__ = ["floods", "idle_sessions", "many_prompts"]

_DEAF = 5.0  # seconds in which the editor reads nothing
_PEAK = Limits(100, 70, " MB")
_FOLDERS = 5
_THREADS = 100
_STAMP = 19  # digits of a time in nanoseconds


class _Flood(NamedTuple):
    """What one turn put on the wire. `pieces` counts the agent's fragments that arrived."""

    seconds: float
    frames: int
    megabytes: float
    pieces: int
    peak: float


# -- floods ----------------------------------------------------------------------------------------------------------


def floods(stage: Stage, agents: Agents) -> list[Row]:
    deltas, printed = stage.size(20_000), stage.size(100)
    talk = workflow("talk", {"talk": stub_state(stub_program(agents), f"{deltas} 0 0 0")})
    folder = agents.project("flood", {"talk": talk, "print": workflows.one_output(printed)})
    rows: list[Row] = []
    for deaf in (0.0, 1.0 if stage.quick else _DEAF):
        for text, what in (
            ("/print", f"a step prints {printed} MB"),
            ("/talk", f"an agent says {deltas} pieces"),
        ):
            with agents.editor() as editor:
                flood = _flooded(editor, folder, text, deaf)
            if text == "/talk" and flood.pieces != deltas:
                raise RuntimeError(f"{flood.pieces} of {deltas} pieces arrived")
            rows += _flood_rows(f"{what}, unread for {deaf:g} s" if deaf else what, flood, judged=not deaf)
    return [*rows, *_beside_sdk(stage, agents, folder, deltas)]


def _flooded(editor: Editor, folder: str, text: str, deaf: float) -> _Flood:
    session = editor.new_session(folder)
    heard: list[Frame] = []
    began = time.perf_counter()
    number = editor.prompt(session, text)
    time.sleep(deaf)
    editor.answer(number, heard.append)
    seconds = time.perf_counter() - began
    pieces = sum(_pieces(frame) for frame in heard)
    return _Flood(seconds, len(heard), sum(len(frame.line) for frame in heard) / 1e6, pieces, editor.peak())


def _pieces(frame: Frame) -> int:
    if b'"agent_message_chunk"' not in frame.line:
        return 0
    words = frame.message["params"]["update"]["content"]["text"].split()
    return sum(len(word) == _STAMP and word.isdecimal() for word in words)


def _flood_rows(what: str, flood: _Flood, *, judged: bool) -> list[Row]:
    speed = f"{flood.frames / flood.seconds:.0f} frames/s, " if judged else ""
    ours = f"{speed}{flood.frames} frames, {flood.megabytes:.1f} MB in {flood.seconds:.2f} s"
    return [
        figure(what, ours),
        figure("  peak memory", f"{flood.peak:.1f} MB", limits=_PEAK, judged=flood.peak),
    ]


def _beside_sdk(stage: Stage, agents: Agents, folder: str, deltas: int) -> list[Row]:
    """Ours reads them from a program, keeps them and shows them; the SDK agent only makes them up and shows them."""
    if not agents.has_sdk:
        return []
    with agents.editor() as ours, agents.editor(agents.sdk()) as sdk:
        mine, theirs = ours.new_session(folder), sdk.new_session(folder)
        taken = interleaved(
            stage.rounds(3),
            {"ours": lambda: _turn(ours, mine, "/talk"), "sdk": lambda: _turn(sdk, theirs, str(deltas))},
        )
    what = "a piece of text from an agent's program to the editor / an SDK agent's from nowhere, each"
    return [compared(what, taken["ours"], taken["sdk"], per=deltas)]


def _turn(editor: Editor, session: str, text: str) -> Cost:
    cpu, began = editor.cpu(), time.perf_counter()
    editor.answer(editor.prompt(session, text))
    wall = time.perf_counter() - began
    return Cost(wall, editor.cpu() - cpu)


# -- sessions that wait ----------------------------------------------------------------------------------------------


def idle_sessions(stage: Stage, agents: Agents) -> list[Row]:
    """Memory for each session beyond the first of its folder, and what all of them take by doing nothing."""
    count = stage.size(200)
    rows = []
    for files in (3, stage.size(100)):
        texts = {f"w{number}": workflows.SMALL for number in range(files)}
        folders = [agents.project(f"idle-{files}-{number}", texts) for number in range(_FOLDERS)]
        with agents.editor() as editor:
            each, busy = _idle(editor, folders, count, 1.0 if stage.quick else 6.0)
        what = f"{count} sessions in {_FOLDERS} folders of {files} workflows"
        rows += [
            figure(
                f"memory of an idle session, {what}",
                f"{each:.1f} kB",
                limits=Limits(60, 20, " kB"),
                judged=each,
            ),
            figure(
                "  processor while all are idle", f"{busy:.1%}", limits=Limits(0.05, 0.01, ""), judged=busy
            ),
        ]
    return rows


def _idle(editor: Editor, folders: list[str], count: int, seconds: float) -> tuple[float, float]:
    for folder in folders:
        editor.new_session(folder)
    editor.listen_for(1.5)  # both lists of commands
    each = _grown(editor, folders, count)
    cpu, began = editor.cpu(), time.perf_counter()
    editor.listen_for(seconds)
    return each, (editor.cpu() - cpu) / (time.perf_counter() - began)


def _grown(editor: Editor, folders: list[str], count: int) -> float:
    """Kilobytes for each of so many new sessions."""
    before = editor.rss()
    for number in range(count):
        editor.new_session(folders[number % len(folders)])
    editor.listen_for(1.5)
    return (editor.rss() - before) * 1024 / count


# -- prompts, one after another --------------------------------------------------------------------------------------


def many_prompts(stage: Stage, agents: Agents) -> list[Row]:
    """The last tenth of them may take no longer than the first, and no more memory; in one thread or in many."""
    count = stage.size(10_000)
    folder = agents.project("prompts", {"small": workflows.SMALL})
    return [
        *_prompt_rows(agents, folder, count, _THREADS),
        *_prompt_rows(agents, folder, count, 1),
        *_prompts_beside_sdk(stage, agents, folder),
    ]


class _Tenth(NamedTuple):
    """Seconds by the clock for each prompt, and of processor time for one."""

    walls: list[float]
    cpu: float

    def __str__(self) -> str:
        return f"{statistics.median(self.walls) * 1e3:.2f} ms, {self.cpu * 1e3:.2f} ms of processor time"

    @property
    def p95(self) -> str:
        return f"{sorted(self.walls)[int(len(self.walls) * 0.95)] * 1e3:.2f} ms"


def _prompt_rows(agents: Agents, folder: str, count: int, threads: int) -> list[Row]:
    """Judged by processor time: first and last are minutes apart, and so are those who use the machine as well."""
    with agents.editor() as editor:
        sessions = [editor.new_session(folder) for _ in range(threads)]
        editor.listen_for(1.5)
        first, memory = _tenth(editor, sessions, count), editor.rss()
        for _ in range(8):
            _tenth(editor, sessions, count)
        last = _tenth(editor, sessions, count)
        grown = (editor.rss() - memory) * 1024 / (count * 0.9)
    where = "one session" if threads == 1 else f"{threads} sessions"
    what = f"/status, the last tenth of {count} prompts in {where} / the first, each"
    multiple = last.cpu / max(first.cpu, 1e-6)
    noise = f"p95 of the last {last.p95}, of the first {first.p95}"
    return [
        Row(what, str(last), str(first), multiple, Limits(1.5, 1.1), noise=noise),
        figure("  memory for each prompt", f"{grown:.2f} kB", limits=Limits(1, 0.1, " kB"), judged=grown),
    ]


def _tenth(editor: Editor, sessions: list[str], count: int) -> _Tenth:
    walls, cpu, number = [], editor.cpu(), max(1, count // 10)
    for place in range(number):
        began = time.perf_counter()
        editor.answer(editor.prompt(sessions[place % len(sessions)], "/status"))
        walls.append(time.perf_counter() - began)
    return _Tenth(walls, (editor.cpu() - cpu) / number)


def _prompts_beside_sdk(stage: Stage, agents: Agents, folder: str) -> list[Row]:
    if not agents.has_sdk:
        return []
    count = stage.size(200)
    with agents.editor() as ours, agents.editor(agents.sdk()) as sdk:
        mine, theirs = ours.new_session(folder), sdk.new_session(folder)
        ours.listen_for(1.0)

        def asking(editor: Editor, session: str) -> Callable[[], Cost]:
            return lambda: _prompted(editor, session, count)

        taken = interleaved(stage.rounds(5), {"ours": asking(ours, mine), "sdk": asking(sdk, theirs)})
    return [
        compared(
            "/status / an SDK agent's prompt with one piece of text, each",
            taken["ours"],
            taken["sdk"],
            per=count,
        )
    ]


def _prompted(editor: Editor, session: str, count: int) -> Cost:
    cpu, began = editor.cpu(), time.perf_counter()
    for _ in range(count):
        editor.answer(editor.prompt(session, "/status"))
    wall = time.perf_counter() - began
    return Cost(wall, editor.cpu() - cpu)
