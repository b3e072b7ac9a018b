"""Servers that do not start as they should: their tools are missing with a reason, and everybody else is served."""

from __future__ import annotations

import json
import os
import signal

import pytest


@pytest.fixture
def beside(opened, stage):
    """A gateway with the given server and a good one beside it."""

    def open_with(bad, *, settled=True):
        return opened({"mcpServers": {"bad": bad, "good": stage.villain()}}, settled=settled)

    return open_with


def is_failed(house, *words):
    bad = house.client.servers()["bad"]
    assert bad["state"] == "failed"
    for word in words:
        assert word in bad["detail"]
        assert word in house.said
    house.is_well()
    assert house.client.get("/readyz").status == 200  # one is enough to be of use


def test_a_command_that_is_missing_is_told_and_the_others_serve(beside):
    is_failed(beside({"command": "no-such-program-anywhere"}), "no-such-program-anywhere")


def test_a_command_that_is_not_executable_is_told(beside, journey):
    journey.write("plain.txt", "not a program")
    is_failed(beside({"command": str(journey.project / "plain.txt")}), "plain.txt")


def test_a_command_that_is_a_directory_is_told(beside, journey):
    is_failed(beside({"command": str(journey.project)}), str(journey.project))


def test_a_command_with_its_arguments_in_one_text_is_told_how_to_write_it(beside):
    house = beside({"command": "python3 -m something"})
    is_failed(house, "python3 -m something")
    assert "rest under `args`" in house.said


def test_a_working_directory_that_is_missing_is_told(beside, stage):
    is_failed(beside(stage.villain(cwd="/no/such/folder")), "/no/such/folder")


def test_a_server_that_ends_at_once_is_quoted(beside, stage):
    is_failed(beside(stage.villain("dies")), "exit status 3", "cannot go on")


def test_a_server_that_never_answers_is_given_up_after_its_timeout(beside, stage):
    is_failed(beside(stage.villain("mute", timeout="1s")), "did not answer within 1 s")


def test_a_server_that_never_reads_is_given_up_after_its_timeout(beside, stage):
    is_failed(beside(stage.villain("deaf", timeout="1s")), "did not answer within 1 s")


def test_a_program_that_is_no_server_at_all_is_told(beside):
    is_failed(beside({"command": "cat", "timeout": "2s"}))


def test_a_server_whose_list_never_ends_is_told(beside, stage):
    is_failed(beside(stage.villain("endless")), "does not end")


def test_lines_that_are_no_messages_are_logged_a_few_times_and_skipped(beside, stage):
    house = beside(stage.villain("chatty"))
    assert "bad__echo" in house.client.tools()
    house.is_well("bad__echo")
    assert 1 <= house.said.count("printed a line that is not a message") <= 5


def test_a_slow_server_joins_when_it_is_ready_and_nobody_waits_for_it_after_the_first_look(
    beside, stage, journey
):
    house = beside(stage.villain("waits", str(journey.project / "go")), settled=False)
    assert house.client.get("/healthz").status == 200
    assert house.client.get("/readyz").status == 503
    journey.touch("go")
    stage.until(lambda: "bad__echo" in house.client.tools(), "the slow one")
    house.is_well("bad__echo")
    house.is_well("good__echo")


def test_a_server_that_could_not_start_is_tried_again_and_comes_back(beside, stage, journey):
    """Its program appears later, as after an installation."""
    program = journey.project / "late"
    house = beside({"command": str(program)})
    assert house.client.servers()["bad"]["state"] == "failed"
    text = f"#!/bin/sh\nexec {stage.sys.executable} -S -E {stage.VILLAIN}\n"
    journey.write("late.new", text)
    (journey.project / "late.new").chmod(0o755)
    os.replace(journey.project / "late.new", program)
    stage.until(lambda: "bad__echo" in house.client.tools(), "its second life")
    house.is_well("bad__echo")


def test_the_tools_of_a_failed_server_are_not_called_but_their_absence_is_explained(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain("plain"), "good": stage.villain(tools=["fail"])}})
    broken = {"bad": {"command": "no-such-program"}, "good": stage.villain(tools=["fail"])}
    house.configure({"mcpServers": broken})
    house.until_said("the configuration was taken over")
    answer = house.client.call("echo", {"text": "x"})
    assert answer.error["code"] == -32602
    assert "echo" in answer.error["message"]


def test_when_every_server_fails_the_gateway_says_so_and_stays(opened, stage):
    house = opened({"mcpServers": {"one": stage.villain("dies"), "two": {"command": "no-such-program"}}})
    assert house.client.get("/readyz").status == 503
    assert house.client.get("/readyz").json() == {
        "ready": False,
        "servers": {"one": "failed", "two": "failed"},
    }
    assert house.client.tools() == []
    assert house.client.session().request("tools/list").result["tools"] == []


def test_a_server_that_dies_again_and_again_is_not_started_without_end(opened, stage):
    """It is tried again, with growing pauses; the journal counts the starts."""
    house = opened({"mcpServers": {"bad": stage.villain("dies"), "good": stage.villain()}})
    stage.until(lambda: sum(line.startswith("started") for line in house.noted) >= 3, "a second try")
    before = len(house.noted)
    for _ in range(200):
        answer = house.client.call("bad__echo", {"text": "x"})
        assert "result" not in answer.last or answer.result["isError"] is True
    assert len(house.noted) - before < 10  # whoever asks in a loop does not start it in a loop
    house.is_well()


def test_the_end_of_the_gateway_does_not_wait_for_servers_that_never_answer(journey, stage):
    """Asked to stop in the middle of the first look, it stops then, and not when the look is over."""
    house = stage.House(journey, {"mcpServers": {"bad": stage.villain("mute")}}, settled=False)
    stage.until(house.villains, "the server's process")
    house.stop()
    assert not stage.SETTLED.search(house.said), house.said
    assert "is not available" not in house.said


def test_killing_the_gateway_ends_its_servers_too(journey, stage):
    house = stage.House(
        journey, {"mcpServers": {"a": stage.villain(), "b": stage.villain("deaf")}}, settled=False
    )
    stage.until(lambda: len(house.villains()) == 2, "both processes")
    house.running.send(signal.SIGKILL)
    house.running.process.wait(stage.PATIENCE)
    stage.until(lambda: not journey.processes(), "the end of all processes")


@pytest.mark.parametrize("way", ["tools", "call"])
def test_a_look_from_the_shell_reports_the_failed_server_and_ends(journey, stage, way):
    config = {"mcpServers": {"bad": stage.villain("dies"), "good": stage.villain()}}
    name = journey.write("gateway.json", json.dumps(config))
    more = () if way == "tools" else ("echo", '{"text": "hello"}')
    told = journey.awf("gateway", way, "--config", name, *more)
    assert "Traceback" not in told.stderr
    if way == "tools":
        assert told.status == 3
        assert "bad  failed" in told.stdout
        assert "cannot go on" in told.stdout
    else:
        assert (told.status, told.stdout) == (0, "hello\n")
