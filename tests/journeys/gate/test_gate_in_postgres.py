"""Two gateways on machines of their own, and shells on others, over one database."""

from __future__ import annotations

import sys

import pytest

FILES = sys.modules["journeys_gate_files"]
pytestmark = pytest.mark.journey
MIGRATE = ("store", "migrate", "--from", "sqlite", "--to", "postgres")


@pytest.fixture
def elsewhere(journey, database_url):
    """From now on commands run as on another machine: nothing but the database is the same."""
    journey.environment["AWF_DATABASE_URL"] = database_url

    def move(name):
        journey.environment["AWF_STORAGE"] = str(journey.root / name)

    return move


def is_refused(answer) -> bool:
    return (
        answer.result.get("isError") is True
        and answer.result["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"
    )


@pytest.fixture
def two(elsewhere, opened):
    """Two gateways, each on a machine of its own, and a shell on a third."""

    def open_both(**keys):
        elsewhere("one")
        one = opened(**keys).client
        elsewhere("other")
        other = opened(**keys).client
        elsewhere("shell")
        return one, other

    return open_both


def test_what_was_read_through_one_gateway_closes_the_world_at_the_other_at_once(two):
    one, other = two()
    for number in range(20):
        context = {"X-AWF-Context": f"agent {number}"}
        assert other.call("fetch", headers=context).text == "fetch: done"
        assert one.call("read", headers=context).text == "read: done"
        assert is_refused(other.call("fetch", headers=context))


def test_a_call_to_others_that_is_under_way_at_one_gateway_is_stopped_by_what_is_read_at_the_other(
    two, journey, noted, stage, until
):
    overrides = {**FILES.OVERRIDES, "office:slow": {"policy_action": "network.request"}}
    one, other = two(overrides=overrides)
    context = {"X-AWF-Context": "the agent"}
    never = str(journey.project / "never")
    fetching = stage.in_background(lambda: one.call("slow", {"until": never}, headers=context))
    until(lambda: noted("slow"), "a call under way")
    assert other.call("read", headers=context).text == "read: done"
    assert is_refused(fetching.result(60))


def test_grants_and_revocations_of_a_shell_reach_every_gateway(two, journey, until):
    doors = two(grants={"actions": "always"})
    assert all(is_refused(door.call("look")) for door in doors)
    given = journey.awf("grant", "add", "file.*", "-o", "json").succeeded().json()["grantId"]
    for door in doors:
        until(lambda door=door: not is_refused(door.call("look")), "it is allowed")
    journey.awf("grant", "revoke", given).succeeded()
    for door in doors:
        until(lambda door=door: is_refused(door.call("look")), "it is refused")
    (listed,) = journey.awf("grant", "list", "--all", "-o", "json").succeeded().json()
    assert listed["state"] == "revoked"


def test_a_question_of_one_gateway_is_answered_in_a_shell_of_another_machine_and_used_once(
    two, person, noted, stage, until
):
    one, other = two(approvals={"wait": "60s", "valid": "60s"})
    context = {"X-AWF-Context": "the agent"}
    waiting = stage.in_background(lambda: one.call("mail", {"text": "x"}, headers=context))
    person.say("approve", person.asked()).succeeded()
    assert waiting.result(60).text == "mail: x"
    again = stage.in_background(lambda: other.call("mail", {"text": "x"}, headers=context))
    person.say("deny", person.asked()).succeeded()
    assert is_refused(again.result(60))
    assert len(noted("mail")) == 1


def test_what_a_machine_has_kept_moves_into_the_database_once(journey, database_url):
    grants = [journey.awf("grant", "add", name, "-o", "json").succeeded().json() for name in ("a", "b")]
    context = journey.awf("gateway", "context", "new").succeeded().stdout.split()[0]
    journey.environment["AWF_DATABASE_URL"] = database_url
    assert journey.awf("grant", "list", "-o", "json").succeeded().json() == []
    told = journey.awf(*MIGRATE, "-o", "json").succeeded().json()
    assert told["gate"] == {"grants": 2, "approvals": 0, "contexts": 1, "results": 0}
    assert told["copied"] == 0
    found = journey.awf("grant", "list", "-o", "json").succeeded().json()
    assert [one["grantId"] for one in found] == [one["grantId"] for one in grants]
    assert context in journey.awf("gateway", "context", "list").succeeded().stdout
    again = journey.awf(*MIGRATE).succeeded().stdout
    assert "0 grants, 0 approvals, 0 security contexts and 0 long results copied" in again


def test_a_machine_that_has_kept_nothing_is_told(journey, database_url):
    journey.environment["AWF_DATABASE_URL"] = database_url
    journey.awf(*MIGRATE).one_error("USER.INPUT.MISSING_FILE")
