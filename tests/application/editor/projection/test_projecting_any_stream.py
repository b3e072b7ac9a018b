"""Whatever a run tells, in whatever order: the editor is never shown nonsense, and nothing stays open."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain import events as ev

PATHS = (
    "build",
    "fan",
    "fan/a",
    "fan/b",
    "fan@2/a",
    "loop",
    "loop[0]/t",
    "loop[1]/t",
    "call",
    "call/chat",
    "chat",
)
KINDS = {
    "fan": "parallel",
    "loop": "while",
    "call": "call_workflow",
    "fan/b": "agent",
    "call/chat": "agent",
    "chat": "agent",
}
TOOLS = ("Read", "mcp__awf-proxy__Read", "Write", "Bash", "awf-proxy_Grep", "")
IDS = ("", "c1", "c2", "tool-1")
TEXT = st.text(max_size=20) | st.sampled_from(["```\nx", "\x1b[31mred\n", "line\n" * 50, "\ud800", "\r\n"])
INPUT = st.dictionaries(st.sampled_from(["file_path", "content", "command", "pattern", "offset"]), TEXT | st.integers() | st.none(), max_size=3)  # fmt: skip


def at(path):
    return {"path": path, "step": path.rpartition("/")[2].partition("[")[0]}


def kind(path):
    return KINDS.get(path, "step")


def _one_of_each(path):
    here, kinded = st.fixed_dictionaries({k: st.just(v) for k, v in at(path).items()}), kind(path)

    def event(cls, **fields):
        return st.tuples(here, st.fixed_dictionaries(fields)).map(lambda both: cls(**both[0], **both[1]))

    flag, count = st.booleans(), st.integers(0, 3)
    ids, approvals = st.sampled_from(IDS), st.sampled_from([f"approval:{path}", f"approval:{path}/tool-1"])
    carried = {
        "call_id": st.sampled_from(IDS[1:]),
        "tool": st.sampled_from(TOOLS),
        "source": st.just("builtin"),
    }
    ends = {"kind": st.just(kinded), "duration_ms": st.just(5), "exit_code": count, "output": TEXT}
    return st.one_of(
        event(ev.StepStarted, kind=st.just(kinded), attempt=st.integers(1, 2), detail=TEXT),
        event(ev.StepCompleted, **ends),
        event(ev.StepFailed, **ends, code=st.just("X"), message=TEXT, cancelled=flag, handled=flag),
        event(ev.StepRetrying, attempt=st.just(2), max_attempts=st.just(2), delay_ms=st.just(5), code=st.just("X"), message=TEXT),
        event(ev.StepSkipped, kind=st.just(kinded), reason=st.sampled_from(["not approved", "other"])),
        event(ev.StepOutput, stream=st.just("stdout"), text=TEXT),
        event(ev.AgentThought, text=TEXT),
        event(ev.AgentTool, call_id=ids, name=st.sampled_from(TOOLS), phase=st.sampled_from(["started", "finished"]), input=INPUT, output=TEXT, is_error=flag, bypass=flag),
        event(ev.ToolCallStarted, **carried, input=INPUT),
        event(ev.ToolCallFinished, **carried, duration_ms=st.just(1), is_error=flag, output=TEXT, cancelled=flag),
        event(ev.ApprovalRequired, approval_id=approvals, message=TEXT),
        event(ev.ApprovalResolved, approval_id=approvals, outcome=st.sampled_from(["once", "run", "reject", "timeout"])),
        event(ev.InputRequired, input_id=st.just(f"input:{path}/turn-1")),
        event(ev.InputReceived, input_id=st.just(f"input:{path}/turn-1"), text=st.sampled_from(["x", "/end"])),
        event(ev.AgentUsage, input_tokens=st.integers(0, 9), context_window=st.none() | st.integers(0, 9)),
        event(ev.AgentIsolation, provider=st.just("claude"), isolation=st.just("none")),
    )  # fmt: skip


SPEECH = st.sampled_from(PATHS).map(lambda path: ("say", path))
RUN = st.sampled_from(
    [
        ev.WorkflowStarted(workflow="w"), ev.WorkflowResumed(workflow="w"), ev.WorkflowCompleted(path="call", workflow="w", duration_ms=1),
        ev.Warned(message="careful"), ev.Warned(path="chat", message="m", code="USER.MCP_PROXY.UNSUPPORTED_PROVIDER"),
        ev.LogLine(message="noted"), ev.PluginEvent(plugin="p", name="n"),
    ]
)  # fmt: skip
END = st.sampled_from(
    [
        ev.WorkflowCompleted(workflow="w", duration_ms=1, message="done"),
        ev.WorkflowFailed(workflow="w", duration_ms=1, code="X", message="no"),
        ev.WorkflowCancelled(workflow="w", duration_ms=1),
    ]
)
TURN = st.sampled_from(["tick", "park", "close"]).map(lambda name: (name, ""))
MOMENTS = st.one_of(*map(_one_of_each, PATHS), SPEECH, SPEECH, RUN, END, TURN)
OVER = (ev.StepCompleted, ev.StepFailed, ev.StepSkipped)
ALL_OVER = (ev.WorkflowCompleted, ev.WorkflowFailed, ev.WorkflowCancelled)


@settings(max_examples=250, deadline=None)
@given(st.lists(MOMENTS, max_size=60), st.booleans())
def test_any_stream_of_events_is_shown_soundly_and_leaves_nothing_open(play_any, moments, terminals):
    run = play_any(terminals=terminals)
    spoken = []
    for number, moment in enumerate(moments):
        if not isinstance(moment, tuple):
            run.tell(moment, after=0.1)
            continue
        name, path = moment
        if name == "say":
            text = f"<{number}>"
            before = run.projector._stage.book.has_ended(path)
            run.tell(ev.AgentText(**at(path), text=text), after=0.1)
            spoken += [] if before else [text]
        elif name == "tick":
            run.tick(3.0)
        else:
            getattr(run, name)()
    run.close()

    assert run.close() == []
    assert run.tick(60.0) == []
    everything = "".join(run.screen.messages.values())
    assert all(everything.count(text) == 1 for text in spoken)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(*map(_one_of_each, PATHS)), max_size=40))
def test_the_next_tick_is_never_missed_and_always_leads_somewhere(play_any, moments):
    run = play_any()
    for moment in moments:
        run.tell(moment, after=0.01)
        due = run.projector.next_tick()
        assert due is None or math.isfinite(due)
    for _ in range(6):
        due = run.projector.next_tick()
        if due is None:
            assert run.tick(100.0) == []
            return
        run.now = max(run.now, due)
        run.tick(0.0)
        later = run.projector.next_tick()
        assert later is None or later > due
