"""What only some programs do: tell by their exit status, write a report, write at home when asked for their version."""

from __future__ import annotations

import json
import os

import msgspec
import pytest

from awf.domain.agent import AgentFailure, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.provider import CliAgent

REPORT = 'with open(os.environ["WORLD"] + "/report.json", "w") as stream: stream.write({!r})\n'
ANSWER = 'sys.stdin.read(); emit(type="answer", text="done")\n'


@pytest.fixture
def peculiar(world):
    """The world's program with the peculiarities given, each by its name."""
    stub = world.agent._dialect

    def make(**more):
        dialect = type("Peculiar", (type(stub),), more)()
        world.agent = CliAgent(dialect, lambda: world.runner, world.programs)
        return world

    return make


def explain(self, trouble, exit_code):
    del self
    return msgspec.structs.replace(trouble, retryable=False, hint=f"status {exit_code}")


@pytest.mark.parametrize("body", ["sys.exit(41)", 'emit(type="error", message="said"); sys.exit(41)'])
async def test_a_dialect_may_know_what_an_exit_status_means(peculiar, body):
    world = peculiar(explain=explain)
    world.program(f"sys.stdin.read(); {body}")

    with pytest.raises(AgentFailure) as caught:
        await world.run()

    assert (caught.value.retryable, caught.value.hint) == (False, "status 41")


async def test_a_signal_is_no_exit_status(peculiar):
    world = peculiar(explain=explain)
    world.program("sys.stdin.read(); os.kill(os.getpid(), signal.SIGKILL)")

    with pytest.raises(AgentFailure) as caught:
        await world.run()

    assert caught.value.retryable


def reporting(folder, stub):
    class Reader(type(stub.reader(None))):
        def report(self, before, after):
            yield UsageReport(Usage(after["n"], (before or {}).get("n", 0)))

    def invocation(self, task, prepared):
        made = type(stub).invocation(self, task, prepared)
        return msgspec.structs.replace(made, report_file=os.path.join(folder, "report.json"))

    return {"reader": lambda _self, _task: Reader(), "invocation": invocation}


async def test_a_report_is_read_when_the_program_has_ended_together_with_the_one_before(peculiar, world):
    peculiar(**reporting(world.folder, world.agent._dialect))
    world.program(REPORT.format(json.dumps({"n": 7})) + ANSWER)

    first, second = await world.run(), await world.run()

    assert (first.usage.input_tokens, first.usage.output_tokens) == (7, 0)
    assert (second.usage.input_tokens, second.usage.output_tokens) == (7, 7)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"other": 1}'])
async def test_a_report_that_cannot_be_read_costs_only_the_report(peculiar, world, text):
    peculiar(**reporting(world.folder, world.agent._dialect))
    world.program(REPORT.format(text) + ANSWER)

    reply = await world.run()

    assert reply.text == "done"
    assert reply.usage is None


async def test_a_report_that_is_not_written_is_missed_by_nobody(peculiar, world):
    peculiar(**reporting(world.folder, world.agent._dialect))
    world.program(ANSWER)

    assert (await world.run()).usage is None


async def test_a_program_is_asked_for_its_version_away_from_home(peculiar):
    world = peculiar(home_variable="STUB_HOME")
    world.program(ANSWER, 'open(os.environ["STUB_HOME"] + "/litter", "w").close(); print("1.2.3")')
    world.env["STUB_HOME"] = str(world.folder)

    reply = await world.run()

    assert reply.text == "done"
    assert not (world.folder / "litter").exists()
