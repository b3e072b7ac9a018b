"""Values of secrets are told nowhere: not on standard error, in the log, on the page, in the metrics, or to agents."""

from __future__ import annotations

import json

import pytest

SECRET = "sk-live-0123456789abcdef"


@pytest.fixture(autouse=True)
def known(journey):
    journey.environment["SERVICE_API_KEY"] = SECRET
    journey.write("key.txt", SECRET + "\n")


def told_nowhere(house, *answers):
    shown = "".join(
        house.client.get(path).body.decode()
        for path in ("/api/status", "/api/tools", "/api/calls", "/metrics", "/readyz")
    )
    for text in (shown, house.said, *(answer.body.decode() for answer in answers)):
        assert SECRET not in text, text[max(0, text.find(SECRET) - 300) : text.find(SECRET) + 100]


@pytest.mark.parametrize("reference", ["${env:SERVICE_API_KEY}", "${file:key.txt}"])
def test_a_server_that_prints_its_key_and_dies_is_quoted_without_it(opened, stage, reference):
    bad = stage.villain("dies", env={"VILLAIN_SAYS": reference})
    house = opened({"mcpServers": {"bad": bad, "good": stage.villain(tools=["echo"])}}, log="info")
    assert "cannot go on" in house.said
    told_nowhere(house, house.client.call("bad__echo"), house.client.session().call("bad__echo"))


def test_a_server_that_prints_its_key_later_is_logged_without_it(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain(env={"KEY": "${env:SERVICE_API_KEY}"})}}, log="info")
    house.client.call("shout", {"text": f"my key is {SECRET}\n"})
    answer = house.client.call("die")
    house.until_said("my key is")
    told_nowhere(house, answer)


def test_a_key_in_an_address_is_not_told_when_nobody_is_there(opened, stage):
    url = {"url": "http://127.0.0.1:9/mcp?key=${env:SERVICE_API_KEY}"}
    house = opened({"mcpServers": {"bad": url, "good": stage.villain(tools=["echo"])}}, log="info")
    assert "127.0.0.1:9" in house.said
    told_nowhere(house, house.client.call("x"))


def test_a_server_that_repeats_our_credentials_in_its_refusal_is_quoted_without_them(
    opened, stage, web_villains
):
    with web_villains.web_villain() as web:
        web.answer = lambda handler, _: (
            web_villains.reply(handler, 401, f"bad key: {handler.headers['Authorization']}".encode()) or True
        )
        url = {"url": web.url, "headers": {"Authorization": "Bearer ${env:SERVICE_API_KEY}"}}
        house = opened({"mcpServers": {"bad": url, "good": stage.villain(tools=["echo"])}}, log="info")
        assert "bad key" in house.said
        told_nowhere(house, house.client.call("x"))


def test_a_hidden_value_is_not_told_in_an_error_of_the_server(opened, stage):
    overrides = {"bad:echo": {"hide_fields": ["token"], "defaults": {"token": "${env:SERVICE_API_KEY}"}}}
    house = opened({"mcpServers": {"bad": stage.villain()}, "overrides": overrides}, log="info")
    assert (
        house.client.call("echo", {"text": "x"}).result["_meta"]["given"]["token"] == SECRET
    )  # it does arrive
    refused = house.client.call("echo", {"text": "x", "token": "mine"})
    assert refused.result["isError"] is True
    told_nowhere(house, refused, house.client.call("echo", {"text": 5}))


@pytest.mark.parametrize("where", ["result", "message", "data"])
def test_a_hidden_value_is_not_told_in_an_error_answer(opened, stage, where):
    """The server repeats the value in an error of the tool, or in one of the protocol."""
    overrides = {"bad:fail": {"hide_fields": ["token"], "defaults": {"token": "${env:SERVICE_API_KEY}"}}}
    house = opened({"mcpServers": {"bad": stage.villain()}, "overrides": overrides}, log="info")
    error = {"code": -32000, "message": "wrong", "data": {"token": "right"}}
    if where != "result":
        error[where] = f"bad token {SECRET}" if where == "message" else {"token": SECRET, "all": [SECRET]}
    given = {} if where == "result" else {"error": error}
    told_nowhere(house, house.client.call("fail", given), house.client.session().call("fail", given))


def test_a_broken_file_is_quoted_without_the_values_of_its_references(opened, stage, journey):
    house = opened({"mcpServers": {"bad": stage.villain(env={"KEY": "${env:SERVICE_API_KEY}"})}}, log="info")
    house.configure({"mcpServers": {"bad": stage.villain(env={"KEY": "${env:SERVICE_API_KEY}"}, tools=5)}})
    house.until_said("not taken over")
    told_nowhere(house)


@pytest.mark.parametrize("command", ["tools", "call", "drift"])
def test_the_shell_commands_do_not_tell_it_either(journey, stage, command):
    bad = stage.villain("dies", env={"VILLAIN_SAYS": "${env:SERVICE_API_KEY}"})
    name = journey.write("gateway.json", json.dumps({"mcpServers": {"bad": bad, "good": stage.villain()}}))
    more = ("echo", '{"text": "x"}') if command == "call" else ()
    journey.environment["AWF_LOG_LEVEL"] = "debug"
    told = journey.awf("gateway", command, "--config", name, *more)
    assert SECRET not in told.stdout + told.stderr
