"""Tool calls inside a step. However an agent tells of a call, it is one row."""

from __future__ import annotations

import pytest

from awf.domain.events import AgentTool, StepCompleted, StepStarted, ToolCallFinished, ToolCallStarted

START = StepStarted(path="ask", step="ask", kind="agent", detail="claude")
END = StepCompleted(path="ask", step="ask", kind="agent", duration_ms=5)
# Under which name each provider tells of our tool Read. Providers already take their prefix off where they know it.
NAMES = {
    "claude": "mcp__awf-proxy__Read",
    "gemini": "mcp_awf-proxy_Read",
    "codex": "awf-proxy.Read",
    "opencode": "awf-proxy_Read",
    "github_copilot": "awf-proxy-Read",
    "openai_compatible": "Read",
}


def told(phase, name="Read", call_id="c1", **rest):
    return AgentTool(path="ask", step="ask", call_id=call_id, name=name, phase=phase, **rest)


def begun(call_id="tool-1", tool="Read", **rest):
    return ToolCallStarted(path="ask", step="ask", call_id=call_id, tool=tool, source="builtin", **rest)


def finished(call_id="tool-1", tool="Read", **rest):
    return ToolCallFinished(
        path="ask", step="ask", call_id=call_id, tool=tool, source="builtin", duration_ms=3, **rest
    )


def calls(run):
    return {row_id: row for row_id, row in run.screen.rows.items() if row_id != "run-1/ask"}


