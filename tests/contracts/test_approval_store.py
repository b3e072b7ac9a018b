"""What every store of approvals must promise."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from awf.domain.approval import Approval


def question(approval_id: str = "a", asked_at: float = 10.0, **more) -> Approval:
    usual = {"tool_id": "mail:send", "arguments_hash": "ab" * 32, "context": "ctx", "expires_at": 100.0}
    return Approval(approval_id=approval_id, asked_at=asked_at, **{**usual, **more})


def about(approval: Approval) -> tuple[str, str, str]:
    return approval.tool_id, approval.arguments_hash, approval.context


RICH = question(
    "rich", tool_id="mail:\ud800", reason="r é", rule="no mail", summary="a\nb\0😀\udfff", client="editor"
)
NOW = 20.0


@pytest.fixture
def store(gate_store):
    return gate_store.approvals


async def test_a_question_comes_back_as_it_was_asked(store):
    assert await store.ask(RICH) == RICH
    assert await store.find("rich") == RICH
    assert await store.open_ones(NOW) == [RICH]
    assert await store.find("poor") is None


async def test_an_open_question_about_just_this_is_not_asked_again(store):
    first = await store.ask(question("a"))
    assert await store.ask(question("b", 11.0)) == first
    assert await store.find("b") is None


@pytest.mark.parametrize(
    "other", [{"tool_id": "mail:read"}, {"arguments_hash": "cd" * 32}, {"context": "another"}]
)
async def test_a_question_about_anything_else_is_another_one(store, other):
    await store.ask(question("a"))
    assert (await store.ask(question("b", **other))).approval_id == "b"
    assert len(await store.open_ones(NOW)) == 2


async def test_a_granted_one_that_was_not_used_is_found_instead_of_a_new_question(store):
    await store.ask(question("a"))
    granted = await store.decide("a", granted=True, by="me", now=NOW)
    assert await store.ask(question("b", NOW)) == granted
    assert await store.matching(*about(granted), NOW) == granted


@pytest.mark.parametrize("end", ["denied", "used", "over"])
async def test_what_has_ended_is_asked_anew(store, end):
    await store.ask(question("a"))
    await store.decide("a", granted=end == "used", by="me", now=NOW) if end != "over" else None
    await store.use("a", NOW)
    later = 100.0 if end == "over" else NOW
    assert await store.matching(*about(question()), later) is None
    assert (await store.ask(question("b", later, expires_at=200.0))).approval_id == "b"


async def test_an_answer_says_who_gave_it_and_when(store):
    await store.ask(RICH)
    decided = msgspec.structs.replace(RICH, status="granted", decided_at=NOW, decided_by="me")
    assert await store.decide("rich", granted=True, by="me", now=NOW) == decided
    assert await store.find("rich") == decided
    assert await store.open_ones(NOW) == []


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("first", [True, False])
async def test_the_first_answer_counts(store, first, again):
    await store.ask(question("a"))
    decided = await store.decide("a", granted=first, by="me", now=NOW)
    assert await store.decide("a", granted=again, by="you", now=NOW + 1) is None
    assert await store.find("a") == decided


async def test_nobody_can_answer_what_was_not_asked_or_is_over(store):
    await store.ask(question("a"))
    assert await store.decide("b", granted=True, by="me", now=NOW) is None
    assert await store.decide("a", granted=True, by="me", now=100.0) is None
    assert (await store.find("a")).status == "pending"


async def test_a_granted_one_is_used_once(store):
    await store.ask(question("a"))
    await store.decide("a", granted=True, by="me", now=NOW)
    assert [await store.use("a", NOW), await store.use("a", NOW)] == [True, False]
    assert (await store.find("a")).status == "used"
    assert await store.decide("a", granted=True, by="me", now=NOW) is None


async def test_of_many_that_try_at_once_one_gets_it(store):
    await store.ask(question("a"))
    await store.decide("a", granted=True, by="me", now=NOW)
    assert sorted(await asyncio.gather(*(store.use("a", NOW) for _ in range(20)))) == [False] * 19 + [True]


async def test_what_was_not_granted_or_is_too_old_cannot_be_used(store):
    await store.ask(question("open"))
    await store.ask(question("denied", context="2"))
    await store.ask(question("old", context="3"))
    await store.decide("denied", granted=False, by="me", now=NOW)
    await store.decide("old", granted=True, by="me", now=NOW)
    for name, now in (("open", NOW), ("denied", NOW), ("old", 100.0), ("unknown", NOW)):
        assert not await store.use(name, now)
    assert await store.use("old", 99.0), "until then it could be"


async def test_one_that_was_given_elsewhere_is_kept_once_and_no_question(store):
    used = question("ticket", status="used", decided_at=10.0, decided_by="elsewhere")
    assert await store.claim(used) is True
    assert await store.claim(question("ticket", tool_id="other:tool", status="used")) is False
    assert await store.find("ticket") == used
    assert await store.matching(*about(used), NOW) is None
    assert await store.open_ones(NOW) == []
    assert await store.use("ticket", NOW) is False


async def test_of_many_that_bring_the_same_at_once_one_may(store):
    outcomes = await asyncio.gather(*(store.claim(question("ticket", status="used")) for _ in range(20)))
    assert sorted(outcomes) == [False] * 19 + [True]


async def test_open_ones_are_listed_in_the_order_in_which_they_were_asked(store):
    for name, asked in (("second", 12.0), ("third", 12.0), ("first", 11.0)):
        await store.ask(question(name, asked, context=name))
    await store.ask(question("short", 13.0, context="short", expires_at=15.0))
    assert [one.approval_id for one in await store.open_ones(14.0)] == ["first", "second", "third", "short"]
    assert [one.approval_id for one in await store.open_ones(15.0)] == ["first", "second", "third"]


async def test_a_question_that_nobody_answered_in_time_is_closed_once(store):
    await store.ask(question("a"))
    await store.ask(question("b", context="b", expires_at=200.0))
    closed = msgspec.structs.replace(question("a"), status="expired")
    assert await store.expire(99.0) == []
    assert await store.expire(100.0) == [closed]
    assert await store.expire(100.0) == []
    assert await store.find("a") == closed


async def test_those_that_were_over_before_a_time_are_forgotten(store):
    await store.ask(question("a"))
    await store.ask(question("b", context="b", expires_at=200.0))
    assert await store.forget(150.0) == 1
    assert await store.find("a") is None
    assert await store.find("b") is not None


async def test_the_version_is_another_one_after_each_change_and_only_then(store):
    versions = [store.version()]
    for change in (
        store.ask(question("a")),
        store.decide("a", granted=True, by="me", now=NOW),
        store.use("a", NOW),
        store.ask(question("b")),
        store.expire(100.0),
        store.forget(101.0),
    ):
        await change
        versions.append(store.version())
    assert len(set(versions)) == len(versions)
    for look in (store.find("a"), store.open_ones(NOW), store.use("a", NOW), store.expire(100.0)):
        await look
    assert store.version() == versions[-1]
