"""What the gate does while nothing can be recorded, and what is recorded of calls that come to nothing. Both ways."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gate.origin import Origin
from awf.application.gate.passage import Gated
from awf.application.running.tasks import spawn
from awf.domain.gate_file import GateKeys
from awf.domain.label import Label
from awf.domain.override import ToolOverride
from awf.domain.tool import ToolFailure, text_result
from awf.testing.gate_lab import GateLab

pytestmark = pytest.mark.anyio
OVERRIDES = {
    "files:read": ToolOverride(policy_action="file.read"),
    "files:write": ToolOverride(policy_action="file.write"),
    "web:fetch": ToolOverride(policy_action="connector.read", open_world=True),
}


@pytest.fixture(params=[False, True], ids=["through", "in two steps"])
def lab(request):
    return GateLab(GateKeys(), OVERRIDES, in_two_steps=request.param)


async def test_while_nothing_can_be_recorded_what_only_reads_goes_on_and_is_added_later_with_a_note(lab):
    await lab.call(lab.tool("files:read"))
    lab.audit.refusal = "the disk is full"
    for tool in ("files:read", "web:fetch"):
        assert (await lab.call(lab.tool(tool))).text == "done"
    assert len(lab.entries) == 2
    lab.audit.refusal = ""
    await lab.call(lab.tool("files:read"))
    assert lab.kinds == [
        "decision", "effect", "audit_gap", "decision", "effect", "decision", "effect", "decision", "effect",
    ]  # fmt: skip
    assert lab.entries[2].details["entries"] == 4
    assert [bool(entry.details.get("recordedLate")) for entry in lab.entries[3:]] == [True] * 4 + [False] * 2
    assert not await lab.audit.open_calls()
    assert (await lab.audit.verify()).is_sound


async def test_while_nothing_can_be_recorded_what_may_change_something_is_refused(lab):
    lab.audit.refusal = "the disk is full"
    with pytest.raises(ToolFailure, match="the disk is full") as failure:
        await lab.call(lab.tool("files:write"))
    assert failure.value.code == "PERMISSION_DENIED"
    assert lab.reached == []
    lab.audit.refusal = ""
    await lab.call(lab.tool("files:write"))
    assert lab.reached == ["files:write"]


async def test_nobody_knows_what_an_unmarked_tool_does_so_it_is_refused_as_well(lab):
    lab.audit.refusal = "the disk is full"
    tool = lab.tool("kb:search", annotations={"readOnlyHint": True})
    with pytest.raises(ToolFailure):
        await lab.call(tool)
    assert lab.reached == []


async def test_what_was_done_and_cannot_be_recorded_is_kept_back(lab):
    async def break_down():
        lab.audit.refusal = "the disk is full"
        return text_result("the new balance is 7")

    with pytest.raises(ToolFailure) as failure:
        await lab.call(lab.tool("files:write"), answer=break_down)
    assert failure.value.code == "EXECUTION_FAILED"
    assert "kept back" in failure.value.message
    assert "balance" not in failure.value.message
    lab.audit.refusal = ""
    await lab.call(lab.tool("files:read"))
    effects = [entry for entry in lab.of_kind("effect") if entry.tool_id == "files:write"]
    assert [(entry.success, entry.details) for entry in effects] == [(True, {"recordedLate": True})]
    assert not await lab.audit.open_calls()


async def test_a_reading_call_whose_effect_cannot_be_recorded_is_answered_and_recorded_later(lab):
    async def break_down():
        lab.audit.refusal = "the disk is full"
        return text_result("words")

    assert (await lab.call(lab.tool("files:read"), answer=break_down)).text == "words"
    lab.audit.refusal = ""
    await lab.call(lab.tool("files:read"))
    assert lab.kinds == ["decision", "audit_gap", "effect", "decision", "effect"]
    assert not await lab.audit.open_calls()


async def test_a_failure_that_cannot_be_recorded_is_told_and_recorded_later(lab):
    async def fail():
        lab.audit.refusal = "the disk is full"
        raise ToolFailure("TIMEOUT", "slow")

    with pytest.raises(ToolFailure, match="slow"):
        await lab.call(lab.tool("files:write"), answer=fail)
    lab.audit.refusal = ""
    await lab.call(lab.tool("files:read"))
    late = [entry for entry in lab.entries if entry.details.get("recordedLate")]
    assert [(entry.kind, entry.error) for entry in late] == [("effect", "TIMEOUT")]
    assert not await lab.audit.open_calls()


async def test_denials_are_made_whether_or_not_they_can_be_recorded_and_are_added_later(lab):
    lab.audit.refusal = "the disk is full"
    await lab.contexts.raise_("ctx", Label("secret"), "test")
    with pytest.raises(ToolFailure):
        await lab.call(lab.tool("web:fetch"))
    lab.audit.refusal = ""
    await lab.call(lab.tool("files:read"))
    assert lab.of_kind("decision")[0].code == "level:open_world"


async def test_without_an_audit_nothing_is_recorded_and_nothing_depends_on_it(lab):
    lab.recorder.log = None
    assert (await lab.call(lab.tool("files:write"))).text == "done"
    assert lab.entries == []


async def test_many_calls_at_once_after_a_gap_are_each_recorded_once(lab):
    lab.audit.refusal = "the disk is full"
    await asyncio.gather(*(lab.call(lab.tool("files:read")) for _ in range(10)))
    lab.audit.refusal = ""
    await asyncio.gather(*(lab.call(lab.tool("files:read")) for _ in range(10)))
    requests = [entry.request_id for entry in lab.of_kind("decision")]
    assert len(requests) == len(set(requests)) == 20
    assert len(lab.of_kind("audit_gap")) == 1
    assert not await lab.audit.open_calls()


async def test_a_log_that_takes_its_time_is_caught_up_with_by_one_at_a_time(lab, monkeypatch):
    """Another log may have to be waited for; whoever comes meanwhile must not add the same entries again."""
    record = lab.audit.record

    async def later():
        await asyncio.sleep(0)

    def slowly(entry):
        record(entry)
        return later()

    monkeypatch.setattr(type(lab.audit), "is_immediate", False)
    lab.audit.refusal = "the disk is full"
    await asyncio.gather(*(lab.call(lab.tool("files:read")) for _ in range(5)))
    lab.audit.refusal = ""
    monkeypatch.setattr(lab.audit, "record", slowly)
    await asyncio.gather(*(lab.call(lab.tool("files:read")) for _ in range(5)))
    requests = [entry.request_id for entry in lab.of_kind("decision")]
    assert len(requests) == len(set(requests)) == 10
    assert len(lab.of_kind("audit_gap")) == 1


async def test_a_call_that_is_cancelled_while_its_decision_is_recorded_does_not_stay_open(lab, monkeypatch):
    record = lab.audit.record

    def slowly(entry):
        record(entry)
        pending = asyncio.get_running_loop().create_future()
        if entry.kind != "decision":
            pending.set_result(None)
        return pending

    monkeypatch.setattr(type(lab.audit), "is_immediate", False)
    monkeypatch.setattr(lab.audit, "record", slowly)
    call = spawn(lab.call(lab.tool("files:write")), name="call", awaited=True)
    while not lab.entries:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert lab.reached == []
    assert [(one.kind, one.error) for one in lab.entries] == [("decision", ""), ("effect", "CANCELLED")]
    assert not await lab.audit.open_calls()


# -- calls that come to nothing ----------------------------------------------------------------------------------------


async def test_arguments_that_do_not_fit_are_recorded_with_the_reason_freed_of_secrets(lab):
    lab.masker.add("door", "hunter2-long")
    origin = Origin(context="ctx", door="gateway")
    gated = Gated(lab.gate, lab.tool("files:read"), origin)
    await lab.gate.rejected(gated, {"q": 1}, "call-1", "INVALID_ARGUMENTS", "hunter2-long is not a number")
    (entry,) = lab.entries
    assert (entry.decision, entry.code, entry.error) == ("deny", "invalid_arguments", "INVALID_ARGUMENTS")
    assert entry.reason == "*** is not a number"
    assert entry.input_hash


async def test_a_tool_that_does_not_exist_is_recorded_by_a_name_that_is_neither_long_nor_secret(lab):
    lab.masker.add("door", "hunter2-long")
    origin = Origin(context="ctx", door="gateway")
    await lab.gate.unknown("hunter2-long" + "x" * 1000, {}, origin, "call-1")
    (entry,) = lab.entries
    assert (entry.decision, entry.code, entry.error) == ("deny", "tool:unknown", "RESOURCE_NOT_FOUND")
    assert entry.tool_id.startswith("***x")
    assert len(entry.tool_id) <= 200
