"""An agent with a proxy in the middle of a tool call, stopped in every way there is: nothing of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import pytest

pytestmark = pytest.mark.journey

# The tool call says that it has begun, leaves a process behind in the background, and takes its time.
CALL = "echo begun >> trace; sleep 600 & sleep 600"


@pytest.fixture
def room(journey):
    """A folder for temporary files with a short name: there is room in it for sockets."""
    folder = tempfile.mkdtemp(prefix="awfj-", dir="/tmp")
    journey.environment["TMPDIR"] = folder
    yield folder
    shutil.rmtree(folder)


def proxied(journey, *actions, **state) -> str:
    turn = {"do": list(actions)}
    return journey.workflow(
        "proxied",
        {
            "initial": "work",
            "work": {
                "type": "agent",
                "provider": "scripted",
                "prompt": "Go.",
                "options": {"process": True, "turns": [turn]},
                "mcp_proxy": {"enable": True},
                "on_success": "done",
                **state,
            },
            "done": {"type": "terminal"},
        },
    )


BASH = {"tool": {"name": "Bash", "input": {"command": CALL}}}


def in_the_call(journey, until, file):
    running = journey.start("run", file, "-o", "ndjson")
    until(lambda: journey.trace() == ["begun"], "the tool call")
    assert any("relay.py" in " ".join(one.cmdline()) for one in journey.processes())
    return running


def nothing_left(journey, until, room) -> None:
    until(lambda: journey.processes() == [], "the end of all processes")
    until(lambda: os.listdir(room) == [], "an empty folder of temporary files")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_asked_to_stop_in_a_tool_call(number, journey, until, room):
    running = in_the_call(journey, until, proxied(journey, BASH))
    running.send(number)
    told = running.wait()
    assert told.status == 130, told.stderr
    assert "Traceback" not in told.stderr
    (ended,) = [event for event in told.events() if event["type"] == "tool.call.finished"]
    assert (ended["tool"], ended["cancelled"]) == ("Bash", True)
    nothing_left(journey, until, room)


def test_awf_is_killed_in_a_tool_call(journey, until, room):
    running = in_the_call(journey, until, proxied(journey, BASH))
    assert os.listdir(room) != []
    running.send(signal.SIGKILL)
    assert running.wait().status == -signal.SIGKILL
    nothing_left(journey, until, room)
    assert [run["status"] for run in journey.history()] == ["interrupted"]


def test_the_agent_is_killed_in_a_tool_call(journey, until, room):
    running = in_the_call(journey, until, proxied(journey, BASH))
    (agent,) = [one for one in journey.processes() if "player.py" in " ".join(one.cmdline())]
    agent.send_signal(signal.SIGKILL)
    told = running.wait()
    assert told.status == 3, told.stderr
    (failed,) = [event for event in told.events() if event["type"] == "step.failed"]
    assert failed["code"] == "EXECUTION.AGENT.FAILED"
    nothing_left(journey, until, room)


def test_the_step_runs_out_of_time_in_a_tool_call(journey, until, room):
    running = in_the_call(journey, until, proxied(journey, BASH, timeout="3s"))
    told = running.wait()
    assert told.status == 3, told.stderr
    (failed,) = [event for event in told.events() if event["type"] == "step.failed"]
    assert failed["code"] == "EXECUTION.STEP.TIMEOUT"
    nothing_left(journey, until, room)


def test_the_agent_crashes_between_two_calls(journey, until, room):
    quick = {"tool": {"name": "Bash", "input": {"command": "echo once >> trace"}}}
    told = journey.awf("run", proxied(journey, quick, {"crash": True}), "-o", "ndjson")
    assert told.status == 3, told.stderr
    assert journey.trace() == ["once"]
    nothing_left(journey, until, room)


def test_all_goes_well_and_nothing_is_left_either(journey, until, room):
    journey.write("a.txt", "alpha\n")
    read = {"tool": {"name": "Read", "input": {"file_path": "a.txt"}}}
    told = journey.awf("run", proxied(journey, read, "Done."), "-o", "ndjson").succeeded()
    (finished,) = [event for event in told.events() if event["type"] == "tool.call.finished"]
    assert "alpha" in finished["output"]
    assert (finished["source"], finished["is_error"]) == ("builtin", False)
    nothing_left(journey, until, room)


def test_parallel_steps_each_have_tools_of_their_own(journey, until, room):
    names = [f"work{number}" for number in range(4)]
    states = {"initial": "all", "all": {"type": "parallel", "parallel": names, "on_success": "done"}}
    for name in names:
        turn = {"do": [{"tool": {"name": "Bash", "input": {"command": "pwd > where; echo $AWF_STEP"}}}]}
        states[name] = {
            "type": "agent",
            "provider": "scripted",
            "prompt": "Go.",
            "dir": name,
            "options": {"process": True, "turns": [turn]},
            "mcp_proxy": {"enable": True},
        }
        (journey.project / name).mkdir()
    states["done"] = {"type": "terminal"}
    told = journey.awf("run", journey.workflow("fan", states), "-o", "ndjson").succeeded()
    calls = {e["step"]: e["output"] for e in told.events() if e["type"] == "tool.call.finished"}
    assert {step: output.splitlines()[0] for step, output in calls.items()} == {n: f"all/{n}" for n in names}
    assert all((journey.project / name / "where").exists() for name in names)
    nothing_left(journey, until, room)


def test_a_stand_alone_server_that_is_killed_takes_its_command_with_it(journey, until, room):
    import json
    import subprocess

    server = subprocess.Popen(
        journey.command("mcp-serve"),
        cwd=journey.project,
        env=journey.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    call = {"name": "Bash", "arguments": {"command": CALL}}
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n"
    )
    server.stdin.flush()
    until(lambda: journey.trace() == ["begun"], "the tool call")
    server.kill()
    server.communicate()
    nothing_left(journey, until, room)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "end of input"])
def test_a_stand_alone_server_ends_with_its_command(way, journey, until, room):
    import json
    import subprocess

    server = subprocess.Popen(
        journey.command("mcp-serve"),
        cwd=journey.project,
        env=journey.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    call = {"name": "Bash", "arguments": {"command": CALL}}
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n"
    )
    server.stdin.flush()
    until(lambda: journey.trace() == ["begun"], "the tool call")
    if way == "end of input":
        server.stdin.close()
    else:
        server.send_signal(getattr(signal, way))
    server.wait(60)
    server.stdout.close()
    if way != "end of input":
        server.stdin.close()
    nothing_left(journey, until, room)
