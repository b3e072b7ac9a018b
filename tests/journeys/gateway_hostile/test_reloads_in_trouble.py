"""The configuration changes while the gateway serves, and the change is a bad one."""

from __future__ import annotations

import json
import os
import signal

import pytest

from awf.bootstrap import App


def _bomb():
    """A few lines that stand for a billion values."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{depth}: &a{depth} [{', '.join([f'*a{depth - 1}'] * 9)}]" for depth in range(1, 10)]
    return "\n".join([*lines, ""])


BOMB = _bomb()


@pytest.fixture
def house(opened, stage):
    return opened({"mcpServers": {"bad": stage.villain()}})


def refused(house, *words):
    house.until_said("the configuration was not taken over; the last one stays")
    for word in words:
        assert word in house.said, house.said
    assert "Traceback" not in house.said
    house.is_well()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("   \n\n", []),
        ("{", ["gateway.yaml:"]),
        ("mcpServers: [", ["gateway.yaml:"]),
        ("mcpServers: 5\n", ["gateway.yaml:1:"]),
        ("[]\n", ["gateway.yaml"]),
        ("mcpServers: {}\n", ["no server"]),
        ("mcpServers:\n  a: {comand: x}\n", ["gateway.yaml:2:", "did you mean"]),
        ("mcpServers:\n  a: {command: x}\n  a: {command: y}\n", ["gateway.yaml:3:"]),
        (b"\xff\xfe\x00\x01 not text", ["gateway.yaml"]),
        (b"\x00" * 1000, ["gateway.yaml"]),
        (BOMB, ["gateway.yaml"]),
        ("mcpServers: {a: {command: !!python/object/apply:os.system [echo]}}\n", ["gateway.yaml:1:"]),
        ("mcpServers:\n  a: {command: x, env: {K: '${env:NOT_SET_ANYWHERE}'}}\n", ["NOT_SET_ANYWHERE"]),
        ("mcpServers:\n  a: {command: x, env: {K: '${file:/no/such/file}'}}\n", ["/no/such/file"]),
        ("[" * 20_000, ["gateway.yaml"]),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_a_file_that_became_nonsense_is_refused_and_the_last_one_stays(house, text, words):
    house.configure(text)
    refused(house, *words)


def test_an_override_that_does_not_fit_is_refused_on_reload_and_leaves_no_process(house, stage):
    config = {
        "mcpServers": {"bad": stage.villain(), "new": stage.villain()},
        "overrides": {"new:ecko": {"rename": "x"}},
    }
    house.configure(config)
    refused(house, "gateway.yaml:1:", "echo")
    stage.until(lambda: len(house.villains()) == 1, "the end of the process that is not needed")


def test_keys_that_are_not_there_are_refused_on_reload_and_nothing_is_exchanged(house, stage):
    before = house.client.tools()
    oauth = {"issuer": "https://id.example.org", "audience": "http://gateway", "jwks_file": "gone.json"}
    house.configure({"mcpServers": {"new": stage.villain(tools=["echo"])}, "listen": {"oauth": oauth}})
    refused(house, "gone.json")
    assert (house.client.tools(), list(house.client.servers())) == (before, ["bad"])


def test_what_changes_while_servers_are_still_awaited_is_taken_over(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain(), "slow": stage.villain("deaf")}}, settled=False)
    house.configure({"mcpServers": {"bad": stage.villain(tools=["echo"])}})
    house.until_said("the configuration was taken over: 1 tools")
    assert house.client.tools() == ["echo"]


def test_a_file_that_is_gone_changes_nothing_until_it_is_asked_for(house):
    house.config.unlink()
    house.is_well()
    house.reload()
    refused(house, "gateway.yaml")


def test_a_folder_in_its_place_is_refused(house):
    house.config.unlink()
    house.config.mkdir()
    house.reload()
    refused(house, "gateway.yaml")
    house.config.rmdir()


def test_a_pipe_in_its_place_does_not_hang_the_gateway(house):
    house.config.unlink()
    os.mkfifo(house.config)
    house.reload()
    refused(house, "gateway.yaml")
    house.config.unlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_file_that_may_not_be_read_is_refused(house):
    house.config.chmod(0)
    house.reload()
    refused(house, "gateway.yaml")


def test_a_link_that_leads_to_itself_is_refused(house):
    house.config.unlink()
    house.config.symlink_to(house.config)
    house.reload()
    refused(house, "gateway.yaml")


def test_after_a_bad_file_a_good_one_is_taken_over(house, stage):
    house.configure("{")
    refused(house)
    house.configure({"mcpServers": {"bad": stage.villain(tools=["echo"])}})
    house.until_said("the configuration was taken over: 1 tools")
    assert house.client.tools() == ["echo"]
    text = house.client.get("/metrics").body.decode()
    assert 'reloads_total{outcome="error"} 1' in text
    assert 'reloads_total{outcome="ok"} 1' in text


def test_a_reload_during_a_call_does_not_end_it(house, stage):
    session = house.client.session(capabilities={"elicitation": {}})
    ask = {"name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": "?"}}}
    with session.begun("tools/call", ask) as stream:
        stream.until(b"elicitation/create")
        house.configure({"mcpServers": {"bad": stage.villain(tools=["echo", "ask"], timeout="50s")}})
        house.until_said("the configuration was taken over")
        assert (
            session.post({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {}}}).status
            == 202
        )
        stream.until(b"accept")
        stream.rest()
    house.is_well()
    assert session.delete().status == 204
    stage.until(lambda: len(house.villains()) <= 2, "the end of the server that was replaced")


def test_a_call_for_a_server_that_was_removed_is_finished_and_no_other_is_begun(house, stage):
    call = stage.in_background(lambda: house.client.call("ask", {"method": "x/y"}))
    assert json.loads(call.result(stage.PATIENCE).text)["error"]
    house.configure({"mcpServers": {"good": stage.villain(tools=["echo"])}})
    house.until_said("the configuration was taken over")
    assert house.client.call("hang").error["code"] == -32602
    house.is_well()
    stage.until(lambda: len(house.villains()) == 1, "the end of the one that was removed")


def test_a_storm_of_hangups_is_survived(house):
    for _ in range(50):
        house.reload()
    house.until_said("the configuration was taken over")
    house.is_well()
    assert len(house.villains()) == 1


def test_stopping_in_the_middle_of_a_reload_leaves_no_process(journey, stage):
    house = stage.House(journey, {"mcpServers": {"bad": stage.villain()}})
    house.configure({"mcpServers": {"bad": stage.villain(), "slow": stage.villain("deaf")}})
    stage.until(lambda: len(house.villains()) == 2, "the new server's process")
    house.stop()
    stage.until(lambda: not journey.processes(), "the end of all processes")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pins": 5}', "\x00"])
def test_pins_that_became_nonsense_do_not_stop_the_gateway(house, text, stage):
    pins = house.config.with_name("gateway.pins.json")
    stage.until(pins.exists, "the pins")
    pins.write_text(text)
    house.reload()
    stage.until(lambda: "taken over" in house.said, "an answer to the reload")
    house.is_well()


def test_a_hangup_during_calls_drops_none(house, stage):
    stop, failures, done = [], [], []

    def work():
        while not stop:
            answer = house.client.call("echo", {"text": "x"})
            (
                done if answer.status == 200 and "result" in answer.last and answer.text == "x" else failures
            ).append(answer)

    workers = [stage.in_background(work) for _ in range(4)]
    for number in range(10):
        house.configure({"mcpServers": {"bad": stage.villain(timeout=f"{number + 10}s")}})
        house.running.send(signal.SIGHUP)
        house.until_said("the configuration was taken over", number + 1)
    stop.append(True)
    for worker in workers:
        worker.result(stage.PATIENCE)
    assert failures == []
    assert done


def test_a_folder_that_was_replaced_where_confined_programs_may_write_is_never_read_again(opened, stage):
    """Whatever runs in a sandbox was kept from the folder that was there, and nobody can tell who wrote what in the new one."""
    if App(cwd="/", environment=os.environ).sandbox is None:
        pytest.skip("this machine can build no wall")
    sandbox = {"bash": "workspace"}
    house = opened({"mcpServers": {"bad": stage.villain()}, "sandbox": sandbox}, place=".awf/gateway.yaml")
    before, folder = house.client.tools(), house.config.parent
    folder.rename(folder.with_name("old"))
    folder.mkdir()
    house.until_said("USER.SANDBOX.FOLDER_REPLACED")
    house.configure({"mcpServers": {"new": stage.villain(tools=["echo"])}, "sandbox": sandbox})
    refused(house, "Stop the gateway, look at what stands in the folder")
    assert (house.client.tools(), list(house.client.servers())) == (before, ["bad"])
