"""One gate in two gateways: what a person grants, revokes or answers counts at both, and what one has seen the other knows."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.journey
stage = sys.modules["gateway_hostile_stage"]
FILES = sys.modules["journeys_gate_files"]
SCOPED = {"overrides": {"office:look": {"policy_action": "file.read", "required_scopes": ["desk"]}}}
BOTH = (0, 1)


def code_of(answer) -> str:
    return answer.result.get("_meta", {}).get("awf/error", {}).get("code", "")


def is_refused(answer) -> bool:
    return answer.result.get("isError") is True and code_of(answer) == "PERMISSION_DENIED"


def at(both, number):
    """A client of one of them."""
    return both.houses[number].client


def test_a_grant_and_its_revocation_count_at_both(opened, journey):
    both = opened(**SCOPED)
    sessions = [at(both, number).session() for number in BOTH]
    for _ in range(3):
        assert all(
            is_refused(who.call("look")) for number in BOTH for who in (at(both, number), sessions[number])
        )
        grants = [
            journey.awf("grant", "add", capability, "-o", "json").succeeded().json()
            for capability in ("desk", "file.*")
        ]
        for number in BOTH:
            stage.until(
                lambda number=number: not is_refused(at(both, number).call("look")), "a grant that counts"
            )
            assert sessions[number].call("look").text == "look: done"
        journey.awf("grant", "revoke", grants[0]["grantId"]).succeeded()
        for number in BOTH:
            stage.until(
                lambda number=number: is_refused(at(both, number).call("look")), "a revocation that counts"
            )
            assert is_refused(sessions[number].call("look"))
        journey.awf("grant", "revoke", grants[1]["grantId"]).succeeded()


def test_a_grant_for_one_context_and_for_a_while_is_that_at_both(opened, journey):
    both = opened(**SCOPED)
    ann, bob = ({"X-AWF-Context": who} for who in ("ann", "bob"))
    journey.awf("grant", "add", "file.*").succeeded()
    journey.awf("grant", "add", "desk", "--session", "ann", "--expires", "5s").succeeded()
    for number in BOTH:
        here = at(both, number)
        stage.until(lambda here=here: not is_refused(here.call("look", headers=ann)), "a grant that counts")
        assert is_refused(here.call("look", headers=bob))
    for number in BOTH:
        here = at(both, number)
        stage.until(lambda here=here: is_refused(here.call("look", headers=ann)), "the end of a grant")


def test_what_was_read_at_one_closes_the_other_at_once(opened, noted):
    """Not a moment later: where a level decides whether something gets out, the store itself is asked."""
    both = opened()
    for round_ in range(10):
        reader, leaker = round_ % 2, 1 - round_ % 2
        context = {"X-AWF-Context": f"agent {round_}"}
        assert at(both, leaker).call("fetch", headers=context).text == "fetch: done"
        assert at(both, reader).call("read", headers=context).text == "read: done"
        assert is_refused(at(both, leaker).call("fetch", headers=context))
    assert len(noted("fetch")) == 10


@pytest.mark.parametrize("asked", BOTH)
def test_a_question_asked_at_one_is_answered_at_the_other(opened, noted, person, asked):
    """On the page of the other, by the key that is the same for all."""
    both = opened(approvals={"wait": "60s"})
    waiting = stage.in_background(lambda: at(both, asked).call("mail", {"to": "ann"}))
    approval = person.asked()
    keys = {house.said.partition("#key=")[2].split()[0] for house in both.houses}
    assert len(keys) == 1
    said = at(both, 1 - asked).send(
        "POST",
        f"/api/approvals/{approval}",
        b'{"granted": true}',
        {"Content-Type": "application/json", "X-AWF-Operator": keys.pop()},
    )
    assert said.status == 200, said.body
    assert waiting.result(60).text == "mail: done"
    assert noted("mail") == [{"to": "ann"}]


def test_a_long_result_of_one_is_read_at_the_other(opened):
    both = opened(limits={"max_output_lines": 20}, spool={})
    cut = at(both, 0).call("long", {"lines": 500}).result
    uri = next(block["uri"] for block in cut["content"] if block["type"] == "resource_link")
    found = at(both, 1).modern("resources/read", {"uri": uri}).result
    assert found["contents"][0]["text"].startswith("words\nwords")
