"""Runs told as lists of events, and a small terminal to look at what was drawn."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from awf.domain import events as e
from awf.domain.events import Stamped

RUN = "01J8ZQ5W"
START = 1_000.0


def stamp(*told, start=START, step=0.1):
    """Number the events and give them times. A number between them lets that many seconds pass."""
    stamped, time = [], start
    for item in told:
        if isinstance(item, (int, float)):
            time += item
            continue
        stamped.append(Stamped(RUN, len(stamped) + 1, round(time, 3), item))
        time += step
    return stamped


def started(path, kind="step", **more):
    return e.StepStarted(path=path, step=_name(path), kind=kind, **more)


def completed(path, ms=1200, kind="step", **more):
    return e.StepCompleted(path=path, step=_name(path), kind=kind, duration_ms=ms, **more)


def failed(path, ms=300, kind="step", code="EXECUTION.COMMAND.FAILED", message="exit 2", exit_code=2, **more):
    return e.StepFailed(
        path=path,
        step=_name(path),
        kind=kind,
        duration_ms=ms,
        code=code,
        message=message,
        exit_code=exit_code,
        **more,
    )


def wrote(path, text, stream="stdout"):
    return e.StepOutput(path=path, step=_name(path), stream=stream, text=text)


def said(path, text):
    return e.AgentText(path=path, step=_name(path), text=text)


def tool(path, call_id, name, phase, **more):
    return e.AgentTool(path=path, step=_name(path), call_id=call_id, name=name, phase=phase, **more)


def _name(path):
    return path.rsplit("/", 1)[-1].split("#")[0].split("[")[0]


def success():
    return stamp(
        e.WorkflowStarted(workflow="review", source="review.yaml", version="1.0"),
        started("test", detail="make test"),
        wrote("test", "collected 3 items\n...\n"),
        completed("test", 1200),
        started("fix", "agent", detail="claude"),
        said("fix", "Looking at "),
        said("fix", "the tests.\nDone"),
        tool("fix", "c1", "Read", "started", input={"file_path": "src/x.py"}),
        0.5,
        tool("fix", "c1", "Read", "finished"),
        said("fix", ", I think."),
        completed("fix", 2900, "agent", usage={"input_tokens": 1000, "output_tokens": 234}),
        e.WorkflowCompleted(
            workflow="review",
            duration_ms=4100,
            message="All is well.",
            outputs={"files": 3, "summary": "two\nlines"},
            usage={"input_tokens": 1000, "output_tokens": 234, "cost": 0.0123, "cost_source": "reported"},
        ),
    )


def failure():
    many = "".join(f"line {n}\n" for n in range(1, 31))
    return stamp(
        e.WorkflowStarted(workflow="review"),
        started("test", detail="make test"),
        wrote("test", "1 failed\n"),
        failed("test", 900, exit_code=1, message="exit 1", handled=True),
        started("fix", detail="./fix.sh", description="Mend it"),
        wrote("fix", many),
        wrote("fix", "warning: odd\n", "stderr"),
        e.StepRetrying(
            path="fix",
            step="fix",
            attempt=2,
            max_attempts=3,
            delay_ms=2000,
            code="EXECUTION.COMMAND.FAILED",
            message="exit 2",
        ),
        2,
        started("fix", detail="./fix.sh", attempt=2),
        wrote("fix", many),
        wrote("fix", "no space left", "stderr"),
        failed("fix", 300, attempts=2),
        e.WorkflowFailed(
            workflow="review",
            duration_ms=4100,
            code="EXECUTION.COMMAND.FAILED",
            message="exit 2",
            hint="Free some space.",
            state="fix",
            exit_status=3,
        ),
    )


def approval():
    return stamp(
        e.WorkflowStarted(workflow="review"),
        e.ApprovalRequired(path="fix", step="fix", approval_id="a1", message="Let the agent edit?"),
        e.ApprovalResolved(path="fix", step="fix", approval_id="a1", outcome="run", by="ada"),
        started("fix", "agent", detail="claude"),
        e.InputRequired(path="fix", step="fix", input_id="i1", prompt="Which file?"),
        e.InputReceived(path="fix", step="fix", input_id="i1", text="x.py"),
        completed("fix", 900, "agent"),
        e.ApprovalRequired(path="deploy", step="deploy", approval_id="a2", message="Deploy?", on_deny="skip"),
        e.ApprovalResolved(path="deploy", step="deploy", approval_id="a2", outcome="timeout"),
        e.StepSkipped(path="deploy", step="deploy", kind="step", reason="not approved"),
        e.LogLine(message="See you."),
        e.Warned(message="The cache is cold.", code="SYSTEM.IO.READ_FAILED"),
        e.WorkflowCompleted(workflow="review", duration_ms=1500),
    )


def cancelled():
    return stamp(
        e.WorkflowStarted(workflow="build"),
        started("fan", "parallel", total=2),
        started("fan/lint", detail="ruff check"),
        started("fan/test", detail="pytest"),
        wrote("fan/lint", "checking\n"),
        failed(
            "fan/lint",
            200,
            code="EXECUTION.STEP.CANCELLED",
            message="cancelled",
            exit_code=143,
            cancelled=True,
        ),
        e.WorkflowCancelled(workflow="build", duration_ms=2000, reason="Ctrl+C"),
    )


def called():
    return stamp(
        e.WorkflowStarted(workflow="release"),
        started("call", "call_workflow", detail="checks"),
        e.WorkflowStarted(path="call", workflow="checks"),
        started("call/lint", detail="ruff check"),
        completed("call/lint", 340),
        started("call/deep", "parallel", total=1),
        started("call/deep/unit", detail="pytest"),
        wrote("call/deep/unit", "E  assert 1 == 2\n"),
        failed("call/deep/unit", 700, exit_code=1, message="exit 1"),
        failed("call/deep", 710, "parallel", "EXECUTION.PARALLEL.FAILED", "1 of 1 branches failed", 0),
        e.WorkflowFailed(
            path="call", workflow="checks", duration_ms=1100, code="EXECUTION.PARALLEL.FAILED", message="x"
        ),
        failed("call", 1200, "call_workflow", "EXECUTION.SUBWORKFLOW.FAILED", "checks failed", 0),
        e.WorkflowFailed(
            workflow="release",
            duration_ms=1300,
            code="EXECUTION.SUBWORKFLOW.FAILED",
            message="checks failed",
            state="call",
        ),
    )


def loop():
    turns = [
        item
        for turn in (1, 2)
        for item in (
            started(f"loop[{turn}]/test", detail="make test"),
            wrote(f"loop[{turn}]/test", f"turn {turn}\n"),
            failed(f"loop[{turn}]/test", 100, handled=True)
            if turn == 1
            else completed(f"loop[{turn}]/test", 100),
        )
    ]
    return stamp(
        e.WorkflowResumed(workflow="mend", finished_steps=1),
        started("loop", "while", total=10),
        *turns,
        completed("loop", 400, "while"),
        started("build#2", detail="make"),
        completed("build#2", 62_000),
        started("done", "terminal"),
        completed("done", 0, "terminal"),
        e.WorkflowCompleted(workflow="mend", duration_ms=3_720_000),
    )


def wide(branches=200, finished=180, bad=(7, 90)):
    """A fan of many branches, in full swing."""
    told = [e.WorkflowStarted(workflow="wide"), started("fan", "parallel", total=branches)]
    told += [started(f"fan/b{n}", detail=f"job {n}") for n in range(branches)]
    told += [wrote(f"fan/b{n}", f"working on {n}\n") for n in range(branches)]
    for n in range(finished):
        told.append(failed(f"fan/b{n}", 50) if n in bad else completed(f"fan/b{n}", 40))
    return stamp(*told, step=0.01)


STORIES = {
    "success": success, "failure": failure, "approval": approval, "cancelled": cancelled, "called": called, "loop": loop,
}  # fmt: skip


class Screen:
    """The few control codes that a live region uses."""

    def __init__(self):
        self.rows = [""]
        self.row = self.column = 0

    def feed(self, text):
        for code, count, letter, char in re.findall(r"(\x1b\[\??([0-9;]*)([A-Za-z]))|([^\x1b])", text):
            if char:
                self._put(char)
            elif letter == "A":
                self.row -= int(count or 1)
            elif letter == "K":
                self.rows[self.row] = ""
            else:
                assert letter in "mhl", code
        return self

    def _put(self, char):
        if char == "\n":
            self.row, self.column = self.row + 1, 0
            self.rows += [""] * (self.row + 1 - len(self.rows))
        elif char == "\r":
            self.column = 0
        else:
            row = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = row[: self.column] + char + row[self.column + 1 :]
            self.column += 1

    def text(self):
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n") + "\n"


class Terminal:
    """A console of 100 by 30 that remembers what it would show."""

    def __init__(self, height=30, color_system=None):
        self.file = io.StringIO()
        self.console = Console(
            file=self.file,
            force_terminal=True,
            width=100,
            height=height,
            color_system=color_system,
            _environ={"TERM": "xterm"},
        )

    def screen(self):
        return Screen().feed(self.file.getvalue()).text()


@pytest.fixture
def terminal():
    return Terminal()


@pytest.fixture
def tell():
    """The builders, for tests that tell a run of their own."""

    class Tell:
        pass

    for name in (
        "stamp",
        "started",
        "completed",
        "failed",
        "wrote",
        "said",
        "tool",
        "wide",
        "STORIES",
        "Terminal",
        "RUN",
    ):
        setattr(Tell, name, staticmethod(globals()[name]) if callable(globals()[name]) else globals()[name])
    return Tell
