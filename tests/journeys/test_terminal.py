"""At a real terminal: the live view, approvals, missing inputs and a conversation."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.journey

WORKFLOW = """
name: gate
inputs: [{name: where, required: true, description: Where to}]
states:
  initial: build
  build: {type: step, command: "echo compiling", on_success: deploy}
  deploy: {type: step, command: "echo deployed to {{ inputs.where }}", approval: "Deploy to production?", on_success: talk}
  talk: {type: agent, provider: scripted, mode: conversation, prompt: hi, options: {turns: ["Hello, what next?", "As you wish."]}, on_success: done}
  done: {type: terminal, message: "Ended with {{ states.talk.output }}"}
"""


class Terminal:
    """A program at a terminal of its own; `expect` waits until a text has appeared."""

    def __init__(self, arguments, cwd, environment):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            arguments,
            cwd=cwd,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def expect(self, text, seconds=60):
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} did not appear in:\n{self.seen}"
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:  # the terminal was closed
                    assert text in self.seen, self.seen
        self.seen = self.seen[self.seen.index(text) + len(text) :]

    def type(self, line):
        os.write(self.master, line.encode() + b"\n")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(tmp_path):
    (tmp_path / "gate.yaml").write_text(WORKFLOW, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "AWF_STORAGE": str(tmp_path / "store"),
        "LANG": "C.UTF-8",
    }
    opened = []

    def start(*arguments):
        opened.append(Terminal([sys.executable, "-m", "awf", *arguments], tmp_path, environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_a_person_gives_inputs_approves_and_talks(terminal):
    screen = terminal("run", "./gate.yaml")
    screen.expect("Where to")
    screen.type("prod")
    screen.expect("Deploy to production?")
    screen.type("what?")
    screen.expect("Please answer y, a or n")
    screen.type("y")
    screen.expect("Hello, what next?")
    screen.expect("talk>")
    screen.type("do it")
    screen.expect("As you wish.")
    screen.expect("talk>")
    screen.type("/end")
    screen.expect("completed in")
    screen.expect("Ended with As you wish.")
    assert screen.process.wait(60) == 0


def test_a_no_at_the_terminal_ends_the_run_and_says_so(terminal):
    screen = terminal("run", "./gate.yaml", "-i", "where=prod")
    screen.expect("Deploy to production?")
    screen.type("n")
    screen.expect("EXECUTION.APPROVAL.DENIED")
    assert screen.process.wait(60) == 3


HIDING = """
name: hiding
states:
  initial: look
  look: {type: step, command: 'printf "\\342\\200\\256evil\\342\\200\\213"', on_success: ask}
  ask: {type: step, command: "true", approval: "Run {{ states.look.output }}?", on_success: done}
  done: {type: terminal}
"""


def test_what_a_question_hides_is_spelled_out_at_the_terminal(terminal, tmp_path):
    (tmp_path / "hiding.yaml").write_text(HIDING, encoding="utf-8")
    screen = terminal("run", "./hiding.yaml")
    screen.expect("? ask: Run \\u202eevil\\u200b?")
    screen.type("n")
    assert screen.process.wait(60) == 3


TWO = """
name: two
states:
  initial: wait
  wait: {type: step, command: "touch waiting; until [ -e go ]; do sleep 0.05; done", on_success: one}
  one: {type: step, command: "touch one", approval: "Do the first?", on_success: other}
  other: {type: step, command: "touch other", approval: "Do the second?", on_success: done}
  done: {type: terminal}
"""


@pytest.fixture
def two(terminal, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO, encoding="utf-8")
    screen = terminal("run", "./two.yaml")
    deadline = time.monotonic() + 60
    while not (tmp_path / "waiting").exists():
        assert time.monotonic() < deadline, "it does not begin"
        time.sleep(0.02)
    return screen


def test_what_was_typed_before_a_question_is_no_answer_to_it(two, tmp_path):
    two.type("    y")
    two.expect("    y")  # the terminal has it
    (tmp_path / "go").touch()
    two.expect("Do the first?")
    two.type("n")
    two.expect("EXECUTION.APPROVAL.DENIED")
    assert two.process.wait(60) == 3
    assert not (tmp_path / "one").exists()


def test_a_line_that_was_begun_for_one_question_does_not_answer_the_next(two, tmp_path, terminal):
    (tmp_path / "go").touch()
    two.expect("Do the first?")
    two.expect("no: ")
    os.write(two.master, b"y")
    (run,) = [one.name for one in (tmp_path / "store" / "runs").iterdir()]
    assert terminal("approve", run, "one").process.wait(60) == 0
    two.expect("Do the second?")
    two.type("")
    two.expect("meant for the question before")
    two.type("n")
    two.expect("EXECUTION.APPROVAL.DENIED")
    assert two.process.wait(60) == 3
    assert (tmp_path / "one").exists()
    assert not (tmp_path / "other").exists()


def test_ctrl_c_at_a_question_cancels_and_gives_the_terminal_back(terminal):
    screen = terminal("run", "./gate.yaml", "-i", "where=prod")
    screen.expect("Deploy to production?")
    os.killpg(screen.process.pid, 2)
    screen.expect("awf resume")
    assert screen.process.wait(60) == 130
