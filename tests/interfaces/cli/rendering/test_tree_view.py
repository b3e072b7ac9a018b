from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console

from awf.domain import events as e
from awf.interfaces.cli.rendering.tree_view import TreeView


@pytest.fixture
def view(terminal):
    tree = TreeView(terminal.console, auto_refresh=False, clock=lambda: 1010.0)
    yield tree
    tree.close()


def hear(view, told):
    for stamped in told:
        view.on_event(stamped)
    view.refresh()


def test_below_the_step_in_work_is_what_it_is_doing_now(view, terminal, tell):
    told = tell.STORIES["success"]()
    hear(view, told[:3])
    assert terminal.screen() == "run 01J8ZQ5W review\n▶ test  make test  9s\n    ...\n"
    hear(view, told[3:6])
    assert terminal.screen() == "run 01J8ZQ5W review\n✓ test  1.2s\n▶ fix  claude  9s\n    Looking at\n"
    hear(view, told[6:8])
    assert terminal.screen().endswith("▶ fix  claude  9s\n    Read src/x.py\n")


def test_a_wide_fan_shows_failures_some_in_work_and_a_count_of_the_rest(view, terminal, tell):
    hear(view, tell.wide(200, 180))
    assert terminal.screen().splitlines() == [
        "run 01J8ZQ5W wide",
        "▶ fan  180 of 200  9s",
        "  ✗ b7  50ms  exit 2  EXECUTION.COMMAND.FAILED",
        "      | working on 7",
        "  ✗ b90  50ms  exit 2  EXECUTION.COMMAND.FAILED",
        "      | working on 90",
        *(f"  ▶ b{n}  8s  working on {n}" for n in range(180, 188)),
        "  ✓ b179  40ms",
        "  … and 189 more (177 ✓, 12 running)",
    ]


def test_branches_that_have_not_begun_are_still_to_come(view, terminal, tell):
    hear(
        view,
        tell.stamp(
            tell.started("fan", "parallel", total=5), tell.started("fan/a"), tell.completed("fan/a", 10)
        ),
    )
    assert terminal.screen().splitlines() == [
        "▶ fan  1 of 5  10s",
        "  ✓ a  10ms",
        "  … and 4 more (4 to come)",
    ]


@pytest.mark.parametrize("height", [6, 10, 24])
def test_the_region_fits_the_terminal(tell, height):
    terminal = tell.Terminal(height=height)
    view = TreeView(terminal.console, auto_refresh=False, clock=lambda: 1010.0)
    hear(view, tell.wide(200, 180))
    rows = terminal.screen().splitlines()[1:]
    assert len(rows) <= height - 2
    assert rows[-1].startswith("  … and ")
    view.close()


def test_a_loop_tells_which_turn_it_is_in(view, terminal, tell):
    hear(view, tell.STORIES["loop"]()[:6])
    assert terminal.screen().splitlines() == [
        "run 01J8ZQ5W mend  resumed after 1 finished step",
        "▶ loop  iteration 3 of 10  9s",
        "  ✗ [1]/test  100ms  exit 2  EXECUTION.COMMAND.FAILED",
        "      | turn 1",
        "  ▶ [2]/test  9s  make test",
    ]


def test_a_retry_says_why(view, terminal, tell):
    hear(view, tell.STORIES["failure"]()[4:8])
    assert terminal.screen() == "↻ fix  ./fix.sh  9s\n    attempt 2 of 3: exit 2\n"


def test_a_question_deep_down_is_seen(view, terminal, tell):
    hear(
        view,
        tell.stamp(
            tell.started("call", "call_workflow", detail="checks"),
            tell.started("call/fan", "parallel"),
            e.ApprovalRequired(path="call/fan/ship", step="ship", approval_id="1", message="Ship it?"),
        ),
    )
    assert terminal.screen().splitlines() == [
        "? call  checks  10s",
        "    fan/ship  waiting for you: Ship it?",
        "  ▶ fan  9s",
    ]


def test_a_pause_leaves_a_clean_terminal_and_the_rest_comes_afterwards(view, terminal, tell):
    told = tell.STORIES["success"]()
    hear(view, told[:3])
    view.pause()
    assert terminal.screen() == "run 01J8ZQ5W review\n"
    terminal.file.write("May I? yes\n")
    hear(view, told[3:6])
    assert terminal.screen() == "run 01J8ZQ5W review\nMay I? yes\n"
    view.resume()
    assert terminal.screen() == (
        "run 01J8ZQ5W review\nMay I? yes\n✓ test  1.2s\n▶ fix  claude  9s\n    Looking at\n"
    )


def test_pausing_twice_and_closing_twice_do_no_harm(view, terminal, tell):
    hear(view, tell.STORIES["success"]()[:3])
    view.pause()
    view.pause()
    view.resume()
    view.close()
    before = terminal.screen()
    view.close()
    view.refresh()
    assert terminal.screen() == before


def test_a_view_that_is_closed_early_leaves_what_was_in_work(view, terminal, tell):
    hear(view, tell.STORIES["success"]()[:3])
    view.close()
    assert terminal.screen() == "run 01J8ZQ5W review\n▶ test  make test  9s\n    ...\n"
    assert terminal.file.getvalue().rfind("\x1b[?25h") > terminal.file.getvalue().rfind("\x1b[?25l")