GIVEN = {"file_path": "src/app.py"}
ORDERS = {
    "told first": [
        told("started", input=GIVEN), begun(input=GIVEN), finished(output="x = 1"), told("finished", output="x"),
    ],
    "carried out first": [
        begun(input=GIVEN), told("started", input=GIVEN), finished(output="x = 1"), told("finished", output="x"),
    ],
    "told when all is over": [
        begun(input=GIVEN), finished(output="x = 1"), told("started", input=GIVEN), told("finished", output="x"),
    ],
    "only its end is told": [begun(input=GIVEN), finished(output="x = 1"), told("finished", output="x")],
    "the agent gives up early": [
        told("started", input=GIVEN), begun(input=GIVEN), told("finished", output="?"), finished(output="x = 1"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("provider", NAMES)
def test_a_call_through_awf_is_one_row_however_it_is_told(play, order, provider):
    run = play()
    events = [
        AgentTool(**{**_fields(one), "name": NAMES[provider]}) if isinstance(one, AgentTool) else one
        for one in ORDERS[order]
    ]
    run.tell(START, *events, END)

    ((_, row),) = calls(run).items()
    assert row["title"] == "Read src/app.py"
    assert row["kind"] == "read"
    assert row["status"] == "completed"
    assert row["_meta"]["awf"] == {"parentToolCallId": "run-1/ask", "source": "builtin"}
    assert row["rawOutput"]["output"] == "x = 1"
    assert row["locations"] == [{"path": "/project/src/app.py"}]


def _fields(event):
    return {name: getattr(event, name) for name in event.__struct_fields__}


def test_calls_of_one_tool_side_by_side_are_paired_by_what_they_are_given(play):
    run = play()
    run.tell(START, *(told("started", call_id=f"c{n}", input={"path": f"/{n}"}) for n in (1, 2, 3)))
    run.tell(*(begun(f"tool-{n}", input={"path": f"/{n}"}) for n in (3, 1, 2)))
    run.tell(*(finished(f"tool-{n}", output=f"text {n}") for n in (2, 3, 1)))

    shown = {row["title"]: row["rawOutput"]["output"] for row in calls(run).values()}
    assert shown == {"Read /1": "text 1", "Read /2": "text 2", "Read /3": "text 3"}


def test_a_call_of_a_tool_of_the_agents_own_is_never_taken_for_ours(play):
    run = play()
    run.tell(START, begun(input=GIVEN), finished(output="x"))
    run.tell(told("started", input=GIVEN, bypass=True), told("finished", output="y", bypass=True))

    assert len(calls(run)) == 2
    assert [row["_meta"]["awf"].get("bypass") for row in calls(run).values()] == [None, True]


def test_an_end_that_nobody_saw_begin_opens_a_row_first(play):
    run = play()
    run.tell(
        START, told("finished", "WebFetch", "w1", output="page"), finished("tool-9", "Bash", output="ok")
    )

    assert [row["status"] for row in calls(run).values()] == ["completed", "completed"]
    assert list(calls(run)) == ["run-1/ask/w1", "run-1/ask/tool-9"]


def test_calls_without_an_id_get_one_and_end_in_the_order_they_began(play):
    run = play()
    run.tell(START, told("started", call_id="", input={"path": "/1"}))
    run.tell(told("started", call_id="", input={"path": "/2"}))
    run.tell(told("finished", call_id="", output="one"), told("finished", call_id="", output="two"))

    assert list(calls(run)) == ["run-1/ask/call-1", "run-1/ask/call-2"]
    assert [row["rawOutput"]["output"] for row in calls(run).values()] == ["one", "two"]


def test_an_id_that_is_used_again_means_another_call(play):
    run = play()
    for text in ("one", "two"):
        run.tell(*([START] if text == "one" else []), told("started"), told("finished", output=text))

    assert list(calls(run)) == ["run-1/ask/c1", "run-1/ask/c1.2"]
    assert [row["rawOutput"]["output"] for row in calls(run).values()] == ["one", "two"]


def test_a_beginning_that_is_told_twice_brings_the_input_with_it(play):
    run = play()
    run.tell(START, told("started"), told("started", input=GIVEN))

    ((_, row),) = calls(run).items()
    assert row["title"] == "Read src/app.py"
    assert row["rawInput"] == GIVEN


@pytest.mark.parametrize(
    ("name", "given", "title", "kind"),
    [
        ("Read", {"file_path": "/project/src/app.py", "offset": 40}, "Read src/app.py", "read"),
        ("read_file", {"absolute_path": "/etc/hosts"}, "read_file /etc/hosts", "read"),
        ("Write", {"file_path": "a.txt", "content": "x"}, "Write a.txt", "edit"),
        (
            "apply_patch",
            {"changes": [{"path": "a.py"}, {"path": "b.py"}]},
            "apply_patch a.py and 1 more",
            "edit",
        ),
        ("apply_patch", {"input": "*** Begin Patch"}, "apply_patch *** Begin Patch", "edit"),
        ("Bash", {"command": "make test\nmake lint"}, "Bash: make test", "execute"),
        ("shell", {"command": ["make", "test"]}, "shell: make test", "execute"),
        ("run_shell_command", {"command": "ls"}, "run_shell_command: ls", "execute"),
        ("Grep", {"pattern": "TODO", "path": "src"}, "Grep TODO", "search"),
        ("Glob", {"pattern": "**/*.py"}, "Glob **/*.py", "search"),
        ("web_search", {"query": "lilies"}, "web_search lilies", "search"),
        ("WebFetch", {"url": "https://x.test", "prompt": "p"}, "WebFetch https://x.test", "fetch"),
        ("issues_list", {"state": "open", "limit": 5}, 'issues_list {"state": "open", "limit": 5}', "other"),
        ("ping", {}, "ping", "other"),
        ("", {}, "tool", "other"),
    ],
)
def test_a_title_says_what_is_done(play, name, given, title, kind):
    run = play()
    run.tell(START, told("started", name, input=given))

    ((_, row),) = calls(run).items()
    assert (row["title"], row["kind"]) == (title, kind)


def test_a_place_in_a_file_has_a_line_and_a_search_has_no_place(play):
    run = play()
    run.tell(START, told("started", input={"file_path": "../x/app.py", "offset": 40}))
    run.tell(told("started", "Grep", "c2", input={"pattern": "x", "path": "src"}))
    run.tell(told("started", "apply_patch", "c3", input={"changes": [{"path": "a.py"}, {"path": "b.py"}]}))

    reading, searching, patching = calls(run).values()
    assert reading["locations"] == [{"path": "/x/app.py", "line": 40}]
    assert "locations" not in searching
    assert patching["locations"] == [{"path": "/project/a.py"}, {"path": "/project/b.py"}]


def test_writes_and_edits_show_what_they_change(play):
    run = play()
    edit = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    many = {
        "file_path": "a.py",
        "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": ""}],
    }
    run.tell(START, told("started", "Write", "c1", input={"file_path": "/project/n.py", "content": "x\n"}))
    run.tell(told("started", "Edit", "c2", input=edit), told("started", "MultiEdit", "c3", input=many))
    run.tell(told("finished", "Write", "c1", output="Created n.py"))
    shown = [row["content"] for row in calls(run).values()]

    assert shown[0] == [{"type": "diff", "path": "/project/n.py", "newText": "x\n"}]
    assert shown[1] == [{"type": "diff", "path": "/project/a.py", "oldText": "1", "newText": "2"}]
    assert [(one["oldText"], one["newText"]) for one in shown[2]] == [("1", "2"), ("3", "")]


def test_a_failed_edit_shows_the_reason_instead_of_a_change(play):
    run = play()
    edit = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    run.tell(START, begun(tool="Edit", input=edit))
    run.tell(finished(tool="Edit", is_error=True, error="EXECUTION_FAILED", output="1 is not in a.py"))

    ((row_id, row),) = calls(run).items()
    assert row["status"] == "failed"
    assert run.screen.text_of(row_id) == "```\n1 is not in a.py\n```"
    assert row["rawOutput"]["error"] == "EXECUTION_FAILED"


def test_a_cancelled_call_says_so(play):
    run = play()
    run.tell(
        START, begun(tool="Bash"), finished(tool="Bash", is_error=True, error="CANCELLED", cancelled=True)
    )

    ((_, row),) = calls(run).items()
    assert row["status"] == "failed"
    assert row["_meta"]["awf"]["cancelled"] is True


def test_a_call_that_never_came_back_is_closed_with_its_step(play):
    run = play()
    run.tell(START, told("started"), END)

    assert run.screen.open() == []
    assert calls(run)["run-1/ask/c1"]["status"] == "failed"


def test_huge_inputs_and_outputs_do_not_make_huge_updates(play):
    run = play()
    given = {"file_path": "big.txt", "content": "x" * 3_000_000, "list": [["deep"] * 3] * 3}
    updates = run.tell(
        START, begun(tool="Write", input=given), finished(tool="Write", output="y" * 3_000_000)
    )

    assert max(len(str(update)) for update in updates) < 300_000


def test_a_step_with_many_thousand_calls_does_not_remember_them_all(play):
    run = play()
    run.tell(START)
    projector = run.projector
    for number in range(3000):
        run.tell(told("started", call_id=f"c{number}"), begun(f"t{number}"), finished(f"t{number}"))
        run.tell(told("finished", call_id=f"c{number}"))
    (step,) = projector._stage.book

    assert len(step.calls._told) <= 513
    assert len(step.calls._carried) <= 513
    assert len(calls(run)) == 3000
