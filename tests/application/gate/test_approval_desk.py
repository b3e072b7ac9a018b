from __future__ import annotations

import asyncio

import msgspec
import pytest

from awf.application.gate.approvals import ApprovalDesk, ApprovalNews
from awf.application.gate.refusal import ApprovalRefused
from awf.domain.gate_file import Approvals

pytestmark = pytest.mark.race
PATIENCE = 60.0
CALL = ("mail:send", "ab" * 32, "ctx")


@pytest.fixture
def desk(store, clock, tell):
    return ApprovalDesk(store.approvals, clock, Approvals(wait=30.0, valid=100.0), tell=tell, poll=0.01)


@pytest.fixture
def elsewhere(store, clock):
    """The same questions at another process: another desk over the same store."""
    return ApprovalDesk(store.approvals, clock, Approvals(wait=30.0, valid=100.0), poll=0.01)


@pytest.fixture
def heard(desk):
    news = []
    desk.listen(news.append)
    return news


async def why(doing) -> str:
    with pytest.raises(ApprovalRefused) as caught:
        await doing
    refused = caught.value
    assert refused.code == f"USER.APPROVAL.{'UNKNOWN' if refused.reason == 'unknown' else 'REFUSED'}"
    assert refused.message
    return refused.reason


async def waiting(desk, approval_id, timeout=PATIENCE):
    """A call that waits: it has looked once, and found nobody's answer."""
    task = asyncio.get_running_loop().create_task(desk.wait(approval_id, timeout))
    while not desk._bells:
        await asyncio.sleep(0)
    return task


async def test_a_question_says_what_it_is_about_and_how_long_it_counts(desk):
    asked = await desk.request(*CALL, reason="it sends", rule="mail", summary="to: bob", client="editor")
    assert (asked.tool_id, asked.arguments_hash, asked.context) == CALL
    assert (asked.reason, asked.rule, asked.summary, asked.client) == (
        "it sends",
        "mail",
        "to: bob",
        "editor",
    )
    assert (asked.asked_at, asked.expires_at, asked.status) == (1000.0, 1100.0, "pending")
    assert await desk.open_ones() == [asked]
    assert await desk.find(asked.approval_id) == asked


async def test_the_same_call_finds_the_question_it_has_asked_also_after_a_restart(desk, elsewhere, record):
    asked = await desk.request(*CALL)
    assert await desk.request(*CALL) == await elsewhere.request(*CALL) == asked
    assert (await desk.request("mail:send", "cd" * 32, "ctx")).approval_id != asked.approval_id
    assert [kind for kind, _ in record] == ["approval_required"] * 2


async def test_an_answer_that_came_while_nobody_waited_is_found(desk, elsewhere):
    asked = await desk.request(*CALL)
    await elsewhere.decide(asked.approval_id, granted=True, by="me")
    again = await desk.request(*CALL)
    assert (again.approval_id, again.status) == (asked.approval_id, "granted")
    assert (await desk.take(again)).status == "used"
    assert (await desk.request(*CALL)).approval_id != asked.approval_id


@pytest.mark.parametrize("granted", [True, False])
async def test_whoever_waits_is_woken_by_the_answer(store, clock, granted):
    desk = ApprovalDesk(store.approvals, clock, poll=PATIENCE)  # it will not look by itself
    asked = await desk.request(*CALL)
    tasks = [await waiting(desk, asked.approval_id, 2 * PATIENCE) for _ in range(3)]
    decided = await desk.decide(asked.approval_id, granted=granted, by="me")
    async with asyncio.timeout(PATIENCE / 2):
        assert await asyncio.gather(*tasks) == [decided] * 3
    assert (decided.status, decided.decided_by) == ("granted" if granted else "denied", "me")
    assert desk._bells == {}


async def test_an_answer_in_another_process_is_seen_by_looking(desk, elsewhere, heard):
    asked = await desk.request(*CALL)
    task = await waiting(desk, asked.approval_id)
    decided = await elsewhere.decide(asked.approval_id, granted=True, by="you")
    async with asyncio.timeout(PATIENCE):
        assert await task == decided
    assert heard == [ApprovalNews("approval_required", asked), ApprovalNews("approval_resolved", decided)]


async def test_who_waits_long_enough_gets_the_question_back_as_it_is(desk):
    asked = await desk.request(*CALL)
    assert await desk.wait(asked.approval_id, 0.0) == asked
    assert await desk.wait(asked.approval_id, 0.03) == asked
    assert desk._bells == {}


async def test_how_long_a_call_waits_is_a_setting(store, clock):
    desk = ApprovalDesk(store.approvals, clock, Approvals(wait=0.01, valid=100.0))
    asked = await desk.request(*CALL)
    assert await desk.wait(asked.approval_id) == asked


