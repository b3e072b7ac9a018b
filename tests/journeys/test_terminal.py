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


def test_ctrl_c_at_a_question_cancels_and_gives_the_terminal_back(terminal):
    screen = terminal("run", "./gate.yaml", "-i", "where=prod")
    screen.expect("Deploy to production?")
    os.killpg(screen.process.pid, 2)
    screen.expect("awf resume")
    assert screen.process.wait(60) == 130