def test_a_long_line_is_cut_in_the_region_and_whole_above_it(view, terminal, tell):
    long = "x" * 300
    hear(view, tell.stamp(tell.started("a"), tell.wrote("a", long)))
    assert terminal.screen().splitlines()[1] == "    " + "x" * 95 + "…"
    hear(view, tell.stamp(tell.failed("a", code="X.Y.Z", message=long)))
    assert f"✗ a     {long}  300ms  X.Y.Z" in terminal.screen()


def test_ten_thousand_steps_leave_nothing_behind(view, terminal, tell):
    told = [e.WorkflowStarted(workflow="w")]
    for n in range(10_000):
        told += [tell.started(f"s{n}"), tell.completed(f"s{n}", 1)]
    hear(view, tell.stamp(*told))
    assert not view._model.steps
    assert not view._inbox
    assert not view._above
    assert terminal.screen().count("✓ s") == 10_000


def test_many_failures_in_one_fan_are_summed_up(view, terminal, tell):
    told = [tell.started("fan", "parallel", total=50)]
    for n in range(50):
        told += [tell.started(f"fan/b{n}"), tell.wrote(f"fan/b{n}", f"bad {n}\n"), tell.failed(f"fan/b{n}")]
    told.append(
        tell.failed("fan", 900, "parallel", "EXECUTION.PARALLEL.FAILED", "50 of 50 branches failed", 0)
    )
    hear(view, tell.stamp(*told))
    lines = terminal.screen().splitlines()
    assert lines[0] == "✗ fan   50 of 50 branches failed  900ms  EXECUTION.PARALLEL.FAILED  50 ✗"
    assert lines[1:3] == ["  ✗ fan/b0  exit 2  300ms  EXECUTION.COMMAND.FAILED", "    fan/b0 | bad 0"]
    assert lines[-1] == "  … and 45 more failures"
    assert len(lines) == 12


def test_escape_sequences_and_markup_of_a_program_are_not_obeyed(view, terminal, tell):
    hear(view, tell.stamp(tell.started("a"), tell.wrote("a", "\x1b[2J[bold]x[/bold]\x1b]0;t\x07 :smile:")))
    assert terminal.screen().splitlines()[1] == "    [bold]x[/bold] :smile:"
    assert "\x1b[2J" not in terminal.file.getvalue()


def test_colors_are_those_of_the_console(tell):
    colorful = tell.Terminal(color_system="standard")
    view = TreeView(colorful.console, auto_refresh=False)
    hear(view, tell.stamp(tell.completed("a"), tell.failed("b")))
    view.close()
    assert "\x1b[32m✓\x1b[0m a" in colorful.file.getvalue()
    assert "\x1b[31m✗\x1b[0m b" in colorful.file.getvalue()


def test_a_poor_terminal_gets_plain_signs(tell):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    console = Console(
        file=file, force_terminal=True, width=100, height=30, color_system=None, _environ={"TERM": "xterm"}
    )
    view = TreeView(console, auto_refresh=False)
    hear(view, tell.stamp(tell.started("a"), tell.wrote("a", "é…"), tell.completed("a", 10)))
    view.close()
    assert "+ a     10ms" in raw.getvalue().decode("ascii")


class Gone(io.StringIO):
    gone = False

    def write(self, text):
        if self.gone:
            raise OSError(5, "Input/output error")
        return super().write(text)


def test_a_terminal_that_went_away_does_not_end_the_run(tell):
    file = Gone()
    console = Console(file=file, force_terminal=True, width=100, height=30, _environ={"TERM": "xterm"})
    view = TreeView(console, auto_refresh=False)
    told = tell.STORIES["success"]()
    hear(view, told[:3])
    file.gone = True
    hear(view, told[3:])
    view.pause()
    view.resume()
    view.close()


def test_the_answer_comes_after_the_region_is_gone(view, terminal, tell):
    answer = io.StringIO()
    tree = TreeView(terminal.console, auto_refresh=False, answer=answer)
    hear(tree, tell.STORIES["success"]())
    assert answer.getvalue() == ""
    tree.close()
    assert answer.getvalue().startswith("All is well.\n")
    assert "All is well" not in terminal.screen()


class Stuck(io.StringIO):
    """A terminal whose reader has stopped it."""

    def __init__(self):
        super().__init__()
        self.stuck, self.go_on = threading.Event(), threading.Event()

    def write(self, text):
        self.stuck.set()
        assert self.go_on.wait(60)
        return super().write(text)


def test_a_stopped_terminal_stops_neither_the_run_nor_fills_the_memory(tell):
    file = Stuck()
    view = TreeView(Console(file=file, force_terminal=True, width=100, height=30, _environ={"TERM": "xterm"}))
    view.on_event(tell.stamp(tell.started("a"))[0])
    assert file.stuck.wait(60)
    piece = tell.stamp(tell.wrote("a", "x\n"))[0]
    for _ in range(20_000):
        view.on_event(piece)
    waiting = len(view._inbox)
    file.go_on.set()
    view.close()
    assert waiting <= 5_001
    assert not view._inbox


def test_the_view_draws_by_itself(tell):
    class Watched(io.StringIO):
        drawn = threading.Event()

        def write(self, text):
            if "make test" in text:
                self.drawn.set()
            return super().write(text)

    file = Watched()
    view = TreeView(Console(file=file, force_terminal=True, width=100, height=30, _environ={"TERM": "xterm"}))
    for stamped in tell.STORIES["success"]()[:2]:
        view.on_event(stamped)
    assert file.drawn.wait(60)
    thread = view._thread
    view.close()
    assert not thread.is_alive()
