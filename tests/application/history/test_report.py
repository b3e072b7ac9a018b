from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from awf.application.authoring.diagram.graph import graph_of
from awf.application.authoring.diagram.svg import to_svg
from awf.application.history.report import render_report
from awf.domain import events
from awf.domain.events import (
    AgentText,
    AgentThought,
    AgentTool,
    ApprovalRequired,
    ApprovalResolved,
    InputReceived,
    InputRequired,
    LogLine,
    StepFailed,
    StepOutput,
    StepRetrying,
    StepSkipped,
    StepStarted,
    Warned,
    WorkflowCancelled,
    WorkflowCompleted,
    WorkflowStarted,
)
from awf.domain.ports.run_store import OpenQuestion
from awf.domain.run import ErrorInfo, Session, Usage
from awf.domain.workflow import CommandState, TerminalState, Workflow

HOSTILE = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Checks that elements nest, and collects what is in them."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.texts = [], [], [], [], []
        self.attributes = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def page(recording, status="completed", *, questions=(), diagram_svg="", **fields):
    html = render_report(
        recording.run(status, **fields),
        recording.rows,
        recording.events,
        diagram_svg=diagram_svg,
        questions=questions,
    )
    return Page(html), html


def failing(recording, **step):
    """A command that fails, with the failure of its run."""
    recording.hear(WorkflowStarted(workflow="demo"))
    recording.hear(StepStarted(path="test", step="test", kind="step", detail="make test"))
    error = ErrorInfo(
        "EXECUTION.COMMAND.FAILED", "The command ended with exit code 2.", "Look at it.", "test"
    )
    recording.hear(
        StepFailed(
            path="test",
            step="test",
            kind="step",
            duration_ms=500,
            code=error.code,
            message=error.message,
            exit_code=2,
        )
    )
    recording.keep("test", "failed", **{"exit_code": 2, "stderr": "boom\n", "error": error, **step})
    return {"error": error, "exit_status": 3}


def first_screen(html):
    return html[: html.index("</header>")]


def test_the_first_screen_says_what_failed_where_and_what_to_type(recording):
    _, html = page(recording, "failed", **failing(recording))
    top = Page(first_screen(html)[html.index("<header") :] + "</header>").text
    for words in (
        "Failed", "demo", "The command ended with exit code 2.", "EXECUTION.COMMAND.FAILED", "Look at it.", "It began in test",
        "boom", "awf show run-1 --step test", "awf explain EXECUTION.COMMAND.FAILED", "awf resume run-1",
        "awf rerun run-1 --from test", "Exit status 3",
    ):  # fmt: skip
        assert words in top


def test_a_path_that_the_shell_would_change_is_quoted(recording):
    recording.keep("each[1]/pack", "failed", error=ErrorInfo("X.Y", "no"))
    found, _ = page(recording, "failed", error=ErrorInfo("X.Y", "no"))
    assert "awf show run-1 --step 'each[1]/pack'" in found.text
    assert "awf rerun run-1 --from each" in found.text


def test_a_completed_run_says_what_it_said_at_the_end(recording):
    recording.hear(WorkflowCompleted(workflow="demo", duration_ms=5, message="Everything is published."))
    found, _ = page(recording)
    assert "Completed demo Everything is published." in found.text
    assert "awf rerun run-1" in found.text
    assert "awf resume" not in found.text


def test_a_waiting_run_shows_the_question_and_how_to_answer(recording):
    recording.hear(ApprovalRequired(path="deploy", step="deploy", approval_id="a", message="Deploy?"))
    questions = [
        OpenQuestion("a", "approval", "deploy", "deploy", "Deploy?", recording.now),
        OpenQuestion("i", "input", "talk", "talk", "And now?", recording.now),
    ]
    found, _ = page(recording, "waiting", questions=questions)
    assert "Waiting for you" in found.text
    assert "deploy asks: Deploy?" in found.text
    assert "awf approve run-1 deploy" in found.text
    assert "awf approve run-1 deploy --deny" in found.text
    assert "awf approve run-1 talk --text" in found.text


