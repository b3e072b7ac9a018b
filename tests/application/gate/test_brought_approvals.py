"""Approvals that a grant carries: whose they may be, and that each is good for one call."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from awf.application.gate.approvals import ApprovalDesk
from awf.application.gate.confirming import Confirming
from awf.application.gate.coverage import Carried
from awf.application.gate.origin import Origin
from awf.application.gate.passage import Passage
from awf.domain.canonical import canonical
from awf.domain.gate_file import Approvals
from awf.domain.policy import Decision
from awf.domain.redaction import Masker
from awf.domain.redaction.redactor import Redactor
from awf.testing.memory_gate import MemoryGateStore

ASKED = Decision(verdict="allow_with_confirm", reason="It sends something.", rule="no-mail")
ARGUMENTS = {"to": "bob"}


@pytest.fixture
def store():
    return MemoryGateStore()


@pytest.fixture
def desk(store, clock, tell):
    return ApprovalDesk(store.approvals, clock, Approvals(wait=0.01, valid=100.0), tell=tell, poll=0.001)


@pytest.fixture
def confirming(desk):
    return Confirming(desk, Redactor(Masker()))


def passage(*approvals: str, door="api", arguments=ARGUMENTS, context="ctx", requires=False) -> Passage:
    facts = SimpleNamespace(id="mail:send", name="send", requires_confirmation=requires)
    origin = Origin(context=context, door=door, waits=door != "api")
    made = Passage(SimpleNamespace(facts=facts), arguments, origin, "call")
    made.exact = canonical(arguments)
    made.approvals = tuple(Carried(one, f"grant of {one}") for one in approvals)
    return made


async def granted(desk, context="ctx", arguments=ARGUMENTS) -> str:
    hashed = hashlib.sha256(canonical(arguments)).hexdigest()
    asked = await desk.request("mail:send", hashed, context)
    return (await desk.decide(asked.approval_id, granted=True, by="ann")).approval_id


@pytest.mark.parametrize("door", ["api", "gateway", "step"])
async def test_one_of_the_desk_that_is_granted_and_about_this_is_used_once(confirming, desk, door):
    approval = await granted(desk)
    first = await confirming.confirmed(passage(approval, door=door), ASKED, None)
    assert (first.verdict, first.reason, first.rule) == ("allow", "Approved by ann.", "no-mail")
    assert (await confirming.confirmed(passage(approval, door=door), ASKED, None)).verdict == "deny"


async def test_one_that_was_given_elsewhere_counts_for_programs_and_once(confirming, record, clock, store):
    assert (await confirming.confirmed(passage("ticket"), ASKED, None)).verdict == "allow"
    assert [kind for kind, _ in record] == ["approval_resolved"]
    again = await confirming.confirmed(passage("ticket"), ASKED, None)
    assert (again.verdict, again.code) == ("deny", "approval:used")
    clock.now += 100 * 365 * 86400
    await store.approvals.forget(clock.now - 30 * 86400)  # as questions are
    assert (await confirming.confirmed(passage("ticket"), ASKED, None)).verdict == "deny"


@pytest.mark.parametrize("door", ["gateway", "step", "mcp-serve"])
async def test_one_that_nobody_knows_counts_for_nobody_else(confirming, door):
    refused = await confirming.confirmed(passage("ticket", door=door), ASKED, None)
    assert (refused.verdict, refused.code) == ("deny", "approval:pending")
    assert (
        await confirming.confirmed(passage("ticket"), ASKED, None)
    ).verdict == "allow"  # it was not used up


@pytest.mark.parametrize("other", [{"arguments": {"to": "eve"}}, {"context": "another"}])
async def test_one_about_another_call_is_none(confirming, desk, other):
    approval = await granted(desk)
    refused = await confirming.confirmed(passage(approval, **other), ASKED, None)
    assert (refused.verdict, refused.code) == ("deny", "approval:foreign")


async def test_the_first_that_counts_is_taken_and_the_others_stay(confirming, desk):
    approval = await granted(desk)
    first = await confirming.confirmed(passage("used", arguments={}), ASKED, None)
    assert first.verdict == "allow"
    call = passage("used", approval, "spare")
    second = await confirming.confirmed(call, ASKED, None)
    assert (second.code, call.carrier) == (f"approval:{approval}", f"grant of {approval}")
    assert (await confirming.confirmed(passage("spare"), ASKED, None)).verdict == "allow"


async def test_a_program_is_not_kept_waiting_and_hears_which_question_is_open(confirming, desk, record):
    refused = await confirming.confirmed(passage(), ASKED, None)
    (asked,) = await desk.open_ones()
    assert refused.details == {"approvalId": asked.approval_id, "status": "pending"}
    assert (refused.verdict, refused.rule) == ("deny", "no-mail")
    assert [kind for kind, _ in record] == ["approval_required"]


async def test_the_answer_of_the_desk_is_enough_for_a_rule_but_not_for_a_tool_that_wants_confirmation(
    confirming, desk
):
    await granted(desk)
    refused = await confirming.confirmed(passage(requires=True), ASKED, None)
    assert (refused.verdict, refused.details["status"]) == ("deny", "granted")
    assert (await confirming.confirmed(passage(), ASKED, None)).verdict == "allow"
