from __future__ import annotations

import pytest

from awf.domain.events import AgentText, ApprovalRequired, StepCompleted, StepFailed, StepOutput, StepStarted

START = StepStarted(path="build", step="build", kind="step", detail="make")
END = StepCompleted(path="build", step="build", kind="step", duration_ms=5)


def printed(text, path="build"):
    return StepOutput(path=path, step=path, stream="stdout", text=text)


def test_the_first_output_is_shown_at_once_and_more_only_four_times_a_second(play):
    run = play()
    run.tell(START)
    assert len(run.tell(printed("1\n"))) == 1
    for number in range(2, 50):
        assert run.tell(printed(f"{number}\n"), after=0.005) == []

    assert run.projector.next_tick() == pytest.approx(1000.25)
    assert run.tick(0.0) == []
    run.now = 1000.0
    assert len(run.tick(0.25)) == 1
    assert run.screen.text_of("run-1/build").endswith("49\n```")
    assert run.tick(0.25) == []


def test_only_the_last_lines_are_shown_from_the_beginning_of_a_line(play):
    run = play()
    run.tell(START, printed("".join(f"line {number}\n" for number in range(2000))))
    shown = run.screen.text_of("run-1/build")

    assert len(shown) < 2100
    assert shown.startswith("```\n…\nline ")
    assert shown.endswith("line 1999\n```")


def test_colours_and_progress_bars_do_not_reach_an_editor_without_a_terminal(play):
    run = play()
    run.tell(START, printed("\x1b[31mred\x1b[0m\n 10%\r 99%\n"))

    assert run.screen.text_of("run-1/build") == "```\nred\n 99%\n```"


def test_output_held_back_is_in_the_last_update(play):
    run = play()
    run.tell(START, printed("1\n"), printed("2\n"), END)

    assert run.screen.text_of("run-1/build") == "```\n1\n2\n```"
    assert run.projector.next_tick() is None


def test_a_terminal_gets_what_is_new_with_colours_and_both_line_ends(play):
    run = play(terminals=True)
    run.tell(START, printed("\x1b[31mred\x1b[0m\n"))
    run.tell(printed("two\r\n"), printed("three\n"))
    run.tick(0.05)
    run.tell(END)
    terminal = run.screen.terminals["run-1/build"]

    assert terminal["cwd"] == "/project"
    assert terminal["data"] == "\x1b[31mred\x1b[0m\r\ntwo\r\nthree\r\n"
    assert terminal["exit"] == {"terminal_id": "run-1/build", "exit_code": 0, "signal": None}
    assert run.screen.rows["run-1/build"]["content"] == [{"type": "terminal", "terminalId": "run-1/build"}]


def test_a_terminal_is_written_to_at_most_twenty_times_a_second(play):
    run = play(terminals=True)
    run.tell(START)
    updates = [update for _ in range(100) for update in run.tell(printed("x\n"), after=0.01)]

    assert len(updates) <= 21
    run.tell(END)
    assert run.screen.terminals["run-1/build"]["data"] == "x\r\n" * 100


def test_a_flood_of_output_is_cut_and_its_end_is_shown_when_the_command_ends(play):
    run = play(terminals=True)
    run.tell(START)
    for number in range(400):
        run.tell(printed(f"{number:04d}" + "x" * 1995 + "\n"), after=0.1)
    before = len(run.screen.terminals["run-1/build"]["data"])
    run.tell(END)
    data = run.screen.terminals["run-1/build"]["data"]

    assert before < 300_000
    assert "more output follows" in data
    assert "characters left out" in data
    assert "0399xxx" in data[before:]
    assert len(data) - before < 20_000


def test_output_just_over_the_limit_is_not_lost(play):
    run = play(terminals=True)
    text = "".join(f"{number:07d}\n" for number in range(33_000))
    run.tell(START, printed(text), END)
    data = run.screen.terminals["run-1/build"]["data"].replace("\r\n", "\n")

    assert data.count("0032999\n") == 1
    assert "characters left out" not in data


def test_a_failed_command_keeps_its_terminal_and_says_why_beside_it(play):
    run = play(terminals=True)
    wrong = StepFailed(
        path="build", step="build", kind="step", duration_ms=5, code="X", message="exit 2", exit_code=2
    )
    run.tell(START, printed("oops\n"), wrong)
    content = run.screen.rows["run-1/build"]["content"]

    assert content[0] == {"type": "terminal", "terminalId": "run-1/build"}
    assert "exit 2" in content[1]["content"]["text"]
    assert run.screen.terminals["run-1/build"]["exit"]["exit_code"] == 2


def test_a_command_that_goes_on_in_a_later_turn_gets_a_fresh_terminal(play):
    run = play(terminals=True)
    run.tell(START, printed("before\n"))
    run.park()
    run.tell(printed("after\n"), END)

    assert run.screen.terminals["run-1/build"]["data"] == "before\r\n"
    assert run.screen.terminals["run-1/build"]["exit"]["exit_code"] is None
    assert run.screen.terminals["run-1/build~2"]["data"] == "after\r\n"


def test_a_silent_step_gives_a_sign_of_life_every_ten_seconds(play):
    run = play()
    run.tell(StepStarted(path="fan", step="fan", kind="parallel"), START)
    assert run.projector.next_tick() == pytest.approx(1010.0)
    assert run.tick(9.0) == []
    (beat,) = run.tick(1.0)

    assert beat["title"] == "build — make (10s)"
    assert beat["_meta"] == {"awf": {"elapsedMs": 10_000}}
    assert run.tick(5.0) == []
    assert run.tick(65.0)[0]["title"] == "build — make (1m 20s)"
    run.tell(END)
    assert run.screen.rows["run-1/build"]["title"] == "build — make"


def test_a_step_that_prints_again_loses_the_time_from_its_title(play):
    run = play()
    run.tell(START)
    run.tick(10.0)
    run.tell(printed("back\n"))

    assert run.screen.rows["run-1/build"]["title"] == "build — make"


def test_the_step_that_runs_longest_gives_the_sign_of_life(play):
    run = play()
    run.tell(START)
    run.tell(StepStarted(path="late", step="late", kind="step"), after=5.0)

    assert run.tick(10.0)[0]["toolCallId"] == "run-1/build"


def test_nothing_beats_while_only_a_person_is_waited_for(play):
    run = play()
    run.tell(ApprovalRequired(path="deploy", step="deploy", approval_id="approval:deploy", message="Go?"))

    assert run.projector.next_tick() is None
    assert run.tick(60.0) == []


def test_a_clock_that_goes_back_does_not_hold_output(play):
    run = play()
    run.tell(START, printed("1\n"))
    run.now -= 500.0

    assert len(run.tell(printed("2\n"))) == 1


def test_text_of_an_agent_is_never_held_back(play):
    run = play()
    run.tell(StepStarted(path="ask", step="ask", kind="agent"))

    for _ in range(20):
        assert len(run.tell(AgentText(path="ask", step="ask", text="word "))) == 1