def test_a_cancelled_run_says_why_and_how_to_go_on(recording):
    recording.hear(WorkflowCancelled(workflow="demo", duration_ms=5, reason="Ctrl+C"))
    found, _ = page(recording, "cancelled")
    assert "It was cancelled: Ctrl+C" in found.text
    assert "awf resume run-1" in found.text


def test_an_interrupted_run_says_where_it_was(recording):
    recording.hear(StepStarted(path="build", step="build", kind="step", detail="make"))
    recording.hear(StepOutput(path="build", step="build", stream="stdout", text="compiling a.c\n"))
    found, _ = page(recording, "interrupted")
    assert "It was at build" in found.text
    assert "not finished" in found.text
    assert "compiling a.c" in found.text


def test_a_running_run_says_where_it_is(recording):
    recording.hear(StepStarted(path="build", step="build", kind="step"))
    found, _ = page(recording, "running")
    assert "It is at build" in found.text
    assert "so far" in found.text
    assert "awf logs -f run-1" in found.text


@pytest.mark.parametrize(
    ("usage", "tokens", "cost"),
    [
        (Usage(1200, 34, 0.5, "reported"), "1,234 (1,200 in, 34 out)", "$0.5000 (reported)"),
        (Usage(1200, None, None), "1,200 (1,200 in, unknown out)", "unknown"),
        (None, "unknown", "unknown"),
    ],
)
def test_what_is_not_known_about_spending_is_called_unknown(recording, usage, tokens, cost):
    recording.hear(StepStarted(path="ask", step="ask", kind="agent", detail="claude")).keep("ask")
    found, html = page(recording, usage=usage)
    top = Page(first_screen(html)[html.index("<header") :] + "</header>").text
    assert f"Tokens {tokens} Cost {cost}" in top
    assert "$0.00" not in found.text


def test_a_run_without_agents_does_not_pretend_that_tokens_are_unknown(recording):
    recording.hear(StepStarted(path="a", step="a", kind="step")).keep("a")
    found, _ = page(recording)
    assert "Agents none" in found.text
    assert "unknown" not in found.text


