"""Levels of a gateway that runs, and people at a shell: what one does, the other hears of."""

from __future__ import annotations

import sys

import pytest

FILES = sys.modules["journeys_gate_files"]
pytestmark = pytest.mark.journey
CHANGED = b"notifications/tools/list_changed"


def is_refused(answer) -> bool:
    return (
        answer.result.get("isError") is True
        and answer.result["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"
    )


def tools(session) -> list[str]:
    return [tool["name"] for tool in session.request("tools/list").result["tools"]]


def test_an_open_session_hears_of_what_it_has_read_and_of_a_reset_in_a_shell(opened, journey, person):
    session = opened().client.session()
    everything = tools(session)
    with session.listen() as news:
        assert session.call("read").text == "read: done"
        news.until(CHANGED)
        assert tools(session) == [name for name in everything if name != "fetch"]
        assert is_refused(session.call("fetch"))
        news.data = b""
        (own,) = journey.awf("gateway", "context", "list", "-o", "json").json()
        journey.awf("gateway", "context", "reset", own["contextId"]).succeeded()
        news.until(CHANGED)
    assert tools(session) == everything
    assert session.call("fetch").text == "fetch: done"
    (reset,) = person.records("context_reset")
    assert (reset["context"], reset["labelBefore"], reset["labelAfter"]) == (
        own["contextId"], "confidential/trusted", "public/trusted",
    )  # fmt: skip
    assert reset["details"]["by"]


def test_a_level_that_another_gateway_has_raised_stops_calls_under_way(opened, journey, noted, stage, until):
    """Two gateways, one store: the same agent works through both."""
    overrides = {**FILES.OVERRIDES, "office:slow": {"policy_action": "network.request"}}
    one, other = opened(overrides=overrides), opened(overrides=overrides)
    never = str(journey.project / "never")
    context = {"X-AWF-Context": "the agent"}
    fetching = stage.in_background(lambda: one.client.call("slow", {"until": never}, headers=context))
    until(lambda: noted("slow"), "a call under way")
    assert other.client.call("read", headers=context).text == "read: done"
    assert is_refused(fetching.result(60))


def test_which_file_counts_is_recorded_each_time_it_changes(opened, person):
    house = opened()
    house.configure(FILES.office_file(policy={"defaults": {"fallback": "deny"}}))
    house.until_said("the configuration was taken over")
    assert is_refused(house.client.call("look"))
    records = person.records("configuration")
    assert len({one["details"]["sha256"] for one in records}) == len(records) == 2
    assert {one["details"]["file"] for one in records} == {"gateway.yaml"}


def test_a_gate_that_a_new_file_brings_is_there_at_once_and_so_are_its_news(opened):
    house = opened(overrides={}, audit={"enabled": False})
    session = house.client.session()
    assert session.call("read").text == "read: done"
    house.configure(FILES.office_file())
    house.until_said("the configuration was taken over")
    tools(session)
    with session.listen() as news:
        session.call("read")
        news.until(CHANGED)
    assert is_refused(session.call("fetch"))