async def test_a_call_that_is_given_up_leaves_the_question_open(desk):
    asked = await desk.request(*CALL)
    task = await waiting(desk, asked.approval_id)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk._bells == {}
    assert await desk.open_ones() == [asked]


async def test_a_question_ends_with_its_time_and_everyone_hears_of_it_once(
    desk, elsewhere, clock, heard, record
):
    asked = await desk.request(*CALL)
    task = await waiting(desk, asked.approval_id)
    clock.now = 1100.0
    over = msgspec.structs.replace(asked, status="expired")
    async with asyncio.timeout(PATIENCE):
        assert await task == over
    assert await desk.open_ones() == []
    assert await why(elsewhere.decide(asked.approval_id, granted=True, by="me")) == "expired"
    assert heard[1:] == [ApprovalNews("approval_resolved", over)]
    assert [(kind, details["status"]) for kind, details in record] == [
        ("approval_required", "pending"),
        ("approval_resolved", "expired"),
    ]


async def test_an_answer_counts_until_its_time_is_over(desk, clock):
    asked = await desk.request(*CALL)
    await desk.decide(asked.approval_id, granted=True, by="me")
    clock.now = 1100.0
    assert (await desk.find(asked.approval_id)).status == "expired"
    assert await why(desk.take(asked)) == "expired"
    assert (await desk.request(*CALL)).status == "pending"


async def test_an_approval_is_good_for_one_call(desk, elsewhere):
    asked = await desk.request(*CALL)
    granted = await desk.decide(asked.approval_id, granted=True, by="me")
    taken = await asyncio.gather(
        *(one.take(granted) for one in (desk, elsewhere) * 10), return_exceptions=True
    )
    used = [one for one in taken if not isinstance(one, ApprovalRefused)]
    assert [one.status for one in used] == ["used"]
    assert {one.reason for one in taken if isinstance(one, ApprovalRefused)} == {"used"}


@pytest.mark.parametrize(
    "call", [("mail:read", CALL[1], CALL[2]), (CALL[0], "cd" * 32, CALL[2]), (CALL[0], CALL[1], "another")]
)
async def test_an_approval_of_one_call_is_none_of_another(desk, call):
    asked = await desk.request(*CALL)
    await desk.decide(asked.approval_id, granted=True, by="me")
    assert await why(desk.take_named(asked.approval_id, *call)) == "foreign"
    forged = msgspec.structs.replace(asked, tool_id=call[0], arguments_hash=call[1], context=call[2])
    assert await why(desk.take(forged)) == "foreign"
    assert (await desk.take_named(asked.approval_id, *CALL)).status == "used"


async def test_what_was_made_up_is_unknown(desk):
    for doing in (
        desk.take_named("approval_forged", *CALL),
        desk.decide("approval_forged", granted=True, by="me"),
        desk.wait("approval_forged", 1.0),
    ):
        assert await why(doing) == "unknown"
    assert await desk.find("approval_forged") is None


async def test_what_was_not_granted_cannot_be_used(desk):
    asked = await desk.request(*CALL)
    granted = msgspec.structs.replace(asked, status="granted")  # a claim is no answer
    assert await why(desk.take(granted)) == "pending"
    await desk.decide(asked.approval_id, granted=False, by="me")
    assert await why(desk.take(granted)) == "denied"


async def test_the_first_answer_counts_and_is_recorded_once(desk, record):
    asked = await desk.request(*CALL)
    await desk.decide(asked.approval_id, granted=False, by="me")
    assert await why(desk.decide(asked.approval_id, granted=True, by="you")) == "denied"
    assert (await desk.find(asked.approval_id)).decided_by == "me"
    assert [kind for kind, _ in record] == ["approval_required", "approval_resolved"]
    assert record[1][1] == {
        "tool_id": CALL[0],
        "context": CALL[2],
        "client": "",
        "reason": "",
        "rule": "",
        "approval_id": asked.approval_id,
        "status": "denied",
        "decided_by": "me",
    }


async def test_a_list_of_the_open_ones_tells_what_was_answered_elsewhere(desk, elsewhere, heard):
    asked = await desk.request(*CALL)
    decided = await elsewhere.decide(asked.approval_id, granted=False, by="you")
    assert await desk.open_ones() == []
    assert heard[1:] == [ApprovalNews("approval_resolved", decided)]
    assert await desk.open_ones() == []
    assert len(heard) == 2


async def test_a_process_that_starts_again_asks_its_person_again(elsewhere, desk, heard, record):
    asked = await elsewhere.request(*CALL)
    assert await desk.request(*CALL) == asked
    await desk.request(*CALL)
    assert heard == [ApprovalNews("approval_required", asked)]
    assert record == [], "it was recorded when it was first asked"


async def test_questions_whose_callers_left_do_not_fill_the_memory(desk, clock):
    for number in range(600):
        clock.now += 1
        await desk.request("mail:send", str(number), "ctx")
    assert len(desk._announced) <= 257
