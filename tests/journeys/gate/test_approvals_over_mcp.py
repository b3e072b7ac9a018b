"""A person is asked about a call: through clients of both eras, from a shell, across restarts, and in time."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.journey
FORMS = {"elicitation": {}}
ANN = {"to": "ann"}
YES = {"action": "accept", "content": {"allow": True}}
REFUSED = "PERMISSION_DENIED"


def is_refused(answer) -> bool:
    return answer.result.get("isError") is True and answer.result["_meta"]["awf/error"]["code"] == REFUSED


# -- clients of the older era ------------------------------------------------------------------------------------------


def asked_of(stream):
    """The question in the answer to a call."""
    data = stream.until(b"elicitation/create").decode()
    while True:
        found = re.search(r"^data: (\{.*elicitation/create.*\})\s*$", data, re.MULTILINE)
        if found:
            return json.loads(found[1])
        data = stream.until(b"\n\n" + stream.data[-1:]).decode()


@pytest.mark.parametrize(
    ("reply", "passes"), [(YES, True), ({"action": "decline"}, False), ({"action": "cancel"}, False)]
)
def test_a_client_of_the_older_era_is_asked_while_its_call_waits(opened, noted, person, reply, passes):
    house = opened()
    session = house.client.session(capabilities=FORMS)
    with session.begun("tools/call", {"name": "mail", "arguments": ANN}, 7) as stream:
        question = asked_of(stream)
        assert "office:mail" in question["params"]["message"]
        assert noted("mail") == []
        assert session.post({"jsonrpc": "2.0", "id": question["id"], "result": reply}).status == 202
        said = stream.rest().decode()
    assert ("mail: done" in said) is passes
    assert (noted("mail") == [ANN]) is passes
    (event,) = person.calls_of("office:mail")
    assert event["outcome"] == ("success" if passes else "denied")
    assert len(person.records("approval_required", "approval_resolved")) == 2
    person.is_sound()


# -- clients of the newer era ------------------------------------------------------------------------------------------


def again(client, state, reply=YES, arguments=ANN, **options):
    params = {
        "name": "mail",
        "arguments": arguments,
        "requestState": state,
        "inputResponses": {"approval": reply},
    }
    return client.modern("tools/call", params, **{"capabilities": FORMS, **options})


def state_of(answer) -> str:
    assert answer.result["resultType"] == "input_required", answer.result
    assert answer.result["inputRequests"]["approval"]["method"] == "elicitation/create"
    return answer.result["requestState"]


def test_a_client_of_the_newer_era_calls_again_with_the_answer_which_is_good_for_that_call(opened, noted):
    client = opened().client
    state = state_of(client.call("mail", ANN, capabilities=FORMS))
    assert (
        state_of(again(client, "awf-approval-approval_0123456789abcdef")) != state
    )  # of nobody here: another call
    assert state_of(again(client, state, headers={"X-AWF-Context": "other"})) != state
    assert state_of(again(client, state, arguments={"to": "mallory"})) != state
    assert noted("mail") == []
    assert again(client, state).text == "mail: done"
    assert noted("mail") == [ANN]
    assert state_of(again(client, state)) != state  # it was used up
    assert noted("mail") == [ANN]


def test_a_no_of_the_newer_era_refuses_and_a_client_that_cannot_be_asked_cannot_answer(opened, noted):
    client = opened(approvals={"wait": "100ms"}).client
    state = state_of(client.call("mail", ANN, capabilities=FORMS))
    assert is_refused(again(client, state, capabilities={}))
    assert is_refused(again(client, state, {"action": "decline"}))
    assert is_refused(again(client, state))
    assert state_of(client.call("mail", ANN, capabilities=FORMS)) != state  # another call asks anew
    assert noted("mail") == []


# -- from a shell ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["approve", "deny"])
@pytest.mark.parametrize("era", ["older", "newer"])
def test_a_call_that_waits_goes_on_when_somebody_answers_in_a_shell(opened, noted, person, stage, word, era):
    house = opened(approvals={"wait": "60s"})
    who = house.client.session() if era == "older" else house.client
    waiting = stage.in_background(lambda: who.call("mail", ANN))
    approval = person.asked()
    person.say(word, approval).succeeded()
    answer = waiting.result(60)
    if word == "approve":
        assert answer.text == "mail: done"
    else:
        assert is_refused(answer)
    assert len(noted("mail")) == (word == "approve")
    (resolved,) = person.records("approval_resolved")
    assert resolved["details"]["status"] == ("granted" if word == "approve" else "denied")
    assert resolved["details"]["decidedBy"]
    person.say(word, approval).one_error("USER.APPROVAL.REFUSED")


def test_where_the_file_says_so_only_people_at_the_machine_are_asked(opened, noted, person, stage):
    client = opened(approvals={"wait": "60s", "ask_client": False}).client
    waiting = stage.in_background(lambda: client.call("mail", ANN, capabilities=FORMS))
    approval = person.asked()
    forged = stage.in_background(lambda: again(client, f"awf-approval-{approval}"))
    person.say("deny", approval).succeeded()
    for answer in (waiting, forged):
        assert is_refused(answer.result(60)) or person.say("deny", person.asked()).succeeded()
    assert noted("mail") == []


def test_a_question_outlives_the_gateway_and_so_does_its_answer(opened, noted, person):
    first = opened(approvals={"wait": "100ms"})
    assert is_refused(first.client.call("mail", ANN))
    approval = person.asked()
    first.stop()
    second = opened(approvals={"wait": "100ms"})
    assert is_refused(second.client.call("mail", ANN))
    assert person.asked() == approval  # the same question
    second.stop()
    person.say("approve", approval).succeeded()
    third = opened(approvals={"wait": "100ms"})
    assert is_refused(third.client.call("mail", {"to": "bob"}))
    assert third.client.call("mail", ANN).text == "mail: done"
    assert is_refused(third.client.call("mail", ANN))
    assert noted("mail") == [ANN]
    person.is_sound()


def test_a_question_that_nobody_answered_in_time_cannot_be_answered_any_more(opened, noted, person, until):
    client = opened(approvals={"wait": "50ms", "valid": "200ms"}).client
    assert is_refused(client.call("mail", ANN))
    first = person.records("approval_required")[0]["details"]["approvalId"]
    until(lambda: person.approvals() == [], "the end of the question")
    person.say("approve", first).one_error("USER.APPROVAL.REFUSED")
    assert is_refused(client.call("mail", ANN))
    assert noted("mail") == []
    assert "expired" in [one["details"]["status"] for one in person.records("approval_resolved")]
