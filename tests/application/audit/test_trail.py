"""Events of calls: each once, in order, with what its decision and its effect say."""

from __future__ import annotations

import msgspec
import pytest

from awf.application.audit import trail as module
from awf.application.audit.trail import AuditTrail
from awf.domain.audit import AuditEntry, AuditFilter
from awf.testing.memory_audit import MemoryAudit

pytestmark = pytest.mark.anyio


def told(kind, moment=1.5, **more):
    return AuditEntry(kind=kind, created_at=moment, **more)


@pytest.fixture
def log():
    return MemoryAudit()


@pytest.fixture
def trail(log, monkeypatch):
    monkeypatch.setattr(module, "_PAGE", 3)  # so that every walk has several pages
    return AuditTrail(log)


def call(log, request, moment=1.5, *, deny=False, **more):
    decision = "deny" if deny else "allow"
    log.record(
        told("decision", moment, request_id=request, decision=decision, **{"tool_id": "kb:get", **more})
    )
    if not deny:
        log.record(told("effect", moment + 1, request_id=request, success=True))


async def test_an_event_has_the_fields_that_the_specification_names_and_more(log, trail):
    call(
        log,
        "r1",
        grant_ids=("g",),
        input_hash="ab",
        reason="why",
        rule="x",
        risk=("network",),
        client="c",
        context="k",
    )
    (event,) = await trail.events()
    document = msgspec.json.decode(msgspec.json.encode(event))
    assert list(document)[:9] == [
        "sequence", "toolId", "requestId", "grantIds", "inputHash", "outputHash", "success", "durationMs", "createdAt",
    ]  # fmt: skip
    assert document["createdAt"] == 1.5
    assert (document["decision"], document["reason"], document["rule"], document["riskTags"]) == (
        "allow",
        "why",
        "x",
        ["network"],
    )
    assert (document["client"], document["context"], document["grantIds"]) == ("c", "k", ["g"])


async def test_draining_goes_on_where_it_ended_and_never_repeats(log, trail):
    for number in range(10):
        call(log, f"r{number}", deny=number % 3 == 0)
        log.record(told("spooled"))
    seen, after = [], 0
    while page := await trail.drain(after, 4):
        seen += [one.request_id for one in page]
        after = page[-1].sequence
    assert seen == [f"r{number}" for number in range(10)]


async def test_the_newest_come_last_and_a_limit_keeps_them(log, trail):
    for number in range(10):
        call(log, f"r{number}")
    assert [one.request_id for one in await trail.events(limit=3)] == ["r7", "r8", "r9"]
    first = await trail.events(after=1, limit=2)
    assert [one.request_id for one in first] == ["r0", "r1"]
    assert [one.request_id for one in await trail.events(after=first[-1].sequence, limit=2)] == ["r2", "r3"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (AuditFilter(tool="kb:p*"), "bd"),
        (AuditFilter(context="one"), "ab"),
        (AuditFilter(request_id="c"), "c"),
        (AuditFilter(since=20), "bcd"),
        (AuditFilter(until=20), "a"),
        (AuditFilter(kinds=("call",), tool="kb:get"), "ac"),
    ],
)
async def test_filters_look_at_the_whole_call(log, trail, where, expected):
    call(log, "a", 10.5, context="one")
    call(log, "b", 20.5, context="one", tool_id="kb:put")
    call(log, "c", 30.5, deny=True)
    call(log, "d", 40.5, tool_id="kb:patch")
    assert "".join(one.request_id for one in await trail.events(where)) == expected


async def test_only_what_was_denied(log, trail):
    for number in range(9):
        call(log, f"r{number}", deny=number % 4 == 0)
    assert [one.request_id for one in await trail.events(denied=True)] == ["r0", "r4", "r8"]


async def test_other_kinds_are_listed_when_asked_for(log, trail):
    call(log, "r1")
    log.record(told("grant_added", grant_ids=("g1",)))
    log.record(told("level_raised", label_after="secret/trusted"))
    asked = AuditFilter(kinds=("grant_added", "level_raised"))
    assert [(one.kind, one.outcome, one.success) for one in await trail.events(asked)] == [
        ("grant_added", "", None),
        ("level_raised", "", None),
    ]
    both = await trail.events(AuditFilter(kinds=("call", "grant_added")))
    assert [one.kind for one in both] == ["call", "grant_added"]


async def test_an_unknown_tool_that_is_no_denial_failed(log, trail):
    log.record(told("decision", request_id="r", tool_id="x:y", success=False, error="RESOURCE_NOT_FOUND"))
    (event,) = await trail.drain()
    assert (event.success, event.outcome, event.error) == (False, "failure", "RESOURCE_NOT_FOUND")


async def test_an_effect_without_its_decision_is_an_event_of_what_it_says(log, trail):
    log.record(told("effect", request_id="lost", tool_id="kb:get", success=True))
    (event,) = await trail.drain()
    assert (event.request_id, event.tool_id, event.outcome, event.decision) == (
        "lost",
        "kb:get",
        "success",
        "",
    )


async def test_one_record_by_its_number(log, trail):
    call(log, "r1")
    assert (await trail.record(2)).entry.kind == "effect"
    assert await trail.record(3) is None