def test_nothing_that_a_run_says_can_become_markup(recording):
    recording.hear(StepStarted(path=HOSTILE, step=HOSTILE, kind=HOSTILE, detail=HOSTILE, description=HOSTILE))
    recording.hear(AgentText(path=HOSTILE, step="x", text=HOSTILE)).hear(
        AgentThought(path=HOSTILE, step="x", text=HOSTILE)
    )
    recording.hear(
        AgentTool(
            path=HOSTILE,
            step="x",
            call_id="1",
            name=HOSTILE,
            phase="started",
            input={HOSTILE: HOSTILE, "b": [HOSTILE] * 9},
        )
    )
    recording.hear(
        AgentTool(path=HOSTILE, step="x", call_id="1", name=HOSTILE, phase="finished", output=HOSTILE)
    )
    recording.hear(ApprovalRequired(path=HOSTILE, step="x", approval_id="1", message=HOSTILE))
    recording.hear(ApprovalResolved(path=HOSTILE, step="x", approval_id="1", outcome="once", by=HOSTILE))
    recording.hear(InputRequired(path=HOSTILE, step="x", input_id="1", prompt=HOSTILE))
    recording.hear(InputReceived(path=HOSTILE, step="x", input_id="1", text=HOSTILE))
    recording.hear(
        StepRetrying(
            path=HOSTILE, step="x", attempt=2, max_attempts=2, delay_ms=1, code=HOSTILE, message=HOSTILE
        )
    )
    recording.hear(StepSkipped(path="skipped", step="x", kind="step", reason=HOSTILE))
    recording.hear(LogLine(message=HOSTILE, path=HOSTILE)).hear(Warned(message=HOSTILE, code=HOSTILE))
    error = ErrorInfo(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    session = Session(HOSTILE, HOSTILE)
    recording.keep(
        HOSTILE,
        "failed",
        output=HOSTILE,
        stderr=HOSTILE,
        error=error,
        session=session,
        output_file=HOSTILE,
        outputs={HOSTILE: HOSTILE},
    )
    question = OpenQuestion("t", "approval", HOSTILE, HOSTILE, HOSTILE, 1.0)
    found, html = page(
        recording, "failed", workflow=HOSTILE, error=error, inputs={HOSTILE: HOSTILE, "list": [HOSTILE]}, outputs={"o": {"k": HOSTILE}},
        parent=HOSTILE, questions=[question],
    )  # fmt: skip
    assert found.tags.count("script") == 1
    assert found.tags.count("style") == 1
    assert "img" not in found.tags
    assert not [attribute for attribute in found.attributes if attribute[1].startswith("on")]
    assert "<script>alert" not in html
    assert found.text.count("alert(1)") > 20, "it is all there, as text"


def test_the_page_allows_no_other_script_and_loads_nothing(recording):
    _, html = page(recording, "failed", **failing(recording))
    assert "default-src &#x27;none&#x27;" in html
    assert not re.search(r"(?:src|href)=\"(?!#)|@import|url\(", html)


def test_it_is_whole_html_whose_links_lead_somewhere(recording):
    recording.hear(Warned(message="careful", path="test")).hear(
        ApprovalRequired(path="test", step="test", approval_id="1", message="?")
    )
    workflow = Workflow(
        name="demo",
        initial="test",
        states={"test": CommandState(command="x", on_success="done"), "done": TerminalState()},
    )
    found, html = page(
        recording,
        "failed",
        diagram_svg='<?xml version="1.0"?>\n' + to_svg(graph_of(workflow)),
        inputs={"a": 1},
        outputs={"b": "c"},
        **failing(recording),
    )
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert {"Timeline", "Steps", "Approvals", "Inputs and outputs", "Messages", "Diagram"} <= set(found.texts)
    assert "svg" in found.tags
    assert "<?xml" not in html


def test_colours_of_a_terminal_are_taken_out(recording):
    recording.keep("a", output="\x1b[1;32mgreen\x1b[0m and \x1b]0;title\x07plain\n10%\r100%\n")
    found, html = page(recording)
    assert "green and plain 100%" in found.text
    assert "\x1b" not in html


def test_a_long_output_is_cut_and_says_where_the_rest_is(recording):
    lines = "".join(f"line {number}\n" for number in range(50_000))
    recording.keep("a", output=lines, output_file="out/a.txt", truncated=True)
    found, html = page(recording)
    assert "line 0 " in found.text
    assert "line 49999" in found.text
    assert "line 25000 " not in found.text
    assert re.search(r"[\d,]+ characters left out; all of it is in out/a.txt", found.text)
    assert "Only a part of the output was kept here" in found.text
    assert len(html) < 60_000


def test_steps_lie_inside_each_other_and_the_failed_one_is_unfolded(recording):
    recording.hear(StepStarted(path="each", step="each", kind="for_each"))
    recording.keep("each[0]/work").keep(
        "each[1]/work", "failed", exit_code=7, error=ErrorInfo("A.B", "broken")
    )
    recording.keep("each", "failed", error=ErrorInfo("C.D", "an iteration failed"), iterations=2)
    found, html = page(recording, "failed", error=ErrorInfo("C.D", "an iteration failed"))
    steps = re.findall(r'<details id="step-\d+" class="step (\w+)"( open)?><summary>.*?<b>([^<]*)</b>', html)
    assert steps == [
        ("failed", " open", "each"),
        ("success", "", "iteration [0]"),
        ("success", "", "work"),
        ("failed", " open", "iteration [1]"),
        ("failed", " open", "work"),
    ]
    assert "exit 7" in found.text
    assert "It began in each[1]/work : broken" in found.text


def test_attempts_are_told_one_by_one(recording):
    recording.hear(StepStarted(path="get", step="get", kind="step"))
    recording.keep("get", "failed", output="first try", exit_code=6)
    recording.hear(
        StepRetrying(
            path="get", step="get", attempt=2, max_attempts=3, delay_ms=1500, code="A.B", message="It broke."
        )
    )
    recording.keep("get@2", output="second try", attempts=2)
    found, html = page(recording)
    assert "2 attempts" in found.text
    assert "It broke. Attempt 2 of 3 followed after 1.5 s." in found.text
    assert "Attempt 1: failed, exit 6 first try" in found.text
    assert html.count('class="step success"') == 1


def test_a_conversation_with_an_agent_can_be_read(recording):
    recording.hear(StepStarted(path="ask", step="ask", kind="agent", detail="claude"))
    recording.hear(AgentThought(path="ask", step="ask", text="Let me ")).hear(
        AgentThought(path="ask", step="ask", text="think.")
    )
    for word in ("I ", "will ", "look."):
        recording.hear(AgentText(path="ask", step="ask", text=word))
    recording.hear(
        AgentTool(
            path="ask", step="ask", call_id="7", name="Read", phase="started", input={"file_path": "a.py"}
        )
    )
    recording.hear(
        AgentTool(path="ask", step="ask", call_id="7", name="Read", phase="finished", output="x = 1")
    )
    recording.hear(
        AgentTool(path="ask", step="ask", call_id="8", name="Bash", phase="started", input={"command": "ls"})
    )
    recording.hear(AgentText(path="ask", step="ask", text="It is fine."))
    recording.hear(InputRequired(path="ask", step="ask", input_id="1", prompt="ask (/end to finish)"))
    recording.hear(InputReceived(path="ask", step="ask", input_id="1", text="thanks"))
    recording.keep("ask", output="It is fine.", usage=Usage(10, 5, None))
    found, html = page(recording)
    assert "Thought Let me think. Agent I will look." in found.text
    assert '{"file_path":"a.py"} Output x = 1' in found.text
    assert "You thanks" in found.text
    assert found.text.count("It is fine.") == 1, "what the agent said last is its output; once is enough"
    assert html.count('class="tool success"') == 1
    assert html.count('class="tool unfinished"') == 1


def test_approvals_tell_who_answered_and_how(recording):
    for number, (outcome, by) in enumerate(
        [("once", "maria"), ("run", "joe"), ("reject", "ann"), ("timeout", "")]
    ):
        recording.hear(
            ApprovalRequired(
                path=f"s{number}", step="s", approval_id=f"{number}", message=f"Question {number}?"
            )
        )
        recording.hear(
            ApprovalResolved(path=f"s{number}", step="s", approval_id=f"{number}", outcome=outcome, by=by),
            after=3,
        )
    recording.hear(ApprovalRequired(path="s9", step="s", approval_id="9", message="Still open?"))
    _, html = page(recording, "waiting")
    rows = [Page(f"<table>{row}</table>").text for row in re.findall(r"<tr>.*?</tr>", html)]
    assert "s0 Question 0? ✓ approved, once maria" in rows[1]
    assert rows[1].endswith("3.0 s")
    assert "approved for this run joe" in rows[2]
    assert "rejected ann" in rows[3]
    assert "nobody answered in time" in rows[4]
    assert "not answered" in rows[5]


def test_the_timeline_shows_when_each_step_ran(recording):
    recording.keep("a", started_at=recording.now, finished_at=recording.now + 5)
    recording.keep("b", started_at=recording.now + 5, finished_at=recording.now + 20)
    recording.now += 20
    _, html = page(recording)
    assert re.findall(r'class="bar success" style="left:([\d.]+)%;width:([\d.]+)%"', html) == [
        ("0.00", "25.00"),
        ("25.00", "75.00"),
    ]


def test_a_very_long_loop_shows_its_ends_and_its_failures(recording):
    for number in range(1000):
        recording.keep(f"each[{number}]/work", "failed" if number == 500 else "success")
    found, html = page(recording)
    assert "iteration [0]" in found.text
    assert "iteration [999]" in found.text
    assert "iteration [500]" in found.text
    assert "iteration [400]" not in found.text
    assert re.search(r"\d+ more that did not fail are left out", found.text)
    assert len(html) < 700_000


def test_ten_thousand_events_give_a_file_of_reasonable_size(recording):
    for step in range(20):
        path = f"agent{step}"
        recording.hear(StepStarted(path=path, step=path, kind="agent"))
        for number in range(490):
            recording.hear(AgentText(path=path, step=path, text="some words "), after=0.01)
            if number % 50 == 0:
                call = {"path": path, "step": path, "call_id": str(number), "name": "Bash"}
                recording.hear(AgentTool(**call, phase="started", input={"command": "x" * 500}))
                recording.hear(AgentTool(**call, phase="finished", output="line\n" * 5000))
        recording.keep(path)
    assert len(recording.events) > 10_000
    found, html = page(recording)
    assert len(html) < 4_000_000
    assert html.count('class="said agent"') == 20 * 11
    assert f"{len(recording.events):,} events" in found.text


def test_steps_that_only_events_tell_of_are_shown_too(recording):
    failing(recording)
    recording.rows.clear()
    found, _ = page(recording, "failed", error=ErrorInfo("EXECUTION.COMMAND.FAILED", "no"))
    assert "exit 2" in found.text
    assert "500 ms" in found.text


def test_hooks_are_not_taken_for_steps(recording):
    recording.keep("build").keep("build/hooks/post/0").keep("hooks/start/0")
    found, _ = page(recording)
    assert "Steps 1" in found.text
    assert "hooks" not in found.text


def test_a_run_of_which_nothing_is_known_has_a_report(recording):
    found, _ = page(recording, "running")
    assert "Took unknown" in found.text
    assert "No events." in found.text


def test_the_same_run_gives_the_same_bytes(recording):
    arguments = failing(recording)
    assert page(recording, "failed", **arguments)[1] == page(recording, "failed", **arguments)[1]


def test_how_well_an_agent_was_kept_to_its_tools_is_told_and_what_passed_the_proxy(recording):
    about = {"path": "fix", "step": "fix"}
    recording.hear(events.StepStarted(**about, kind="agent", detail="codex"))
    recording.hear(
        events.AgentIsolation(**about, provider="codex", isolation="best_effort", version="0.99.0")
    )
    for call_id, refused in (("1", True), ("2", False)):
        told = {**about, "call_id": call_id, "name": "shell"}
        recording.hear(events.AgentTool(**told, phase="started", bypass=True))
        recording.hear(events.AgentTool(**told, phase="finished", is_error=refused, bypass=not refused))
    recording.hear(events.StepCompleted(**about, kind="agent", duration_ms=1))
    _, html = page(recording.keep("fix"))
    assert "best effort (codex 0.99.0); 1 call of its own tools past the proxy" in html


def test_a_call_that_awf_carried_out_says_so_once(recording):
    about = {"path": "fix", "step": "fix"}
    recording.hear(events.StepStarted(**about, kind="agent", detail="claude"))
    recording.hear(
        events.AgentTool(**about, call_id="a", name="Read", phase="started", input={"file_path": "x"})
    )
    carried = {**about, "call_id": "t", "tool": "Read", "source": "builtin"}
    recording.hear(events.ToolCallStarted(**carried, input={"file_path": "x"}))
    recording.hear(events.ToolCallFinished(**carried, duration_ms=12, output="text"))
    recording.hear(events.AgentTool(**about, call_id="a", name="Read", phase="finished", output="text"))
    recording.hear(events.StepCompleted(**about, kind="agent", duration_ms=1))
    _, html = page(recording.keep("fix"))
    assert html.count("tool through AWF: builtin, 12 ms") == 1
    assert html.count("<b>Read</b>") == 1
